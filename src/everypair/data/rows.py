"""Rows of a csr matrix as plain arrays: what an answer needs of a few users, without making a matrix of it.

row i has indices[indptr[i]:indptr[i + 1]], ascending, and data beside them
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.types import Array

MOST_CUT = 256  # rows that are cut out one by one


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Stored entries row by row, in ascending order of their columns, of which there are ``width``.

    >>> rows = StoredRows.taken(sp.csr_array(np.eye(3)), np.array([2, 0]))
    >>> rows.indptr.tolist(), rows.indices.tolist(), rows.shape
    ([0, 1, 2], [2, 0], (2, 3))
    """

    indptr: NDArray[np.int64]
    indices: Array
    data: Array
    width: int
    sound: bool = False  # whether the data were looked at: finite numbers, none of them 0

    @classmethod
    def of(cls, matrix: Any) -> StoredRows:
        """All rows of a csr matrix."""
        csr = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
        return cls(csr.indptr.astype(np.int64), csr.indices, csr.data, csr.shape[1])

    @classmethod
    def taken(cls, matrix: Any, positions: Array | None) -> StoredRows:
        """The rows of a csr matrix at ``positions``, all by default; of one row nothing is copied."""
        if positions is None:
            return cls.of(matrix)
        if len(positions) > MOST_CUT or not matrix.has_sorted_indices:
            return cls.of(sp.csr_array(matrix[positions]))
        if len(positions) == 1:
            start, stop = matrix.indptr[positions[0]], matrix.indptr[positions[0] + 1]
            own = slice(start, stop)
            return cls(np.array([0, stop - start], np.int64), matrix.indices[own], matrix.data[own], matrix.shape[1])
        starts, stops = matrix.indptr[positions], matrix.indptr[positions + 1]
        indptr = np.zeros(len(positions) + 1, np.int64)
        np.cumsum(stops - starts, out=indptr[1:])
        runs = [slice(start, stop) for start, stop in zip(starts.tolist(), stops.tolist())]
        indices, data = (
            np.concatenate([part[:0], *(part[run] for run in runs)]) for part in (matrix.indices, matrix.data)
        )
        return cls(indptr, indices, data, matrix.shape[1])

    @classmethod
    def of_lists(
        cls, lengths: list[int], columns: NDArray[np.int64], data: Array, width: int, sound: bool = False
    ) -> StoredRows:
        """Rows whose entries come one after the other in any order; what is at one place is added up.

        >>> StoredRows.of_lists([3], np.array([4, 1, 4]), np.array([1.0, 1.0, 2.0]), 5)
        StoredRows(indptr=array([0, 2]), indices=array([1, 4], dtype=int32), data=array([1., 3.]), width=5, sound=False)
        """
        if len(lengths) == 1:
            ends, rows = np.array([0, len(columns)], np.int64), None
            order = columns.argsort(kind="stable")
        else:
            ends = np.zeros(len(lengths) + 1, np.int64)
            np.cumsum(lengths, out=ends[1:])
            rows = np.repeat(np.arange(len(lengths)), lengths)
            order = np.lexsort((columns, rows))
        columns, data = columns[order], data[order]
        same = columns[1:] == columns[:-1]
        if rows is not None:
            same &= rows[1:] == rows[:-1]
        if same.any():
            first = np.flatnonzero(np.concatenate([[True], ~same]))
            columns, data = columns[first], np.add.reduceat(data, first)
            owners = np.zeros(len(first), np.int64) if rows is None else rows[first]
            ends = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(lengths)))])
        return cls(ends, columns.astype(np.int32 if width <= np.iinfo(np.int32).max else np.int64), data, width, sound)

    @classmethod
    def empty(cls, count: int, width: int, dtype: Any) -> StoredRows:
        """Rows without entries."""
        return cls(np.zeros(count + 1, np.int64), np.empty(0, np.int32), np.empty(0, dtype), width)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.indptr) - 1, self.width

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return len(self.indices)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of ``data``."""
        return self.data.dtype

    def with_data(self, data: Array) -> StoredRows:
        """Other numbers at the same places."""
        return StoredRows(self.indptr, self.indices, data, self.width)

    def tocsr(self) -> Any:
        """The same as a matrix.

        >>> StoredRows.of(sp.csr_array(np.eye(2))).tocsr().toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return sp.csr_array((self.data, self.indices, self.indptr), shape=self.shape)
