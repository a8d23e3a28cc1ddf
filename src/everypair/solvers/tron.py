"""Trust-region Newton: conjugate gradients inside a region whose radius follows how well the quadratic model predicted
the last step (Lin, Weng and Keerthi, *Trust region Newton method for large-scale logistic regression*, 2008)."""

from __future__ import annotations

import math

from everypair.problem.side import SidePoint
from everypair.solvers.side import Newton

ACCEPT = 1e-4  # least ratio of actual to predicted decrease
POOR, GOOD = 0.25, 0.75  # ratios below and above which the region shrinks and grows
SHRINK, GROW = 0.25, 4.0
TRIALS = 30


class TrustRegion:
    """Newton steps inside a region, which starts without a bound and lives as long as the side is solved."""

    preconditioned = True

    def __init__(self) -> None:
        self.radius = math.inf

    def __call__(self, point: SidePoint, newton: Newton) -> SidePoint | None:
        """The next point."""
        for _ in range(TRIALS):
            step = newton.direction(self.radius)
            if step is None:
                return None
            ratio = point.along(step.step, step.image)(1.0) / step.model
            if ratio < POOR or not math.isfinite(ratio):
                self.radius = SHRINK * min(self.radius, step.length)
            elif ratio > GOOD and step.at_boundary:
                self.radius *= GROW
            if ratio > ACCEPT:
                return point.moved(step.step, step.image)
        return None
