"""Steepest descent with backtracking: there to be compared."""

from __future__ import annotations

from everypair.problem.gram import inner
from everypair.problem.side import SidePoint
from everypair.solvers.line_search import backtrack
from everypair.solvers.side import Newton, is_rounding


class SteepestDescent:
    """Steps along −∇g, which need no Newton direction."""

    preconditioned = False

    def __call__(self, point: SidePoint, newton: Newton) -> SidePoint | None:
        """Start at the minimiser of the quadratic model along the gradient, whatever the units of the features."""
        curved, image = point.product(point.gradient)
        size, curvature = inner(point.gradient, point.gradient), inner(point.gradient, curved)
        length = size / curvature if curvature > 0 else 1.0
        if is_rounding(-0.5 * length * size, point.pairs.value, point.theta.dtype):
            return None
        return backtrack(point, -point.gradient, -image, length)
