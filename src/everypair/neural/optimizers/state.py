"""Where an optimiser stands: parameters, what it remembers of the way, and how many steps it took.

All of it is trees of arrays and numbers, from which it goes on with the same bits; the point (factors and Gram matrices
there) is computed again where it is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from everypair.neural.objective import Point, TowerObjective
from everypair.neural.trees import Both

Array = NDArray[Any]


@dataclass(frozen=True)
class TowerState:
    """Parameters of both towers, the optimiser's ``memory``, its steps so far and L (``None`` before the first)."""

    theta: Both
    memory: dict[str, Any]
    steps: int = 0
    objective: float | None = None
    point: Point | None = field(default=None, repr=False, compare=False)

    @property
    def left(self) -> Array:
        """U."""
        return self._evaluated.left

    @property
    def right(self) -> Array:
        """V."""
        return self._evaluated.right

    @property
    def rounding(self) -> float:
        """How far rounding may take L."""
        return self._evaluated.rounding

    @property
    def _evaluated(self) -> Point:
        if self.point is None:
            raise ValueError("this state was not evaluated yet.")
        return self.point

    def at(self, objective: TowerObjective) -> Point:
        """The point, evaluated if it is not known."""
        return self.point or objective.at(self.theta)


def moved(point: Point, memory: dict[str, Any], steps: int) -> TowerState:
    """The state at an evaluated point."""
    return TowerState(point.theta, memory, steps, point.value, point)
