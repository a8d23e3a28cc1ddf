"""Alternating minimisation: the left side, then the right side, each while the other is fixed.

A side whose rows are independent improves row by row (the half-step); a side with features or a graph moves as a whole
(:mod:`everypair.solvers.side`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

from everypair.parallel import single_threaded_blas
from everypair.problem.gram import Gram
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.objective import Objective
from everypair.problem.rows import check_stored_slopes
from everypair.solvers.first_order import FIRST_ORDER
from everypair.solvers.half_step import RowSteps, half_step
from everypair.solvers.line_search import LineSearch
from everypair.solvers.preconditioner import Preconditioner, Spectrum
from everypair.solvers.side import Method, SideSolver, SideSteps
from everypair.solvers.state import Factors
from everypair.solvers.tron import TrustRegion
from everypair.types import Array

SIDE_METHODS: dict[str, Callable[[], Method]] = {
    "tron": TrustRegion,
    "newton-linesearch": LineSearch,
    **FIRST_ORDER,
}


class Alternating:
    """Minimise an :class:`Objective` by alternating sides; each sweep returns F at no extra pass over Ω.

    ``steps`` are taken by the rows of a side that are independent (unless the objective cannot be solved by rows),
    ``side_steps`` by a side that moves as a whole. Without ``steps`` every side does. ``spectrum`` is XᵀPX of the left
    side's features decomposed, where it is known already.
    """

    descends = True
    quadratic_only, structured = False, True

    def __init__(
        self,
        objective: Objective,
        steps: RowSteps | None,
        side_steps: SideSteps | None = None,
        spectrum: Spectrum | None = None,
    ) -> None:
        self.objective = objective
        self.spectrum = spectrum
        self.steps = steps
        self.side_steps = side_steps or SideSteps()

    @cached_property
    def side_solvers(self) -> tuple[SideSolver | None, SideSolver | None]:
        """Solvers of the sides that move as a whole; prepared in the first sweep, whose time it is."""
        return self._side_solver(LEFT), self._side_solver(RIGHT)

    def step(self, state: Factors) -> Factors:
        """One sweep over both sides."""
        right_gram = state.right_gram or self.objective.gram(RIGHT, state.right)
        left_theta, left, _ = self._improve(LEFT, state.parameters(LEFT), state.right, right_gram)
        right_theta = state.parameters(RIGHT)
        del state  # frees the left side where momentum made it for this sweep alone
        left_gram = self.objective.gram(LEFT, left)
        right_theta, right, pairs = self._improve(RIGHT, right_theta, left, left_gram)
        right_gram = self.objective.gram(RIGHT, right)
        value = self.objective.total(pairs, left_theta, right_theta, left_gram, right_gram)
        if math.isfinite(value):
            check_stored_slopes(self.objective.rows[LEFT], left, right, self.objective.n_threads)
        return Factors(
            left, right, value, right_gram,
            None if left_theta is left else left_theta, None if right_theta is right else right_theta,
            self.objective.rounding(left_gram, right_gram),
        )  # fmt: skip

    def _improve(self, side: int, theta: Array, other: Array, gram: Gram) -> tuple[Array, Array, float]:
        """Return θ, the factors and their sum over pairs."""
        solver = self.side_solvers[side]
        if solver is None:
            assert self.steps is not None
            rows, threads = self.objective.rows[side], self.objective.n_threads
            factors, pairs = half_step(rows, theta, other, gram, self.steps, threads)
            return factors, factors, pairs
        with single_threaded_blas():
            problem = self.objective.side(side, other, gram)
            point = solver(problem, problem.enter(theta))
            theta, factors = problem.leave(point.theta), problem.leave(point.factors)
        return theta, theta if problem.embedding.features is None else factors, point.pairs.value

    def _side_solver(self, side: int) -> SideSolver | None:
        if self.steps is not None and self.objective.by_rows(side):
            return None
        objective = self.objective
        prepared = Preconditioner(
            objective.embeddings[side], objective.rows[side].this_weights, objective.n_threads,
            self.spectrum if side == LEFT else None,
        )  # fmt: skip
        return SideSolver(prepared, self.side_steps, SIDE_METHODS[self.side_steps.method])
