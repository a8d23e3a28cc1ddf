"""Backtracking: a direction, then its length halved until g falls by a share of what its slope promises.

newton-linesearch   the Newton direction by CG, from length 1
gradient            −∇g, from the length that minimises the quadratic model: there to be compared

Each trial costs O(|Ω|): the scores along the line are known, and the quadratic parts are two numbers.
"""

from __future__ import annotations

from everypair.problem.gram import inner
from everypair.problem.side import SidePoint
from everypair.solvers.side import SideNewton, is_rounding
from everypair.types import Array

SUFFICIENT = 0.01  # share of the predicted slope that backtracking asks for
BACKTRACK = 0.5
TRIALS = 30


class LineSearch:
    """Newton directions, each searched from length 1."""

    preconditioned = True

    def __call__(self, point: SidePoint, newton: SideNewton) -> SidePoint | None:
        """The next point."""
        step = newton.direction()
        return None if step is None else backtrack(point, step.step, step.image, 1.0)


class SteepestDescent:
    """Steps along −∇g, which need no Newton direction."""

    preconditioned = False

    def __call__(self, point: SidePoint, newton: SideNewton) -> SidePoint | None:
        """Start at the minimiser of the quadratic model along the gradient, whatever the units of the features."""
        curved, image = point.product(point.gradient)
        size, curvature = inner(point.gradient, point.gradient), inner(point.gradient, curved)
        length = size / curvature if curvature > 0 else 1.0
        if is_rounding(-0.5 * length * size, point.pairs.value, point.theta.dtype):
            return None
        return backtrack(point, -point.gradient, -image, length)


def backtrack(point: SidePoint, step: Array, image: Array, length: float) -> SidePoint | None:
    """Halve the length until the decrease is sufficient."""
    change, slope = point.along(step, image), inner(point.gradient, step)
    for _ in range(TRIALS):
        if change(length) < SUFFICIENT * length * slope:
            return point.moved(step, image, length)
        length *= BACKTRACK
    return None
