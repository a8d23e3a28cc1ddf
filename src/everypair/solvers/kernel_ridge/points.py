"""Kernel values of blocks of rows: exp(−γ‖x − y‖²) = exp(−γ (‖x‖² − 2 x·y + ‖y‖²)), from one product of matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.parallel import run_chunks
from everypair.problem.rotation import row_products
from everypair.solvers.kernel_ridge.tiles import tiles

Matrix = NDArray[Any]
Block = slice | NDArray[Any]
DENSE_SHARE = 1 / 32  # of stored values, from which a dense product is faster than a sparse one


@dataclass(frozen=True)
class Points:
    """Rows to compare: a ``csr_array`` or, unless very sparse, a dense array; and their squared lengths.

    >>> points = Points.of(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> points.rbf(points, gamma=0.5).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """

    rows: Any
    squares: Matrix

    @classmethod
    def of(cls, rows: Any, like: Points | None = None) -> Self:
        """Rows as they are scaled, in the precision that kernel values are to have; kept as those of ``like`` are."""
        n, d = rows.shape
        if sp.issparse(rows):
            rows = sp.csr_array(rows)
            if rows.nnz < DENSE_SHARE * n * d if like is None else sp.issparse(like.rows):
                return cls(rows, np.asarray(rows.multiply(rows).sum(axis=1)).ravel().astype(rows.dtype))
            rows = rows.toarray()
        rows = np.ascontiguousarray(rows)
        return cls(rows, np.einsum("ij,ij->i", rows, rows))

    def __len__(self) -> int:
        return len(self.squares)

    def __getitem__(self, index: Block) -> Points:
        return Points(self.rows[index], self.squares[index])

    def rbf(self, others: Points, gamma: float, apart: bool = False) -> Matrix:
        """exp(−γ‖x − y‖²) of these rows with others; ``apart``: a row's bits do not depend on those beside it."""
        product = _products(self.rows, others.rows, apart)
        product *= 2.0
        product -= self.squares[:, None]
        product -= others.squares
        np.minimum(product, 0.0, out=product)
        product *= gamma
        return np.asarray(np.exp(product, out=product))


def _products(left: Any, right: Any, apart: bool) -> Matrix:
    if sp.issparse(left) and sp.issparse(right):
        return np.asarray((left @ right.T).toarray())
    if sp.issparse(left) or sp.issparse(right):  # a part of the rows may be denser than all of them
        left, right = (rows.toarray() if sp.issparse(rows) else rows for rows in (left, right))
    return row_products(left, np.arange(len(left)), right.T) if apart else np.asarray(left @ right.T)


def lower_matrix(values: Callable[[slice, slice], Matrix], n: int, dtype: Any, n_threads: int) -> Matrix:
    """The lower triangle of a symmetric n × n matrix of kernel values, tile by tile; what lies above is not set.

    >>> points = Points.of(np.array([[0.0], [2.0]]))
    >>> lower_matrix(lambda i, j: points[i].rbf(points[j], 1.0), 2, float, n_threads=1)[1].round(3).tolist()
    [0.018, 1.0]
    """
    matrix = np.empty((n, n), dtype)

    def work(chunk: tuple[int, int], worker: int) -> None:
        matrix[slice(*chunk), : chunk[1]] = values(slice(*chunk), slice(0, chunk[1]))

    run_chunks(work, tiles(n)[::-1], n_threads)  # the longest rows first
    return matrix
