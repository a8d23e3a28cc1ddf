"""The Gram eigenbasis: VᵀQV = E Σ Eᵀ. Rotating both sides by E changes no score and no ridge, and makes every row's
all-pairs term diagonal, p_i Σ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.product_rows import row_product
from everypair.parallel import BLOCK_ROWS, Chunk, blocked_product, even_chunks, run_chunks, single_threaded_blas
from everypair.problem.gram import Gram
from everypair.types import Array

ROWS_AT_ONCE = 256  # of a product row by row
NOTHING = 16  # units of rounding: a direction that is shorter, beside the longest, holds nothing else


def eigenbasis(matrix: NDArray[np.float64], free: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of the free block of the Gram matrix; a constant column keeps its own axis."""
    sigma, basis = np.zeros(len(free)), np.eye(len(free))
    with single_threaded_blas():
        values, vectors = np.linalg.eigh(matrix[np.ix_(free, free)])
    sigma[free] = np.maximum(values, 0.0)
    basis[np.ix_(free, free)] = vectors
    return sigma, basis


def rotate(factors: Array, rotation: Array, n_threads: int) -> Array:
    """Return factors @ rotation, in fixed blocks."""
    return blocked_product(factors, rotation, BLOCK_ROWS, n_threads)


def row_products(rows: Array, positions: Array, matrix: Array, n_threads: int = 1) -> Array:
    """Return rows[positions] @ matrix, one row after the other: a row has the same bits whatever rows are beside it.

    >>> row_products(np.eye(2), np.array([1]), np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 4.0]]
    """
    rows, matrix = np.ascontiguousarray(rows), np.ascontiguousarray(matrix)
    columns = every_column(len(matrix))
    out = np.empty((len(positions), matrix.shape[1]), matrix.dtype)

    def work(chunk: Chunk, worker: int) -> None:
        row_product(*chunk, rows, positions, matrix, columns, out)

    if len(out) <= ROWS_AT_ONCE:
        work((0, len(out)), 0)
    else:
        run_chunks(work, even_chunks(len(out), ROWS_AT_ONCE), n_threads)
    return out


@cache
def every_column(count: int) -> NDArray[np.int32]:
    """0, 1, …, count − 1."""
    return np.arange(count, dtype=np.int32)


def column_sizes(rotated: Array) -> list[NDArray[np.float64]]:
    """Sums of the squares of every column, for each block of rows.

    >>> column_sizes(np.array([[1.0, 0.0], [2.0, -3.0]]))
    [array([5., 9.])]
    """
    blocks = even_chunks(len(rotated), BLOCK_ROWS)
    return [np.einsum("ij,ij->j", rotated[a:b], rotated[a:b], dtype=np.float64) for a, b in blocks]


def unspanned(sizes: NDArray[np.float64], free: NDArray[np.bool_], dtype: Any) -> NDArray[np.bool_]:
    """Mark the free directions in which rotated factors hold nothing but rounding: they are no directions at all.

    ``sizes`` are the sums of squares of their columns.

    >>> unspanned(np.array([5.0, 1e-32]), np.ones(2, bool), np.float64).tolist()
    [False, True]
    """
    limit = NOTHING * np.finfo(dtype).eps
    return np.asarray(free & (sizes <= limit**2 * sizes.max(initial=0)))


@dataclass(frozen=True)
class Axes:
    """The eigenbasis E of the other side's Gram matrix, its eigenvalues, and which columns are learnt."""

    sigma: Array
    basis: NDArray[np.float64]
    free: NDArray[np.bool_]

    @classmethod
    def of(cls, gram: Gram, free: NDArray[np.bool_]) -> Axes:
        """Decompose the Gram matrix."""
        return cls(*eigenbasis(gram.matrix, free), free)

    def rotate(self, other: Array, n_threads: int = 1) -> Array:
        """Rows of the other side in these axes; blocks of rows by themselves give the same bits."""
        return rotate(other, self.basis.astype(other.dtype), n_threads)
