"""Matrices that are never formed: M = U diag(σ) Vᵀ, and "sparse + low rank" E = S + P Qᵀ with S stored on Ω.

A product of E with a block of b vectors costs O(|Ω|b + (n + m)kb), k the columns of P; nothing costs n·m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from everypair.data.observed import Observed
from everypair.kernels.stored_pairs import pair_scores, sparse_dense
from everypair.parallel import Chunk, blocked_product, even_chunks, run_chunks
from everypair.types import Array64

Work = Callable[[Chunk, int], None]
BLOCK_ROWS = 1024
DENSE_SHARE = 16  # where at least one of so many entries is observed, dense products are faster,
TILE_ROWS = 64  # of so many rows at a time


@dataclass(frozen=True)
class LowRank:
    """M = left · diag(values) · rightᵀ with orthonormal columns on both sides; rank 0 is the zero matrix.

    >>> LowRank.zero((3, 2)).dense().tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """

    left: Array64
    values: Array64
    right: Array64

    @classmethod
    def zero(cls, shape: tuple[int, int]) -> LowRank:
        """The zero matrix."""
        return cls(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((shape[1], 0)))

    @property
    def rank(self) -> int:
        """Number of singular values."""
        return len(self.values)

    @property
    def scaled(self) -> Array64:
        """left · diag(values): the left factor of M = (UΣ)Vᵀ."""
        return self.left * self.values

    @property
    def nuclear_norm(self) -> float:
        """Sum of the singular values."""
        return float(self.values.sum())

    @property
    def square(self) -> float:
        """‖M‖²."""
        return float(self.values @ self.values)

    @property
    def transposed(self) -> LowRank:
        """Mᵀ."""
        return LowRank(self.right, self.values, self.left)

    def dense(self) -> Array64:
        """M itself, n × m numbers."""
        return np.asarray(self.scaled @ self.right.T)


class SparsePlusLowRank:
    """E = S + P Qᵀ with the values of S at the entries of ``pattern`` (row-major), P = ``left``, Q = ``right``.

    >>> pattern = Observed.from_matrix([[1.0, np.nan], [np.nan, 2.0]])
    >>> E = SparsePlusLowRank(pattern, pattern.values, np.ones((2, 1)), np.ones((2, 1)))
    >>> E.product(np.eye(2)).tolist(), E.dense().tolist()
    ([[2.0, 1.0], [1.0, 3.0]], [[2.0, 1.0], [1.0, 3.0]])
    """

    def __init__(self, pattern: Observed, values: Array64, left: Array64, right: Array64, n_threads: int = 1) -> None:
        self.pattern, self.values, self.n_threads = pattern, values, n_threads
        self.left, self.right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        self.shape = pattern.shape

    def product(self, block: Array64) -> Array64:
        """E · block (n × b)."""
        out = sparse_product(self.pattern, self.values, block, self.n_threads)
        out += blocked_product(self.left, self.right.T @ block, BLOCK_ROWS, self.n_threads)
        return out

    def adjoint(self, block: Array64) -> Array64:
        """Eᵀ · block (m × b)."""
        out = sparse_adjoint(self.pattern, self.values, block, self.n_threads)
        out += blocked_product(self.right, self.left.T @ block, BLOCK_ROWS, self.n_threads)
        return out

    def dense(self) -> Array64:
        """E itself, n × m numbers."""
        out = self.left @ self.right.T
        out[self.pattern.rows, self.pattern.indices] += self.values
        return np.asarray(out)


def sparse_product(pattern: Observed, values: Array64, block: Array64, n_threads: int = 1) -> Array64:
    """S · block for S with ``values`` (row-major) at the entries of ``pattern``: O(|Ω|b)."""
    block = np.ascontiguousarray(block)
    out = np.empty((pattern.shape[0], block.shape[1]))

    def work(chunk: Chunk, worker: int) -> None:
        sparse_dense(*chunk, pattern.indptr, pattern.indices, values, block, out)

    def dense_work(chunk: Chunk, worker: int) -> None:
        rows, here = _entries(pattern, chunk)
        tile = np.zeros((chunk[1] - chunk[0], pattern.shape[1]))
        tile[rows, pattern.indices[here]] = values[here]
        np.matmul(tile, block, out=out[slice(*chunk)])

    _run(pattern, work, dense_work, n_threads)
    return out


def sparse_adjoint(pattern: Observed, values: Array64, block: Array64, n_threads: int = 1) -> Array64:
    """Sᵀ · block."""
    return sparse_product(pattern.transposed, pattern.transpose_values(values), block, n_threads)


def entries_of(pattern: Observed, left: Array64, right: Array64, n_threads: int = 1) -> Array64:
    """(P Qᵀ)_ij at the entries of ``pattern``, in row-major order: O(|Ω|k)."""
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    out = np.empty(pattern.nnz)

    def work(chunk: Chunk, worker: int) -> None:
        pair_scores(*chunk, pattern.indptr, pattern.indices, left, right, out)

    def dense_work(chunk: Chunk, worker: int) -> None:
        rows, here = _entries(pattern, chunk)
        out[here] = (left[slice(*chunk)] @ right.T)[rows, pattern.indices[here]]

    _run(pattern, work, dense_work, n_threads)
    return out


def _run(pattern: Observed, work: Work, dense_work: Work, n_threads: int) -> None:
    """Where much is observed, dense products of a few rows at a time are faster than visiting the entries."""
    if pattern.nnz * DENSE_SHARE >= pattern.shape[0] * pattern.shape[1]:
        run_chunks(dense_work, even_chunks(pattern.shape[0], TILE_ROWS), n_threads)
    else:
        run_chunks(work, pattern.chunks, n_threads)


def _entries(pattern: Observed, chunk: Chunk) -> tuple[Array64, slice]:
    """The row within the chunk of each of its entries, and where they are stored."""
    here = slice(pattern.indptr[chunk[0]], pattern.indptr[chunk[1]])
    return pattern.rows[here] - chunk[0], here


def load_kernels() -> None:
    """Compile the kernels, or load them from disk, on a matrix with one entry."""
    size = DENSE_SHARE
    index = np.zeros(1, np.int32)
    pattern = Observed((size, size), np.minimum(np.arange(size + 1), 1), index, np.ones(1))
    ones = np.ones((size, 1))
    entries_of(pattern, ones, ones)
    sparse_product(pattern, pattern.values, ones)


def largest_singular_value(E: SparsePlusLowRank, steps: int = 30) -> float:
    """‖E‖₂ by a block power method, from below."""
    block = np.random.default_rng(0).standard_normal((E.shape[1], min(4, E.shape[1])))
    for _ in range(steps):
        block = np.linalg.qr(E.adjoint(E.product(block)))[0]
    return float(np.linalg.norm(E.product(block), 2))
