"""Optimisers by name.

adam                 Adam on the exact gradient of every pair
gd, gd-diag          gradient descent on it, with AdaGrad's scaling; backtracking
gauss-newton         Gauss-Newton by few preconditioned, warm-started CG steps
newton, newton-unit  Gauss-Newton with the constants of the ESL paper; the line search starts from the last length,
                     doubled every five steps (its 6.1.3), or from 1 (its Algorithm 4)
sampling, sg46, sogram, each with -diag, and naive
                     stochastic gradient, there to be compared
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.adam import RATE, Adam
from everypair.neural.optimizers.estimates import LossEstimate, Stochastic
from everypair.neural.optimizers.gauss_newton import PAPER, GaussNewton, Settings
from everypair.neural.optimizers.gd import GradientDescent
from everypair.neural.optimizers.naive import RandomPairs
from everypair.neural.optimizers.sampling import SampledBlock
from everypair.neural.optimizers.sg46 import StoredPairsEstimate
from everypair.neural.optimizers.sogram import RunningGrams
from everypair.neural.optimizers.state import M, TowerState
from everypair.neural.trees import Both

ESTIMATES: dict[str, Callable[[TowerObjective], LossEstimate]] = {
    "sampling": SampledBlock,
    "sg46": StoredPairsEstimate,
    "sogram": RunningGrams,
    "naive": RandomPairs,
}
SEARCHED = ("gd", "gd-diag", "gauss-newton", "newton", "newton-unit")
OPTIMIZERS = ("adam", *SEARCHED, *(name + end for name in ESTIMATES for end in ("", "-diag")))


class Optimizer(Protocol[M]):
    """What trains two towers."""

    descends: bool

    def fresh(self, theta: Both) -> M:
        """What it remembers before its first step."""
        ...

    def step(self, state: TowerState[M]) -> TowerState[M]:
        """One sweep."""
        ...


def check_optimizer(name: Any) -> None:
    """Refuse anything that is not an optimiser's name."""
    if not isinstance(name, str) or name not in OPTIMIZERS:
        raise ValueError(f"optimizer must be one of {', '.join(map(repr, OPTIMIZERS))}, got {name!r}.")


def make_optimizer(
    name: str, objective: TowerObjective, rate: float | None = None, dropout: float = 0.0, seed: int = 0
) -> Optimizer[Any]:
    """Return the optimiser of that name; ``rate`` is the length of steps of those that do not search for it."""
    check_optimizer(name)
    match name:
        case "adam":
            return Adam(objective, rate or RATE, dropout, seed)
        case "gd" | "gd-diag":
            return GradientDescent(objective, diagonal=name == "gd-diag")
        case "gauss-newton":
            return GaussNewton(objective, Settings(), seed)
        case "newton":
            return GaussNewton(objective, PAPER)
        case "newton-unit":
            return GaussNewton(objective, PAPER._replace(schedule="unit"))
    diagonal = name.endswith("-diag")
    estimate = ESTIMATES[name.removesuffix("-diag")](objective)
    return Stochastic(objective, estimate, diagonal, rate, seed)
