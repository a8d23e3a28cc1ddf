"""Trust-region Newton: conjugate gradients inside a region whose radius follows how well the quadratic model predicted
the last step (Lin, Weng and Keerthi, *Trust region Newton method for large-scale logistic regression*, 2008).

It reads numbers alone; points and steps may be arrays here or futures of a cluster.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, Self, TypeVar

ACCEPT = 1e-4  # least ratio of actual to predicted decrease
POOR, GOOD = 0.25, 0.75  # ratios below and above which the region shrinks and grows
SHRINK, GROW = 0.25, 4.0
TRIALS = 30


class RegionStep(Protocol):
    """A step that minimises a quadratic model inside the region."""

    @property
    def model(self) -> float:
        """The model's value there, its predicted change."""
        ...

    @property
    def length(self) -> float:
        """Its length in the norm of the region."""
        ...

    @property
    def at_boundary(self) -> bool:
        """Whether the region ended it."""
        ...


class NewtonDirection(Protocol):
    """Newton's direction at a point."""

    def direction(self, radius: float) -> RegionStep | None:
        """The step inside the region, or ``None`` where its predicted decrease cannot be told from rounding."""
        ...


class RegionPoint(Protocol):
    """A function near a point; its steps are those of the point's own :class:`NewtonDirection`."""

    def change(self, step: Any, /) -> float:
        """By how much the step changes the function."""
        ...

    def after(self, step: Any, /) -> Self:
        """The point there."""
        ...


P = TypeVar("P", bound=RegionPoint)


class TrustRegion:
    """Newton steps inside a region, which starts without a bound and lives as long as the side is solved."""

    preconditioned = True

    def __init__(self) -> None:
        self.radius = math.inf

    def __call__(self, point: P, newton: NewtonDirection) -> P | None:
        """The next point."""
        for _ in range(TRIALS):
            step = newton.direction(self.radius)
            if step is None:
                return None
            ratio = point.change(step) / step.model
            if ratio < POOR or not math.isfinite(ratio):
                self.radius = SHRINK * min(self.radius, step.length)
            elif ratio > GOOD and step.at_boundary:
                self.radius *= GROW
            if ratio > ACCEPT:
                return point.after(step)
        return None
