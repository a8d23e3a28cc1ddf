"""Where an optimiser stands: parameters and how many steps it took; each one adds what it remembers of the way.

All of it is trees of arrays and numbers, from which a later run goes on with the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from everypair.neural.objective import TowerObjective, TowerPoint
from everypair.neural.trees import Both
from everypair.types import Array


@dataclass(frozen=True, kw_only=True)
class TowerState:
    """Parameters of both towers and the number of steps so far; L and the factors where they were evaluated."""

    theta: Both
    steps: int = 0
    objective: float | None = None
    left: Array | None = None
    right: Array | None = None
    rounding: float = 0.0


def evaluated(point: TowerPoint, steps: int) -> dict[str, Any]:
    """The fields of a :class:`TowerState` at an evaluated point."""
    return {
        "theta": point.theta, "steps": steps, "objective": point.value, "left": point.left, "right": point.right,
        "rounding": point.rounding,
    }  # fmt: skip


class LastPoint:
    """The objective, and the point where it was evaluated last: a step begins where the one before ended."""

    def __init__(self, objective: TowerObjective) -> None:
        self.objective = objective
        self.point: TowerPoint | None = None

    def at(self, theta: Both) -> TowerPoint:
        """The point at θ, evaluated unless it is the last one."""
        if self.point is None or self.point.theta is not theta:
            self.point = self.objective.at(theta)
        return self.point

    def reached(self, point: TowerPoint) -> TowerPoint:
        """Remember a point."""
        self.point = point
        return point
