"""Where an optimiser stands: parameters, what it remembers of the way, and how many steps it took.

All of it is trees of arrays and numbers, from which a later run goes on with the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from everypair.neural.objective import TowerObjective, TowerPoint
from everypair.neural.trees import Both
from everypair.types import Array

M = TypeVar("M")


@dataclass(frozen=True)
class TowerState(Generic[M]):
    """Parameters of both towers, the optimiser's ``memory``, its steps so far; L and the factors where evaluated."""

    theta: Both
    memory: M
    steps: int = 0
    objective: float | None = None
    left: Array | None = None
    right: Array | None = None
    rounding: float = 0.0


class Evaluated(Generic[M]):
    """Base of optimisers: the point of the last state is at hand, so that the next step need not evaluate it again."""

    def __init__(self, objective: TowerObjective) -> None:
        self.objective = objective
        self._last: TowerPoint | None = None

    def at(self, state: TowerState[M]) -> TowerPoint:
        """The point of a state."""
        if self._last is not None and self._last.theta is state.theta:
            return self._last
        return self.objective.at(state.theta)

    def moved(self, point: TowerPoint, memory: M, steps: int) -> TowerState[M]:
        """The state at an evaluated point."""
        self._last = point
        return TowerState(point.theta, memory, steps, point.value, point.left, point.right, point.rounding)
