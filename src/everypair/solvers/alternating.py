"""Alternating minimisation: the left side, then the right side, each while the other is fixed.

A side whose rows are independent improves row by row (the half-step); a side with features or a graph moves as one
block (:mod:`everypair.solvers.block`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from everypair.parallel import single_threaded_blas
from everypair.problem.gram import Gram
from everypair.problem.objective import LEFT, RIGHT, Objective
from everypair.solvers.block import BlockSolver, BlockSteps
from everypair.solvers.block_problem import BlockProblem
from everypair.solvers.half_step import RowSteps, half_step
from everypair.solvers.preconditioner import Preconditioner
from everypair.solvers.state import Factors

Array = NDArray[Any]


class Alternating:
    """Minimise an :class:`Objective` by alternating sides; each sweep returns F at no extra pass over Ω.

    ``steps`` are taken by the rows of a side that are independent (unless the objective cannot be solved by rows),
    ``block_steps`` by a side that moves as one. Without ``steps`` every side does.
    """

    descends = True

    def __init__(
        self,
        objective: Objective,
        steps: RowSteps | None,
        n_threads: int = 1,
        block_steps: BlockSteps | None = None,
    ) -> None:
        self.objective = objective
        self.steps = steps
        self.n_threads = n_threads
        self.block_steps = block_steps or BlockSteps()

    @cached_property
    def blocks(self) -> tuple[BlockSolver | None, BlockSolver | None]:
        """Solvers of the sides that move as one; prepared in the first sweep, whose time it is."""
        return self._block_solver(LEFT), self._block_solver(RIGHT)

    @cached_property
    def feature_grams(self) -> tuple[Array | None, Array | None]:
        """XᵀPX of the sides where it saves work."""
        return self._feature_gram(LEFT), self._feature_gram(RIGHT)

    def step(self, state: Factors) -> Factors:
        """One sweep over both sides."""
        left_rows, right_rows = self.objective.sides[LEFT], self.objective.sides[RIGHT]
        right_gram = state.right_gram or left_rows.gram_of(state.right, self.n_threads)
        left_theta, left, _ = self._improve(LEFT, state, state.right, right_gram)
        left_gram = right_rows.gram_of(left, self.n_threads)
        right_theta, right, stored = self._improve(RIGHT, state, left, left_gram)
        right_gram = left_rows.gram_of(right, self.n_threads)
        value = self.objective.assemble(stored, left_theta, right_theta, left_gram, right_gram)
        return Factors(
            left, right, value, right_gram,
            None if left_theta is left else left_theta, None if right_theta is right else right_theta,
        )  # fmt: skip

    def _improve(self, side: int, state: Factors, other: Array, gram: Gram) -> tuple[Array, Array, float]:
        """Return θ, the factors and their sum over pairs."""
        rows, theta, solver = self.objective.sides[side], state.parameters(side), self.blocks[side]
        if solver is None:
            assert self.steps is not None
            factors, stored = half_step(rows, theta, other, gram, self.steps, self.n_threads)
            return factors, factors, stored
        embedding = self.objective.embeddings[side]
        with single_threaded_blas():
            problem = BlockProblem(
                rows, embedding, other, gram, self.n_threads, self.objective.pairs_of, self.feature_grams[side]
            )
            point = solver(problem, problem.enter(theta))
            theta, factors = problem.leave(point.theta), problem.leave(point.factors)
        return theta, theta if embedding.features is None else factors, point.pairs.value

    def _block_solver(self, side: int) -> BlockSolver | None:
        embedding = self.objective.embeddings[side]
        if self.steps is not None and embedding.independent and self.objective.row_wise:
            return None
        prepared = Preconditioner(embedding, self.objective.sides[side].own_weights, self.n_threads)
        return BlockSolver(prepared, self.block_steps, [])

    def _feature_gram(self, side: int) -> Array | None:
        """XᵀPX where the all-pairs part of a product is cheaper with it: O(d²k) instead of O(mk)."""
        embedding = self.objective.embeddings[side]
        if embedding.features is None or embedding.own or embedding.features.shape[1] ** 2 >= embedding.n_rows:
            return None
        with single_threaded_blas():
            return embedding.features.gram(self.objective.sides[side].own_weights).astype(self.objective.dtype)
