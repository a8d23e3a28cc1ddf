"""Block solvers: all parameters of one side move together, the other side fixed.

tron               trust-region Newton: conjugate gradients inside a region whose radius follows how well the quadratic
                   model predicted the last step
newton-linesearch  truncated Newton: the same direction without a region, then backtracking; each trial costs O(|Ω|)
gradient           steepest descent with backtracking
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.solvers.block_problem import BlockProblem, Point
from everypair.solvers.conjugate import conjugate_gradient, inner
from everypair.solvers.preconditioner import Preconditioner

Array = NDArray[Any]
ACCEPT = 1e-4  # least ratio of actual to predicted decrease
POOR, GOOD = 0.25, 0.75  # ratios below and above which the region shrinks and grows
SHRINK, GROW = 0.25, 4.0
SUFFICIENT = 0.01  # share of the predicted slope that backtracking asks for
BACKTRACK = 0.5
TRIALS = 30


@dataclass(frozen=True)
class BlockSteps:
    """How far a side goes: Newton (or gradient) steps, CG's tolerance and limit, and when to stop earlier.

    A side stops once its gradient (in the preconditioner's norm) is ``tol`` times what it was at first.
    """

    method: str = "tron"
    steps: int = 2
    cg_tol: float = 0.1
    cg_steps: int = 30
    tol: float = 0.0
    precondition: bool = True


@dataclass
class BlockSolver:
    """Improves the parameters of one side; ``products`` lists the CG steps of every Newton step."""

    preconditioner: Preconditioner
    steps: BlockSteps
    products: list[int]

    def __call__(self, problem: BlockProblem, theta: Array) -> Point:
        """Return the point reached from θ (rotated). g never rises by more than rounding."""
        point = problem.at(theta)
        first = radius = math.inf
        for number in range(self.steps.steps):
            solve = self._solve(point)
            if self.steps.tol > 0:
                size = math.sqrt(max(inner(point.gradient, solve(point.gradient)), 0.0))
                first = size if number == 0 else first
                if number > 0 and size <= self.steps.tol * first:
                    break
            if self.steps.method == "gradient":
                moved = self._descend(point)
            elif self.steps.method == "newton-linesearch":
                moved = self._search(point, solve)
            else:
                moved, radius = self._trust(point, solve, radius)
            if moved is None:
                break
            point = moved
        return point

    def _solve(self, point: Point) -> Callable[[Array], Array]:
        problem = point.problem
        if not self.steps.precondition or self.steps.method == "gradient":
            free = problem.free.astype(point.theta.dtype)
            return lambda residual: residual * free
        return self.preconditioner.at(problem.other, problem.sigma, point.pairs.column_curvatures())

    def _newton_step(self, point: Point, solve: Callable[[Array], Array], radius: float) -> Any:
        step = conjugate_gradient(
            point.product, solve, point.gradient, point.problem.rows.n_rows,
            radius=radius, tol=self.steps.cg_tol, max_steps=self.steps.cg_steps,
        )  # fmt: skip
        self.products.append(step.products)
        return step

    def _trust(self, point: Point, solve: Callable[[Array], Array], radius: float) -> tuple[Point | None, float]:
        for _ in range(TRIALS):
            step = self._newton_step(point, solve, radius)
            if _is_rounding(step.model, point):
                return None, radius
            ratio = point.along(step.step, step.image)(1.0) / step.model
            if ratio < POOR or not math.isfinite(ratio):
                radius = SHRINK * min(radius, step.length)
            elif ratio > GOOD and step.at_boundary:
                radius *= GROW
            if ratio > ACCEPT:
                return point.moved(step.step, step.image), radius
        return None, radius

    def _search(self, point: Point, solve: Callable[[Array], Array]) -> Point | None:
        step = self._newton_step(point, solve, math.inf)
        if _is_rounding(step.model, point):
            return None
        return _backtrack(point, step.step, step.image, 1.0)

    def _descend(self, point: Point) -> Point | None:
        """Start at the minimiser of the quadratic model along the gradient, whatever the units of the features."""
        curved, image = point.product(point.gradient)
        size, curvature = inner(point.gradient, point.gradient), inner(point.gradient, curved)
        length = size / curvature if curvature > 0 else 1.0
        if _is_rounding(-0.5 * length * size, point):
            return None
        return _backtrack(point, -point.gradient, -image, length)


def _backtrack(point: Point, step: Array, image: Array, length: float) -> Point | None:
    """Halve the length until the decrease is sufficient."""
    change, slope = point.along(step, image), inner(point.gradient, step)
    for _ in range(TRIALS):
        if change(length) < SUFFICIENT * length * slope:
            return point.moved(step, image, length)
        length *= BACKTRACK
    return None


def _is_rounding(model: float, point: Point) -> bool:
    """Whether a predicted decrease cannot be told from rounding (or there is none)."""
    floor = float(np.finfo(point.theta.dtype).eps) ** 1.5 * abs(point.pairs.value)
    return not model < -floor
