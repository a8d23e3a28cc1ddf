"""A feature matrix X (m × d) and its products XW, XᵀG and XᵀPX: sparse or dense, in parallel, never densified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.kernels.stored_pairs import sparse_dense
from everypair.parallel import Chunk, balanced_chunks, blocked_product, run_chunks
from everypair.types import Array

DENSE_ROWS = 128


class Features:
    """X with one row per entity. A sparse X is kept row-major and column-major: 2·nnz·(index + float) bytes.

    >>> features = Features(sp.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    >>> features.product(np.eye(3)).tolist()
    [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]
    >>> features.adjoint(np.ones((2, 1))).ravel().tolist()
    [1.0, 3.0, 2.0]
    """

    def __init__(self, matrix: Any, dtype: Any = np.float64) -> None:
        self.shape: tuple[int, int] = matrix.shape
        self.dtype = np.dtype(dtype)
        self.dense: Array | None = None
        if sp.issparse(matrix):
            by_row = sp.csr_array(matrix).astype(dtype, copy=False)
            if not by_row.has_canonical_format:
                by_row = by_row.copy()
                by_row.sum_duplicates()
            self._rows = _Rows.of(by_row)
            self._columns = _Rows.of(sp.csr_array(by_row.T))
            self.nnz = by_row.nnz
        else:
            self.dense = np.require(matrix, dtype, ["C", "A"])
            self.nnz = self.dense.size

    def product(self, weights: Array, n_threads: int = 1) -> Array:
        """XW (m × k)."""
        if self.dense is None:
            return self._rows.product(weights, n_threads)
        return blocked_product(self.dense, weights, DENSE_ROWS, n_threads)

    def adjoint(self, gradient: Array, n_threads: int = 1) -> Array:
        """XᵀG (d × k)."""
        if self.dense is None:
            return self._columns.product(gradient, n_threads)
        return blocked_product(self.dense.T, gradient, DENSE_ROWS, n_threads)

    def gram(self, weights: Array) -> NDArray[np.float64]:
        """XᵀPX (d × d, dense) for row weights p."""
        root = np.sqrt(weights.astype(np.float64))[:, None]
        if self.dense is not None:
            scaled = self.dense * root
            return np.asarray(scaled.T @ scaled)
        scaled = self.matrix.astype(np.float64).multiply(root).tocsr()
        return np.asarray((scaled.T @ scaled).toarray())

    def squares(self, weights: Array) -> NDArray[np.float64]:
        """Diagonal of XᵀPX, Σ_i p_i x_if²."""
        squared = self.dense**2 if self.dense is not None else self.matrix.multiply(self.matrix)
        return np.asarray(squared.T @ weights.astype(np.float64)).ravel()

    def mean_square_norm(self) -> float:
        """Mean of ‖x_i‖² over rows."""
        values = self._rows.data if self.dense is None else self.dense
        return float(np.sum(np.square(values, dtype=np.float64)) / max(1, self.shape[0]))

    @property
    def matrix(self) -> Any:
        """X as a csr array or a dense one, sharing memory."""
        if self.dense is not None:
            return self.dense
        return sp.csr_array((self._rows.data, self._rows.indices, self._rows.indptr), shape=self.shape)


@dataclass(frozen=True)
class _Rows:
    """A sparse matrix by rows, and how its rows are shared out among threads."""

    indptr: NDArray[np.int64]
    indices: Array
    data: Array
    chunks: list[Chunk]

    @classmethod
    def of(cls, matrix: Any) -> _Rows:
        indptr = matrix.indptr.astype(np.int64)
        widest = np.int32 if max(matrix.shape) <= np.iinfo(np.int32).max else np.int64
        return cls(indptr, matrix.indices.astype(widest, copy=False), matrix.data, balanced_chunks(indptr))

    def product(self, other: Array, n_threads: int) -> Array:
        other = np.ascontiguousarray(other)
        data = self.data.astype(other.dtype, copy=False)
        out = np.empty((len(self.indptr) - 1, other.shape[1]), other.dtype)

        def work(chunk: Chunk, worker: int) -> None:
            sparse_dense(*chunk, self.indptr, self.indices, data, other, out)

        run_chunks(work, self.chunks, n_threads)
        return out
