"""The stored pairs of one side's problem at its factors: Σ_Ω [c ℓ − ½ p_i q_j (ỹ − s)²] and its derivatives.

r = c ℓ'(s) − p_i q_j (s − ỹ),   t = c ℓ''(s) − p_i q_j;     gradient R V,   product [t (n_i·v_j)]_Ω V
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.stored_pairs import curvature_product, pair_scores, pair_terms, sparse_dense
from everypair.parallel import Chunk, block_sums, run_chunks
from everypair.problem.rows import RowProblem
from everypair.types import Array


class StoredPairs:
    """The pairs' part of F at U (``this``) and V (``other``), seen from U's side."""

    def __init__(self, rows: RowProblem, this: Array, other: Array, n_threads: int = 1) -> None:
        self.rows, self.other, self.n_threads = rows, other, n_threads
        self.scores = np.empty(len(rows.indices), other.dtype)
        rows.run(pair_scores, n_threads, this, other, self.scores)
        self.row_values, self.slopes, self.curvatures = self._terms(self.scores)
        self.value = block_sums(self.row_values)

    def gradient(self) -> Array:
        """R V."""
        out = np.empty((self.rows.n_rows, self.other.shape[1]), self.other.dtype)
        self.rows.run(sparse_dense, self.n_threads, self.slopes, self.other, out)
        return out

    def product(self, direction: Array) -> Array:
        """[t_ij (n_i·v_j)]_Ω V for a direction N of U."""
        out = np.empty_like(direction)
        self.rows.run(curvature_product, self.n_threads, self.curvatures, direction, self.other, self._scratch, out)
        return out

    def column_curvatures(self) -> NDArray[np.float64]:
        """Σ_i t_ij for every row j of V."""
        return np.asarray(np.bincount(self.rows.indices, self.curvatures, minlength=len(self.other)), np.float64)

    def along(self, direction: Array) -> Callable[[float], float]:
        """Value at U + α N as a function of α, at O(|Ω|) for each α."""
        change = np.empty_like(self.scores)
        self.rows.run(pair_scores, self.n_threads, direction, self.other, change)
        return lambda length: block_sums(self._terms(self.scores + self.scores.dtype.type(length) * change)[0])

    @cached_property
    def _scratch(self) -> Array:
        return np.empty_like(self.scores)

    def _terms(self, scores: Array) -> tuple[NDArray[np.float64], Array, Array]:
        rows = self.rows
        values, slopes, curvatures = np.empty(rows.n_rows), np.empty_like(scores), np.empty_like(scores)
        loops = rows.loss.loops(rows.weights.dtype, scores.dtype)

        def work(chunk: Chunk, worker: int) -> None:
            pair_terms(
                loops, *chunk, rows.indptr, rows.indices, rows.row_weights, rows.row_targets, rows.values,
                rows.this_weights, rows.other_weights, scores, values, slopes, curvatures,
            )  # fmt: skip

        run_chunks(work, rows.chunks, self.n_threads)
        return values, slopes, curvatures
