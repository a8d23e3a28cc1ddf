"""A side's steps by gradients alone, there to be compared with the Newton methods.

gradient          −∇g, from the length that minimises the quadratic model along it
nonlinear-cg      −P⁻¹∇g + β times the last direction, searched in the same way
gradient-region   argmin ⟨∇g, S⟩ + ½‖S‖_P² over ‖S‖_P ≤ Δ, the first-order trust region: −P⁻¹∇g, cut to the length Δ

P is the preconditioner; with P = I they are the methods of OCSMF, (1.14) the last. β = max(0, ⟨P⁻¹∇g, ∇g − ∇g'⟩ /
⟨P'⁻¹∇g', ∇g'⟩) with ' for the last point, Polak and Ribière's cut off at 0. A step costs at most one product with the
Hessian.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from everypair.problem.gram import inner
from everypair.problem.side import SidePoint
from everypair.solvers.conjugate import ModelStep
from everypair.solvers.line_search import backtrack
from everypair.solvers.side import Method, SideNewton, is_rounding
from everypair.solvers.tron import TrustRegion
from everypair.types import Array


class SteepestDescent:
    """Steps along −∇g."""

    preconditioned = False

    def __call__(self, point: SidePoint, newton: SideNewton) -> SidePoint | None:
        """The next point."""
        return searched(point, -point.gradient)


class NonlinearConjugate:
    """Nonlinear conjugate gradients; the first step of a side, and one whose direction leads up, is −P⁻¹∇g."""

    preconditioned = True

    def __init__(self) -> None:
        self.last: tuple[Array, Array, float] | None = None  # ∇g, the direction and ⟨P⁻¹∇g, ∇g⟩ there

    def __call__(self, point: SidePoint, newton: SideNewton) -> SidePoint | None:
        """The next point."""
        gradient = point.gradient
        scaled = newton.solve(gradient)
        size, direction = inner(scaled, gradient), -scaled
        if self.last is not None:
            before, last, size_before = self.last
            share = max(0.0, (size - inner(scaled, before)) / size_before) if size_before > 0 else 0.0
            direction += gradient.dtype.type(share) * last
            if inner(gradient, direction) >= 0:
                direction = -scaled
        self.last = gradient, direction, size
        return searched(point, direction)


class GradientRegion:
    """The first-order trust region, whose radius follows the rule of the second-order one."""

    preconditioned = True

    def __init__(self) -> None:
        self.region = TrustRegion()

    def __call__(self, point: SidePoint, newton: SideNewton) -> SidePoint | None:
        """The next point."""
        return self.region(point, FirstOrderModel(point, newton))


class FirstOrderModel:
    """⟨∇g, S⟩ + ½‖S‖_P² at a point."""

    def __init__(self, point: SidePoint, newton: SideNewton) -> None:
        self.point, self.scaled = point, newton.solve(point.gradient)
        self.length = math.sqrt(max(inner(self.scaled, point.gradient), 0.0))  # ‖P⁻¹∇g‖_P

    def direction(self, radius: float) -> ModelStep | None:
        """Its minimiser inside the region, or ``None`` where the decrease cannot be told from rounding."""
        share = min(1.0, radius / self.length) if self.length > 0 else 0.0
        model = (0.5 * share * share - share) * self.length * self.length
        if is_rounding(model, self.point.pairs.value, self.scaled.dtype):
            return None
        step = self.scaled * np.asarray(-share, self.scaled.dtype)
        problem = self.point.problem
        image = problem.embedding.lift(step, problem.n_threads)
        return ModelStep(step, image, model, share * self.length, 0, share < 1)


FIRST_ORDER: dict[str, Callable[[], Method]] = {
    "gradient": SteepestDescent,
    "nonlinear-cg": NonlinearConjugate,
    "gradient-region": GradientRegion,
}


def searched(point: SidePoint, direction: Array) -> SidePoint | None:
    """Backtrack from the minimiser of the quadratic model along a direction, whatever the units of the features."""
    curved, image = point.product(direction)
    slope, curvature = inner(point.gradient, direction), inner(direction, curved)
    length = -slope / curvature if curvature > 0 else 1.0
    if is_rounding(0.5 * length * slope, point.pairs.value, point.theta.dtype):
        return None
    return backtrack(point, direction, image, length)
