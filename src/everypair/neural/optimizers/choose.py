"""Optimisers by name.

adam                 Adam on the exact gradient of every pair
gd, gd-diag          gradient descent on it, with AdaGrad's scaling; backtracking
gauss-newton         damped Gauss-Newton by few CG steps with a Kronecker-factored preconditioner; its settings are
                     :class:`~everypair.neural.optimizers.gauss_newton.GaussNewton`
newton, newton-unit  the ESL paper's; the line search starts from the last length, doubled every five steps (its
                     6.1.3), or from 1 (its Algorithm 4)
sampling, sg46, sogram, each with -diag, and naive
                     stochastic gradient, there to be compared
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.adam import RATE, Adam
from everypair.neural.optimizers.estimates import LossEstimate, Stochastic
from everypair.neural.optimizers.gauss_newton import DampedGaussNewton, GaussNewton
from everypair.neural.optimizers.gd import GradientDescent
from everypair.neural.optimizers.naive import RandomPairs
from everypair.neural.optimizers.newton import PaperNewton
from everypair.neural.optimizers.sampling import SampledBlock
from everypair.neural.optimizers.sg46 import StoredPairsEstimate
from everypair.neural.optimizers.sogram import RunningGrams
from everypair.neural.optimizers.state import TowerState
from everypair.neural.optimizers.thinned import Thinned
from everypair.neural.trees import Both

ESTIMATES: dict[str, Callable[[TowerObjective], LossEstimate]] = {
    "sampling": SampledBlock,
    "sg46": StoredPairsEstimate,
    "sogram": RunningGrams,
    "naive": RandomPairs,
}
SEARCHED = ("gd", "gd-diag", "gauss-newton", "newton", "newton-unit")
OPTIMIZERS = ("adam", *SEARCHED, *(name + end for name in ESTIMATES for end in ("", "-diag")))


S = TypeVar("S", bound=TowerState)


class Optimizer(Protocol[S]):
    """What trains two towers, on a state of its own."""

    descends: bool

    def fresh(self, theta: Both) -> S:
        """Where it stands before its first step."""
        ...

    def step(self, state: S) -> S:
        """One sweep."""
        ...


def check_optimizer(optimizer: Any) -> None:
    """Refuse anything that is neither an optimiser's name nor its settings."""
    if isinstance(optimizer, GaussNewton):
        return
    if not isinstance(optimizer, str) or optimizer not in OPTIMIZERS:
        raise ValueError(
            f"optimizer must be one of {', '.join(map(repr, OPTIMIZERS))} or everypair.GaussNewton(…), "
            f"got {optimizer!r}."
        )


def optimizer_name(optimizer: str | GaussNewton) -> str:
    """The name of an optimiser that is given by name or by its settings."""
    return "gauss-newton" if isinstance(optimizer, GaussNewton) else optimizer


def is_stochastic(optimizer: str | GaussNewton) -> bool:
    """Whether an optimiser takes estimates of the gradient, which know no ridge of the embeddings.

    >>> is_stochastic("sogram-diag"), is_stochastic("adam")
    (True, False)
    """
    return optimizer_name(optimizer).removesuffix("-diag") in ESTIMATES


def make_optimizer(
    optimizer: str | GaussNewton,
    objective: TowerObjective,
    rate: float | None = None,
    dropout: float = 0.0,
    seed: int = 0,
) -> Optimizer[Any]:
    """Return the optimiser of that name; ``rate`` is the length of steps of those that do not search for it.

    ``dropout`` is the share of ids that is left out in every step of Adam, and in every sweep of any other.
    """
    check_optimizer(optimizer)
    name = optimizer_name(optimizer)
    if dropout and name != "adam":
        return Thinned(lambda thin: make_optimizer(optimizer, thin, rate, 0.0, seed), objective, dropout, seed)
    match name:
        case "adam":
            return Adam(objective, rate or RATE, dropout, seed)
        case "gd" | "gd-diag":
            return GradientDescent(objective, diagonal=name == "gd-diag")
        case "gauss-newton":
            return DampedGaussNewton(objective, GaussNewton() if isinstance(optimizer, str) else optimizer, seed)
        case "newton" | "newton-unit":
            return PaperNewton(objective, "last" if name == "newton" else "unit")
    diagonal = name.endswith("-diag")
    estimate = ESTIMATES[name.removesuffix("-diag")](objective)
    return Stochastic(objective, estimate, diagonal, rate, seed)
