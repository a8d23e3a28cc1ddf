"""Most similar rows by cosine: cos(x, y) = x·y / (‖x‖ ‖y‖), and 0 where either is the zero vector.

Where every row is several vectors with weights, cos(x, y) = Σ_p w_p cos(x_p, y_p) / Σ_p w_p.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.kernels.score_rows import sparse_scores
from everypair.kernels.writable import writable_view
from everypair.retrieve.index import Index
from everypair.retrieve.scores import Scores
from everypair.types import Array


@dataclass(frozen=True, eq=False)
class SparseVectors:
    """Rows of length 1 (csr), and the same by columns, so that one row is compared with all at the cost of its entries.

    >>> SparseVectors(sp.csr_array(np.eye(2))).shape
    (2, 2)
    """

    rows: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        rows, columns = self.rows.shape
        return rows, columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of cosines."""
        return np.dtype(self.rows.dtype)

    @cached_property
    def columns(self) -> Any:
        """The transpose, row by row."""
        return sp.csr_array(self.rows.T)

    @cached_property
    def zeros(self) -> Array:
        """Where sums begin."""
        return np.zeros(self.shape[0], self.dtype)

    def products(self, chosen: NDArray[Any], out: Array) -> None:
        """Write the products of some rows with all rows."""
        rows, columns = self.rows, self.columns
        parts = tuple(map(writable_view, (rows.indices, rows.data, columns.indptr, columns.indices, columns.data)))
        for line, position in enumerate(chosen.tolist()):
            ends = rows.indptr[position : position + 2].astype(np.int64)
            sparse_scores(0, 1, ends, *parts, self.zeros, out[line : line + 1])


UnitVectors = list[tuple[float, Index | SparseVectors]]  # (weight, rows of length 1)


def most_similar(factors: Array, rows: Any, n: int, **options: Any) -> tuple[NDArray[np.int32], Array]:
    """Return the n rows of ``factors`` with the greatest cosine to each of ``rows``: (indices, cosines).

    A row is never in its own list. ``options`` (``allow``, ``block``, ``memory_mb``, ``n_threads``) and the order of
    the result are those of :func:`top_k`.

    >>> factors = np.array([[1.0, 0.0], [3.0, 3.0], [0.0, 2.0], [0.0, 0.0]])
    >>> most_similar(factors, [0], 2)
    (array([[1, 2]], dtype=int32), array([[0.70710678, 0. ]]))
    """
    index = Index.of(factors, "factors")
    chosen = np.asarray(rows)
    if chosen.size == 0:
        chosen = np.empty(0, dtype=np.int64)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise TypeError("rows must be a list or array of integer row indices of factors.")
    size = index.shape[0]
    outside = chosen[(chosen < 0) | (chosen >= size)]
    if len(outside):
        raise ValueError(f"rows names row {outside[0]}, but factors has {size} rows: indices go from 0 to {size - 1}.")
    return cosines_of([(1.0, index.unit)], chosen).nearest(chosen, n, **options)


def cosines_of(vectors: UnitVectors, rows: NDArray[Any]) -> Scores:
    """Cosines of a few rows with all rows.

    >>> both = [(1.0, SparseVectors(sp.csr_array(np.eye(2)))), (3.0, Index.of(np.ones((2, 1))).unit)]
    >>> cosines_of(both, np.array([0])).dense(1).tolist()
    [[1.0, 0.75]]
    """
    total = sum(weight for weight, _ in vectors)
    dense = [(weight, unit) for weight, unit in vectors if isinstance(unit, Index)][:1]
    if len(vectors) == len(dense):
        ((_, index),) = dense
        return Scores.of_index(index.rows(rows), index)
    others = [one for one in vectors if not (dense and one[1] is dense[0][1])]
    dtype = np.result_type(*(unit.dtype for _, unit in vectors))

    def fill(start: int, stop: int, out: Array) -> None:
        out[:] = 0
        for weight, unit in others:
            part = np.empty(out.shape, unit.dtype)
            if isinstance(unit, Index):
                unit.products(unit.rows(rows[start:stop]), part)
            else:
                unit.products(rows[start:stop], part)
            out += dtype.type(weight / total) * part

    size = vectors[0][1].shape[0]
    if not dense:
        return Scores(len(rows), size, dtype, fill)
    ((weight, index),) = dense
    left = index.rows(rows) * index.dtype.type(weight / total)
    return Scores(len(rows), size, dtype, fill, left.astype(dtype), index.as_type(dtype))
