"""Solvers by name, and which combinations make sense.

"auto"       "newton", both sides balanced after each sweep and momentum between sweeps
"newton"     row-wise Newton–CG, every loss                     O(|Ω|k + (m+n)k²) a sweep
"block"      exact steps on blocks of coordinates, every loss   O(|Ω|kb + (m+n)k²)
"als"        exact rows, squared loss                           O(|Ω|k² + (m+n)k³)
"cd"         two-level coordinate descent, squared loss         O(|Ω|k + (m+n)k²)
"tron", "newton-linesearch"   all parameters of a side move together, every loss; a side with features or a graph is
             solved by "tron" under "auto" and "newton" too
"gradient", "nonlinear-cg", "gradient-region"   the same by gradients alone: to be compared with
"sg-reform", "sg-bsearch", "sg-dense"   stochastic gradient, built-in losses: to be compared with, not to be used
"sg-descent", "sg-rows"   the same with the pairs outside Ω by Gram matrices
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from everypair import check
from everypair.problem.losses import Loss
from everypair.problem.objective import Objective
from everypair.solvers.alternating import SIDE_METHODS, Alternating
from everypair.solvers.balance import Balance
from everypair.solvers.first_order import FIRST_ORDER
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import Solver
from everypair.solvers.momentum import ArraySpace, Momentum
from everypair.solvers.preconditioner import Spectrum
from everypair.solvers.rivals.coordinate import CoordinateDescent
from everypair.solvers.rivals.hybrids import StochasticDescent, StochasticRows
from everypair.solvers.rivals.stochastic import VARIANTS, StochasticGradient
from everypair.solvers.side import SideSteps
from everypair.solvers.state import Factors

STOCHASTIC = tuple(f"sg-{variant}" for variant in VARIANTS)
HYBRIDS: dict[str, type[StochasticDescent | StochasticRows]] = {
    "sg-descent": StochasticDescent,
    "sg-rows": StochasticRows,
}
ROW_METHODS = ("auto", "newton", "block", "als")
CLASSES: dict[str, type[Alternating | CoordinateDescent | StochasticGradient | StochasticRows]] = {
    **dict.fromkeys((*ROW_METHODS, *SIDE_METHODS), Alternating),
    "cd": CoordinateDescent,
    **dict.fromkeys(STOCHASTIC, StochasticGradient),
    **HYBRIDS,
}
SOLVERS = (*ROW_METHODS, "cd", *SIDE_METHODS, *STOCHASTIC, *HYBRIDS)
GRADIENT_STEPS = 10  # of first-order methods in each half-sweep
BLOCK = 32


@dataclass(frozen=True)
class Newton:
    """Row-wise Newton–CG: ``"newton"``, and with ``momentum`` (and balance) between sweeps ``"auto"``.

    ``cg_steps`` are the conjugate-gradient steps of a row in each half-sweep.

    >>> Newton.of("newton"), Newton.of("als")
    (Newton(cg_steps=2, momentum=False), None)
    """

    cg_steps: int = 2
    momentum: bool = True

    def __post_init__(self) -> None:
        """Refuse what is no number of steps or no switch."""
        check.integer("cg_steps", self.cg_steps)
        check.flag("momentum", self.momentum)

    @classmethod
    def of(cls, solver: Any) -> Newton | None:
        """The settings of a solver that is one of these, by name or as it is."""
        if isinstance(solver, cls):
            return solver
        return {"auto": cls(), "newton": cls(momentum=False)}.get(solver) if isinstance(solver, str) else None

    @property
    def name(self) -> str:
        """The name among :data:`SOLVERS`."""
        return "auto" if self.momentum else "newton"


def check_solver(solver: str | Newton, loss: Loss, structured: bool = False) -> None:
    """Refuse an unknown solver, or one that cannot minimise this loss, or not with ``structured`` problems: features,
    graphs, or another loss than the square on pairs that are not stored.

    >>> from everypair.problem.losses import get_loss
    >>> check_solver("als", get_loss("logistic"))
    Traceback (most recent call last):
    ...
    ValueError: solver="als" minimises the squared loss only, not 'logistic': use "newton" or "block".
    """
    name = solver.name if isinstance(solver, Newton) else solver
    if not isinstance(name, str) or name not in CLASSES:
        raise ValueError(f"solver must be Newton(…) or one of {', '.join(map(repr, SOLVERS))}, got {name!r}.")
    cls = CLASSES[name]
    if (cls.quadratic_only or name == "als") and not loss.quadratic:
        raise ValueError(
            f'solver="{name}" minimises the squared loss only, not {loss.name!r}: use "newton" or "block".'
        )
    if structured and not cls.structured:
        raise ValueError(
            f'solver="{name}" knows neither features nor graphs nor negative_loss="same": use "auto" or "tron".'
        )


def solver_maker(
    solver: str | Newton, columns: int, seed: int, spectrum: Spectrum | None = None
) -> Callable[[Objective], Solver[Factors]]:
    """Return the function that builds a solver for an objective whose factors have ``columns`` columns.

    ``spectrum`` is XᵀPX of the left side decomposed, where it is known already.
    """

    name = solver.name if isinstance(solver, Newton) else solver

    def make(objective: Objective) -> Solver[Factors]:
        if name == "cd":
            return CoordinateDescent(objective)
        if name in HYBRIDS:
            return HYBRIDS[name](objective, random_state=seed)
        if name in STOCHASTIC:
            return StochasticGradient(objective, variant=name.removeprefix("sg-"), random_state=seed)
        if name in SIDE_METHODS:
            steps = SideSteps(name, GRADIENT_STEPS) if name in FIRST_ORDER else SideSteps(name)
            return Alternating(objective, None, steps, spectrum=spectrum)
        newton = Newton.of(solver) or Newton(momentum=False)
        block = {"als": columns, "block": BLOCK}.get(name)
        plain = Alternating(objective, RowSteps(cg=newton.cg_steps, block=block), spectrum=spectrum)
        if not newton.momentum:
            return plain
        return Momentum(plain, ArraySpace(objective.n_threads), Balance(objective))

    return make
