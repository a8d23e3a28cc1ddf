"""Solvers by name, and which combinations make sense.

"newton"     row-wise Newton–CG, every loss                     O(|Ω|k + (m+n)k²) a sweep; what "auto" means
"block"      exact steps on blocks of coordinates, every loss   O(|Ω|kb + (m+n)k²)
"als"        exact rows, squared loss                           O(|Ω|k² + (m+n)k³)
"cd"         two-level coordinate descent, squared loss         O(|Ω|k + (m+n)k²)
"tron", "newton-linesearch", "gradient"   all parameters of a side move together, every loss; a side with features or a
             graph is solved by "tron" under "newton" too
"sg-reform", "sg-bsearch", "sg-dense"   stochastic gradient, built-in losses: to be compared with, not to be used
"""

from __future__ import annotations

from collections.abc import Callable

from everypair.problem.losses import Loss
from everypair.problem.objective import Objective
from everypair.solvers.alternating import Alternating
from everypair.solvers.block import BlockSteps
from everypair.solvers.coordinate import CoordinateDescent
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import Solver
from everypair.solvers.state import Factors
from everypair.solvers.stochastic import StochasticGradient

BLOCK_METHODS = ("tron", "newton-linesearch", "gradient")
SOLVERS = ("auto", "newton", "block", "als", "cd", *BLOCK_METHODS, "sg-reform", "sg-bsearch", "sg-dense")
SQUARED_ONLY = ("als", "cd")
ROWS_ONLY = ("cd", "sg-reform", "sg-bsearch", "sg-dense")
GRADIENT_STEPS = 10  # of "gradient" in each half-sweep
BLOCK = 32


def check_solver(name: str, loss: Loss, structured: bool = False) -> None:
    """Refuse an unknown solver, or one that cannot minimise this loss, or not with ``structured`` problems: features,
    graphs, or another loss than the square on pairs that are not stored.

    >>> from everypair.problem.losses import get_loss
    >>> check_solver("als", get_loss("logistic"))
    Traceback (most recent call last):
    ...
    ValueError: solver="als" minimises the squared loss only, not 'logistic': use "newton" or "block".
    """
    if not isinstance(name, str) or name not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {name!r}.")
    if name in SQUARED_ONLY and loss.name != "squared":
        raise ValueError(
            f'solver="{name}" minimises the squared loss only, not {loss.name!r}: use "newton" or "block".'
        )
    if structured and name in ROWS_ONLY:
        raise ValueError(
            f'solver="{name}" knows neither features nor graphs nor negative_loss="same": use "auto", "tron", '
            '"newton-linesearch" or "gradient".'
        )


def solver_maker(
    name: str, columns: int, cg_steps: int, seed: int, n_threads: int
) -> Callable[[Objective], Solver[Factors]]:
    """Return the function that builds the named solver for an objective whose factors have ``columns`` columns."""

    def make(objective: Objective) -> Solver[Factors]:
        if name == "cd":
            return CoordinateDescent(objective, n_threads=n_threads)
        if name.startswith("sg-"):
            return StochasticGradient(objective, variant=name.removeprefix("sg-"), random_state=seed)
        if name in BLOCK_METHODS:
            steps = BlockSteps(name, GRADIENT_STEPS) if name == "gradient" else BlockSteps(name)
            return Alternating(objective, None, n_threads, steps)
        block = {"als": columns, "block": BLOCK}.get(name)
        return Alternating(objective, RowSteps(cg=cg_steps, block=block), n_threads)

    return make
