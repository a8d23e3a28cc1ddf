"""One side moves as a whole: all its parameters together, the other side fixed.

tron               trust-region Newton (:mod:`everypair.solvers.tron`)
newton-linesearch  truncated Newton with backtracking (:mod:`everypair.solvers.line_search`)
gradient, nonlinear-cg, gradient-region   by gradients alone (:mod:`everypair.solvers.first_order`)

Each is a way to go from a point to the next; how often, and when to stop, is decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from everypair.problem.gram import inner
from everypair.problem.side import SidePoint, SideProblem
from everypair.solvers.conjugate import ModelStep, conjugate_gradient
from everypair.solvers.preconditioner import Preconditioner
from everypair.types import Array

Solve = Callable[[Array], Array]


@dataclass(frozen=True)
class SideSteps:
    """How far a side goes: Newton (or gradient) steps, CG's tolerance and limit, and when to stop earlier.

    A side stops once its gradient (in the preconditioner's norm) is ``tol`` times what it was at first.
    """

    method: str = "tron"
    steps: int = 2
    cg_tol: float = 0.1
    cg_steps: int = 30
    tol: float = 0.0
    precondition: bool = True


class SideNewton:
    """The Newton direction at a point, by preconditioned CG; ``products`` collects how many steps that took."""

    def __init__(self, point: SidePoint, solve: Solve, steps: SideSteps, products: list[int]) -> None:
        self.point, self.solve, self.steps, self.products = point, solve, steps, products

    def direction(self, radius: float = math.inf) -> ModelStep | None:
        """The step inside the region, or ``None`` where its predicted decrease cannot be told from rounding."""
        point = self.point
        step = conjugate_gradient(
            point.product, self.solve, point.gradient, point.problem.rows.n_rows,
            radius=radius, tol=self.steps.cg_tol, max_steps=self.steps.cg_steps,
        )  # fmt: skip
        self.products.append(step.products)
        return None if is_rounding(step.model, point.pairs.value, point.theta.dtype) else step


class Method(Protocol):
    """A way to go from one point to the next while a side is solved."""

    preconditioned: bool

    def __call__(self, point: SidePoint, newton: SideNewton) -> SidePoint | None:
        """The next point, or ``None`` where there is no way down."""
        ...


class SideSolver:
    """Improves the parameters of one side by a method; ``products`` lists the CG steps of every Newton step."""

    def __init__(self, preconditioner: Preconditioner, steps: SideSteps, method: Callable[[], Method]) -> None:
        self.preconditioner, self.steps, self.method = preconditioner, steps, method
        self.products: list[int] = []

    def __call__(self, problem: SideProblem, theta: Array) -> SidePoint:
        """Return the point reached from θ (rotated). g never rises by more than rounding."""
        point, advance = problem.at(theta), self.method()
        first = math.inf
        for number in range(self.steps.steps):
            solve = self._solve(point, advance.preconditioned and self.steps.precondition)
            if self.steps.tol > 0:
                size = math.sqrt(max(inner(point.gradient, solve(point.gradient)), 0.0))
                first = size if number == 0 else first
                if number > 0 and size <= self.steps.tol * first:
                    break
            moved = advance(point, SideNewton(point, solve, self.steps, self.products))
            if moved is None:
                break
            point = moved
        return point

    def _solve(self, point: SidePoint, preconditioned: bool) -> Solve:
        problem = point.problem
        if not preconditioned:
            free = problem.free.astype(point.theta.dtype)
            return lambda residual: residual * free
        return self.preconditioner.at(problem.other, problem.sigma, point.pairs.column_curvatures())


def is_rounding(model: float, pairs: float, dtype: Any) -> bool:
    """Whether a predicted decrease cannot be told from rounding (or there is none); ``pairs`` is the sum over pairs."""
    floor = float(np.finfo(dtype).eps) ** 1.5 * abs(pairs)
    return not model < -floor
