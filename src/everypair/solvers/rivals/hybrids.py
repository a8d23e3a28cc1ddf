"""Stochastic gradient that draws no unknown pairs: the two ways that NegSel names at the end of its 3.2 and leaves.

    F = Σ_{e∈Ω} f_e + A(U, V),     f_e = c ℓ(y, s) − ½ p_i q_j (ỹ − s)²,     A: the square over all pairs, and the ridge

StochasticDescent   random steps along the f_e, and gradient descent on A, whose gradient needs Gram matrices alone
StochasticRows      alternating minimisation, each row by random steps along f_e + A_i/|Ω_i|, e ∈ Ω_i

Either costs O(|Ω|k + (m + n)k²) a step, as the alternating solvers do, and gains less by it: here to be compared. One
learner a row adapts its rate, η = learning_rate / √G (:mod:`everypair.solvers.rivals.stochastic`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.stochastic import SampledTerms, row_updates
from everypair.parallel import Chunk, run_chunks, single_threaded_blas
from everypair.problem.gram import Gram
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.objective import Objective
from everypair.solvers.rivals.stochastic import LEARNING_RATE, StochasticGradient, check_loss, checked_rate
from everypair.solvers.state import Factors
from everypair.types import Array

DESCENTS = 10  # gradient steps on A among |Ω| random ones


class StochasticDescent(StochasticGradient):
    """|Ω| random steps on stored pairs, and ten times among them a gradient step on A of both sides.

    In all, a row's steps on A are as long as its random ones, so that F is stationary where they cancel; none is longer
    than 1/(p_i σ + λ_i), σ the largest eigenvalue of the other side's Gram matrix.
    """

    def __init__(self, objective: Objective, learning_rate: float = LEARNING_RATE, random_state: Any = 0) -> None:
        stored = len(objective.rows[LEFT].indices)
        super().__init__(
            objective, "reform", learning_rate, random_state, updates=max(1, stored // DESCENTS), slow_share=0.0
        )
        self.n_terms = stored

    def terms(self, rank: int) -> SampledTerms:
        """The f_e alone: the ridge belongs to A."""
        terms = super().terms(rank)
        return terms._replace(left_ridge=0 * terms.left_ridge, right_ridge=0 * terms.right_ridge)

    def move(self, left: Array, right: Array) -> None:
        """Random steps, then descent on the left and on the right side, ten times, in place."""
        for _ in range(DESCENTS):
            super().move(left, right)
            with single_threaded_blas():
                self._descend(LEFT, left, right)
                self._descend(RIGHT, right, left)

    def _descend(self, side: int, this: Array, other: Array) -> None:
        rows, gram = self.objective.rows[side], self.objective.gram(1 - side, other)
        free = rows.free_columns(this.shape[1])
        steepest = rows.this_weights * np.linalg.eigvalsh(gram.matrix[np.ix_(free, free)])[-1] + rows.ridge
        grown = DESCENTS * np.sqrt(self.sums[side][:, 1])
        bound = np.maximum(steepest, grown / self.learning_rate)  # one over the length of the step
        slope = outside_slope(self.objective, side, this, gram)
        this -= np.divide(slope, bound[:, None], out=np.zeros_like(slope), where=bound[:, None] > 0).astype(this.dtype)


def outside_slope(objective: Objective, side: int, this: Array, gram: Gram) -> NDArray[np.float64]:
    """∂A of a side's factors, P U M − P pulls + D U, 0 in columns that are not learnt; ``gram`` is the other side's."""
    rows = objective.rows[side]
    slope = rows.this_weights[:, None] * (this @ gram.matrix - rows.pulls(gram)) + rows.ridge[:, None] * this
    return np.asarray(slope * rows.free_columns(this.shape[1]), np.float64)


class StochasticRows:
    """The left rows, then the right ones, by |Ω_i| random steps each; F may rise, and bits do not depend on threads."""

    descends = False
    quadratic_only, structured = False, False

    def __init__(self, objective: Objective, learning_rate: float = LEARNING_RATE, random_state: Any = 0) -> None:
        check_loss(objective.loss)
        self.objective = objective
        self.learning_rate = checked_rate(learning_rate)
        self._counter = int(np.random.default_rng(random_state).integers(2**63))
        self._last: Factors | None = None
        self._sums: tuple[Array, ...] = ()

    def step(self, state: Factors) -> Factors:
        """A pass over Ω for either side."""
        if state is not self._last:
            self._sums = tuple(np.zeros((rows.n_rows, 2)) for rows in self.objective.rows)
        with single_threaded_blas():
            left = self._moved(LEFT, state.left, state.right)
            right = self._moved(RIGHT, state.right, left)
        self._last = Factors(left, right, self.objective.value(left, right))
        return self._last

    def _moved(self, side: int, this: Array, other: Array) -> Array:
        """Random steps of a side in the eigenbasis of the other one's Gram matrix, where A_i is a sum over columns."""
        problem = self.objective.side(side, other, self.objective.gram(1 - side, other))
        rows, factors = problem.rows, problem.enter(this)
        values = np.ascontiguousarray(np.broadcast_to(rows.values, rows.n_pairs))
        weights, targets, free = rows.every_weight, rows.every_target, problem.free.astype(np.float64)
        self._counter = (self._counter + 1) % 2**63

        def work(chunk: Chunk, worker: int) -> None:
            row_updates(
                *chunk, rows.loss.code, rows.indptr, rows.indices, weights, targets, values, rows.this_weights,
                rows.other_weights, problem.other, problem.sigma, problem.quadratic.pulled, rows.ridge, free,
                self.learning_rate, np.uint64(self._counter), factors, self._sums[side],
            )  # fmt: skip

        run_chunks(work, rows.chunks, self.objective.n_threads)
        return problem.leave(factors)

    def memory(self) -> dict[str, Any]:
        """The rows' sums G and the random numbers."""
        return {"sums": self._sums, "counter": self._counter}

    def recall(self, memory: dict[str, Any], state: Factors) -> None:
        """Go on from what :meth:`memory` said, at the state it was said of."""
        self._sums, self._counter, self._last = memory["sums"], memory["counter"], state
