"""The same loss on every pair, at the cost of every pair.

    Σ_Ω c ℓ(y, s) + Σ_{∉Ω} p_i q_j ℓ(ỹ, s)

Only a square over all pairs can be had through Gram matrices, so value, gradient and Hessian·vector cost O(mnk) here.
This sum exists to be compared: with the logistic loss it is what the OCSMF paper calls LR-wLR. Scores are formed
in dense blocks of rows, and memory is one block for each thread and, while they fit, every pair's curvature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.all_pairs import every_terms
from everypair.parallel import Chunk, even_chunks, run_chunks
from everypair.problem.rows import RowProblem
from everypair.types import Array

BLOCK_PAIRS = 1 << 19  # of one block of rows: BLAS is slow on blocks of few rows
KEPT_BYTES = 1 << 30  # up to which all curvatures are kept: Hessian·vector products then take half the time


class AllPairs:
    """The sum over all m·n pairs at U (``this``) and V (``other``), seen from U's side, and its derivatives by U.

    r = w ℓ'(x, s) and t = w ℓ''(x, s), with (w, x) = (c, y) on stored pairs and (p_i q_j, ỹ) elsewhere.
    """

    def __init__(self, rows: RowProblem, this: Array, other: Array, n_threads: int = 1) -> None:
        self.rows, self.this, self.other, self.n_threads = rows, this, other, n_threads
        m, n = rows.n_rows, len(other)
        self._across = other.T
        self._stored = rows.every_weight, rows.every_target
        self._block_rows = max(1, BLOCK_PAIRS // max(1, n))
        self._kept = np.empty((m, n), other.dtype) if m * n * other.itemsize <= KEPT_BYTES else None
        self._gradient = np.empty((m, other.shape[1]), other.dtype)

        def work(chunk: Chunk, worker: int) -> tuple[float, NDArray[np.float64]]:
            value, slopes, curvatures = self._terms(chunk, worker, this[slice(*chunk)])
            np.matmul(slopes, other, out=self._gradient[slice(*chunk)])
            if self._kept is not None:
                self._kept[slice(*chunk)] = curvatures
            return value, curvatures.sum(axis=0, dtype=np.float64)

        parts = self._run(work)
        self.value = float(sum(value for value, _ in parts))
        self._column_curvatures = sum((sums for _, sums in parts), np.zeros(n))

    def gradient(self) -> Array:
        """R V."""
        return self._gradient.copy()

    def product(self, direction: Array) -> Array:
        """[t_ij (n_i·v_j)] V for a direction N of U."""
        out = np.empty_like(direction)

        def work(chunk: Chunk, worker: int) -> None:
            block = slice(*chunk)
            if self._kept is None:
                curvatures = self._terms(chunk, worker, self.this[block])[2]
            else:
                curvatures = self._kept[block]
            changes = np.matmul(direction[block], self._across, out=self._scratch[worker][0, : len(curvatures)])
            changes *= curvatures
            np.matmul(changes, self.other, out=out[block])

        self._run(work)
        return out

    def column_curvatures(self) -> NDArray[np.float64]:
        """Σ_i t_ij for every row j of V."""
        return self._column_curvatures

    def along(self, direction: Array) -> Callable[[float], float]:
        """Value at U + α N as a function of α, at O(mnk) for each α."""

        def value(length: float) -> float:
            def work(chunk: Chunk, worker: int) -> float:
                block = slice(*chunk)
                moved = self.this[block] + direction.dtype.type(length) * direction[block]
                return self._terms(chunk, worker, moved)[0]

            return float(sum(self._run(work)))

        return value

    @cached_property
    def _scratch(self) -> list[Array]:
        shape = (3, min(self._block_rows, self.rows.n_rows), len(self.other))
        return [np.empty(shape, self.other.dtype) for _ in range(self.n_threads)]

    def _terms(self, chunk: Chunk, worker: int, factors: Array) -> tuple[float, Array, Array]:
        """Value, slopes and curvatures of a block of rows with these factors; the arrays are the worker's scratch."""
        rows, count = self.rows, len(factors)
        scores, slopes, curvatures = (array[:count] for array in self._scratch[worker])
        np.matmul(factors, self._across, out=scores)
        values = np.empty(count)
        loops = rows.loss.loops(scores.dtype, scores.dtype)
        every_terms(
            loops, *chunk, rows.indptr, rows.indices, *self._stored, self._values(chunk),
            rows.this_weights, rows.other_weights, scores, values, slopes, curvatures,
        )  # fmt: skip
        return float(values.sum()), slopes, curvatures

    def _values(self, chunk: Chunk) -> Array:
        rows = self.rows
        if rows.this_values is None or rows.other_values is None:
            return rows.values[:1, None]
        return np.asarray(rows.this_values[slice(*chunk)] @ rows.other_values.T)

    def _run(self, work: Callable[[Chunk, int], Any]) -> list[Any]:
        return run_chunks(work, even_chunks(self.rows.n_rows, self._block_rows), self.n_threads)

    @staticmethod
    def as_stored(rows: RowProblem, columns: int) -> RowProblem:
        """Write every pair of ``rows`` out as a stored one, so that they can be solved like any others."""
        size, dtype = rows.n_rows, rows.weights.dtype
        weights = np.outer(rows.this_weights, rows.other_weights).astype(dtype)
        targets = np.full((size, columns), rows.values[0] if rows.this_values is None else 0, dtype)
        if rows.this_values is not None and rows.other_values is not None:
            targets = (rows.this_values @ rows.other_values.T).astype(dtype)
        at = np.repeat(np.arange(size), np.diff(rows.indptr)), rows.indices
        weights[at], targets[at] = rows.weights, rows.targets
        return replace(
            rows, indptr=np.arange(size + 1, dtype=np.int64) * columns,
            indices=np.tile(np.arange(columns, dtype=rows.indices.dtype), size), weights=weights.ravel(),
            targets=targets.ravel(), values=np.zeros(1, dtype), this_weights=np.zeros(size, dtype), this_values=None,
            other_values=None,
        )  # fmt: skip
