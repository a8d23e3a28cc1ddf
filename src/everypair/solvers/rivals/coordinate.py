"""Two-level coordinate descent (NegSel, Algorithm 1): one column of both sides at a time, squared loss.

    for t = 1..k:  S times:  u ← argmin F over column t of U;   v ← argmin F over column t of V

Each update has a closed form, row by row, so F never rises. What it needs of the pairs that are not stored are the
sums Σ_j q_j h_js v_j of (3.18), at O((m+n)k) each, so a sweep costs O(S (|Ω|k + (m+n)k²)). Residuals y − s
are kept on Ω, once by rows and once by columns, and the factors lie column by column while a sweep runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.check import integer
from everypair.kernels.coordinate import exchange_column, stored_values, update_column
from everypair.kernels.stored_pairs import pair_scores
from everypair.parallel import Chunk, balanced_chunks, run_chunks, single_threaded_blas
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.objective import Objective
from everypair.problem.rows import RowProblem
from everypair.solvers.loop import Volatile
from everypair.solvers.state import Factors
from everypair.types import Array

INNER = 5  # S of NegSel, section 3.1
ROW_COST = 16  # of a row's share in the sums, in pairs
CHUNK_WORK = 2**16  # pairs: an update is short, and smaller chunks would cost more to start than to run
MAX_CHUNKS = 128


@dataclass(frozen=True)
class _Sums:
    """Sums over one side's rows with the weights of one of its columns v: Σ_j q_j v_j h_j and Σ_j q_j v_j ṽ_j."""

    products: NDArray[np.float64]
    pull: NDArray[np.float64]


class _Side:
    """One side while sweeps run: its columns (k × rows), and the residuals of the stored pairs in its order."""

    def __init__(self, problem: RowProblem, mirror: RowProblem, n_threads: int) -> None:
        self.problem = problem
        self.weights = mirror.other_weights  # of this side's rows, as the other side sees them; so are the values
        self.values = mirror.other_values
        self.n_threads = n_threads
        work = len(problem.indices) + ROW_COST * problem.n_rows
        self.chunks = balanced_chunks(problem.indptr, ROW_COST, min(MAX_CHUNKS, -(-work // CHUNK_WORK)))
        self.pair_weights = problem.every_weight
        self.lift = problem.every_target - problem.values
        self.residual = np.empty_like(self.lift)
        self.columns: Array = np.empty((0, problem.n_rows), self.lift.dtype)

    def load(self, this: Array, other: Array) -> None:
        """Take over factors and compute the residuals y − s there."""
        problem, targets = self.problem, self.problem.every_target
        self.columns = np.array(this.T, order="C")

        def work(chunk: Chunk, worker: int) -> None:
            pair_scores(*chunk, problem.indptr, problem.indices, this, other, self.residual)
            pairs = slice(problem.indptr[chunk[0]], problem.indptr[chunk[1]])
            np.subtract(targets[pairs], self.residual[pairs], out=self.residual[pairs])

        run_chunks(work, self.chunks, self.n_threads)

    def exchange(self, old: tuple[Array, Array], new: tuple[Array, Array]) -> None:
        """Put the column ``old`` (this side's, the other's) back into the scores and take ``new`` out of them."""
        problem = self.problem

        def work(chunk: Chunk, worker: int) -> None:
            exchange_column(*chunk, problem.indptr, problem.indices, *old, *new, self.residual)

        run_chunks(work, self.chunks, self.n_threads)

    def sums(self, column: int) -> _Sums:
        """Sums of one column as it stands."""
        return _total(run_chunks(lambda chunk, worker: self._part(column, chunk), self.chunks, self.n_threads))

    def update(self, column: int, other: Array, sums: _Sums) -> _Sums:
        """Minimise over one column while the other side's column ``other`` with its ``sums`` is fixed."""
        problem, dtype = self.problem, self.columns.dtype
        this, square = self.columns[column], float(sums.products[column])
        products = sums.products.astype(dtype)
        products[column] = 0
        pull = (sums.pull if problem.imputed else sums.pull * problem.values[0]).astype(dtype)
        rounding = float(np.finfo(dtype).eps)

        def work(chunk: Chunk, worker: int) -> tuple[Array, Array]:
            rows = slice(*chunk)
            pulls = -(products @ self.columns[:, rows])
            pulls += pull if problem.this_values is None else problem.this_values[rows] @ pull
            update_column(
                *chunk, problem.indptr, problem.indices, self.pair_weights, self.lift, self.residual,
                problem.this_weights, problem.other_weights, problem.ridge, other, square, pulls, rounding, this,
            )  # fmt: skip
            return self._part(column, chunk)

        return _total(run_chunks(work, self.chunks, self.n_threads))

    def stored(self) -> float:
        """Σ_Ω ½ [c (y − s)² − p_i q_j (ỹ − s)²]."""
        problem, values = self.problem, np.empty(self.problem.n_rows)

        def work(chunk: Chunk, worker: int) -> None:
            stored_values(
                *chunk, problem.indptr, problem.indices, self.pair_weights, self.lift, self.residual,
                problem.this_weights, problem.other_weights, values,
            )  # fmt: skip

        run_chunks(work, self.chunks, self.n_threads)
        return float(values.sum())

    def _part(self, column: int, chunk: Chunk) -> tuple[Array, Array]:
        """One chunk's part of the sums."""
        rows = slice(*chunk)
        weighted = self.weights[rows] * self.columns[column, rows]
        pull = weighted.sum(keepdims=True) if self.values is None else weighted @ self.values[rows]
        return self.columns[:, rows] @ weighted, pull


def _total(parts: list[tuple[Array, Array]]) -> _Sums:
    """Add up the chunks' parts in their order, in float64."""
    products, pulls = zip(*parts)
    return _Sums(np.sum(products, axis=0, dtype=np.float64), np.sum(pulls, axis=0, dtype=np.float64))


class CoordinateDescent(Volatile):
    """Minimise a squared-loss :class:`Objective` column by column; ``inner`` is the number of alternations on each.

    Residuals and columns are kept from one step to the next as long as each step is given what the last one returned.
    Memory: four numbers per stored pair and a transposed copy of the factors. The same bits on any number of threads.

    >>> from everypair.data.pairs import Pairs
    >>> from everypair.problem.negatives import Negatives
    >>> from everypair.problem.ridge import Ridge
    >>> pairs = Pairs.from_matrix([[1, 0], [1, 1]], dtype=np.float64)
    >>> negatives = Negatives.from_scheme(pairs, weight=0.5)
    >>> objective = Objective(pairs, "squared", negatives, Ridge.checked(0.1, 0), dtype=np.float64)
    >>> state = CoordinateDescent(objective).step(Factors(np.ones((2, 1)), np.ones((2, 1))))
    >>> abs(state.objective - objective.value(state.left, state.right)) < 1e-12
    True
    """

    descends = True
    quadratic_only, structured = True, False

    def __init__(self, objective: Objective, inner: int = INNER) -> None:
        if not objective.loss.quadratic:
            raise ValueError(
                f"coordinate descent has a closed form for the squared loss only, not for {objective.loss.name!r}; "
                'choose the solver "newton" or "block" instead.'
            )
        self.objective = objective
        self.inner = integer("inner", inner)
        left, right = objective.rows
        self._sides = (_Side(left, right, objective.n_threads), _Side(right, left, objective.n_threads))
        self._last: Factors | None = None

    def step(self, state: Factors) -> Factors:
        """One sweep over all columns of both sides."""
        known, self._last = state is self._last, None  # a sweep that is interrupted leaves nothing to go on from
        with single_threaded_blas():
            if not known:
                self._sides[LEFT].load(state.left, state.right)
                self._sides[RIGHT].load(state.right, state.left)
            self._sweep()
            self._last = self._result()
        return self._last

    def _sweep(self) -> None:
        left, right = self._sides
        nothing = np.zeros_like(left.columns[0]), np.zeros_like(right.columns[0])
        learnt = nothing
        for column, taken in enumerate(zip(left.columns, right.columns)):
            left.exchange(learnt, taken)
            right.exchange(learnt[::-1], taken[::-1])
            learnt = taken
            if left.problem.constant == column:
                right.update(column, left.columns[column], left.sums(column))
            elif right.problem.constant == column:
                left.update(column, right.columns[column], right.sums(column))
            else:
                sums = right.sums(column)
                for _ in range(self.inner):
                    sums = left.update(column, right.columns[column], sums)
                    sums = right.update(column, left.columns[column], sums)
        left.exchange(learnt, nothing)
        right.exchange(learnt[::-1], nothing[::-1])

    def _result(self) -> Factors:
        left, right = (np.array(side.columns.T, order="C") for side in self._sides)
        grams = self.objective.gram(LEFT, left), self.objective.gram(RIGHT, right)
        value = self.objective.total(self._sides[LEFT].stored(), left, right, *grams)
        return Factors(left, right, value, grams[1], rounding=self.objective.rounding(*grams))
