"""A feature matrix X (m × d) and its products XW, XᵀG and XᵀPX: sparse or dense, in parallel, never densified."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.kernels.pairs import sparse_dense
from everypair.parallel import Chunk, balanced_chunks, even_chunks, run_chunks

Array = NDArray[Any]
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
            self._rows = _compressed(by_row)
            self._columns = _compressed(sp.csr_array(by_row.T))
            self.nnz = by_row.nnz
        else:
            self.dense = np.ascontiguousarray(matrix, dtype)
            self.nnz = self.dense.size

    def product(self, weights: Array, n_threads: int = 1) -> Array:
        """XW (m × k)."""
        if self.dense is None:
            return _multiply(self._rows, weights, n_threads)
        return blocked_product(self.dense, weights, n_threads)

    def adjoint(self, gradient: Array, n_threads: int = 1) -> Array:
        """XᵀG (d × k)."""
        if self.dense is None:
            return _multiply(self._columns, gradient, n_threads)
        return blocked_product(self.dense.T, gradient, n_threads)

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
        values = self._rows[2] if self.dense is None else self.dense
        return float(np.sum(np.square(values, dtype=np.float64)) / max(1, self.shape[0]))

    @property
    def matrix(self) -> Any:
        """X as a csr array or a dense one, sharing memory."""
        if self.dense is not None:
            return self.dense
        indptr, indices, data = self._rows
        return sp.csr_array((data, indices, indptr), shape=self.shape)


def blocked_product(matrix: Array, other: Array, n_threads: int) -> Array:
    """Return matrix @ other by fixed blocks of rows, the same bits on any number of threads."""
    out = np.empty((matrix.shape[0], other.shape[1]), other.dtype)

    def work(chunk: Chunk, worker: int) -> None:
        np.matmul(matrix[slice(*chunk)], other, out=out[slice(*chunk)])

    run_chunks(work, even_chunks(matrix.shape[0], DENSE_ROWS), n_threads)
    return out


def _compressed(matrix: Any) -> tuple[NDArray[np.int64], Array, Array]:
    return matrix.indptr.astype(np.int64), matrix.indices, matrix.data


def _multiply(compressed: tuple[NDArray[np.int64], Array, Array], other: Array, n_threads: int) -> Array:
    indptr, indices, data = compressed
    out = np.empty((len(indptr) - 1, other.shape[1]), other.dtype)

    def work(chunk: Chunk, worker: int) -> None:
        sparse_dense(*chunk, indptr, indices, data, other, out)

    run_chunks(work, balanced_chunks(indptr), n_threads)
    return out
