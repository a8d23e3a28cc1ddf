"""The observed entries Ω of a matrix to complete: y_ij for (i, j) ∈ Ω, row-major and column-major.

Zero is a value like any other here: what is unknown is what is not in Ω.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import as_csr
from everypair.parallel import Chunk, balanced_chunks
from everypair.types import Array


@dataclass(frozen=True)
class Observed:
    """Observed entries of an n × m matrix: row i has the columns ``indices[indptr[i]:indptr[i + 1]]``, ascending.

    ``values`` are float64, in row-major order. Memory: |Ω|·(8 + 4 + 8 + 4) bytes with the column-major view.

    >>> nan = float("nan")
    >>> observed = Observed.from_matrix([[1.0, nan, 0.0], [nan, nan, 2.0]])
    >>> observed.nnz, observed.values.tolist(), observed.indices.tolist()
    (3, [1.0, 0.0, 2.0], [0, 2, 2])
    """

    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    indices: Array
    values: NDArray[np.float64]

    @classmethod
    def from_matrix(cls, Y: Any, mask: Any = None, name: str = "Y") -> Observed:
        """Read a matrix in any of its forms and refuse one without an observed entry.

        Dense: NaN is unknown, or ``mask`` is True where an entry is observed. Sparse: the stored entries are observed,
        explicit zeros included; with a mask its True entries are, and what is not stored there is 0.

        >>> Observed.from_matrix(sp.csr_array([[1, 0], [0, 2]]), mask=[[1, 1], [0, 0]]).values.tolist()
        [1.0, 0.0]
        """
        if sp.issparse(Y):
            matrix, stored = as_csr(Y, np.float64, name)
            if stored > matrix.nnz:
                raise ValueError(
                    f"{name} stores {stored - matrix.nnz} entries twice: an entry has one value, keep one."
                )
            if np.isnan(matrix.data).any():
                raise ValueError(f"a sparse {name} must not store NaN: leave unknown entries out.")
            pattern = matrix if mask is None else mask_pattern(mask, matrix.shape, name)
            values = matrix.data if mask is None else _values_at(matrix, pattern)
        else:
            dense = _checked_dense(Y, name)
            known = ~np.isnan(dense)
            if mask is not None:
                within = mask_pattern(mask, dense.shape, name).toarray() != 0
                if (within & ~known).any():
                    raise ValueError(f"{name} is NaN where the mask calls it observed: let the mask be False there.")
                known = within
            pattern = sp.csr_array(known)
            values = dense[known]
        if pattern.nnz == 0:
            raise ValueError(f"{name} has no observed entry: there is nothing to learn from.")
        if not np.isfinite(values).all():
            raise ValueError(f"{name} has infinite values: drop or replace them.")
        index = np.int32 if max(pattern.shape) <= np.iinfo(np.int32).max else np.int64
        shape = (int(pattern.shape[0]), int(pattern.shape[1]))
        return cls(shape, pattern.indptr.astype(np.int64), pattern.indices.astype(index), values.astype(np.float64))

    @property
    def nnz(self) -> int:
        """|Ω|."""
        return len(self.values)

    @cached_property
    def rows(self) -> Array:
        """The row of every entry."""
        return np.repeat(np.arange(self.shape[0], dtype=self.indices.dtype), np.diff(self.indptr))

    @cached_property
    def _by_column(self) -> tuple[NDArray[np.int64], Array, Array]:
        """indptr and rows of the column-major order, and the row-major position of each of its entries."""
        order = np.argsort(self.indices, kind="stable")
        counts = np.bincount(self.indices, minlength=self.shape[1])
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        position = np.int32 if self.nnz <= np.iinfo(np.int32).max else np.int64
        return indptr, self.rows[order], order.astype(position)

    @cached_property
    def chunks(self) -> list[Chunk]:
        """How rows are shared out among threads."""
        return balanced_chunks(self.indptr)

    @cached_property
    def transposed(self) -> Observed:
        """The same entries with rows and columns exchanged."""
        indptr, rows, order = self._by_column
        return Observed((self.shape[1], self.shape[0]), indptr, rows, self.values[order])

    def transpose_values(self, values: Array) -> Array:
        """Values in row-major order → in the order of :attr:`transposed`."""
        return values[self._by_column[2]]

    def with_values(self, values: Array) -> Observed:
        """The same entries with other values."""
        return Observed(self.shape, self.indptr, self.indices, np.asarray(values, np.float64))

    def take(self, chosen: NDArray[np.bool_]) -> Observed:
        """Some of the entries, told by a boolean of each in row-major order."""
        kept = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int64)
        return Observed(self.shape, kept[self.indptr], self.indices[chosen], self.values[chosen])

    def to_csr(self) -> Any:
        """The entries as a csr array; observed zeros are stored."""
        return sp.csr_array((self.values, self.indices, self.indptr.astype(self.indices.dtype)), shape=self.shape)

    def to_dense(self) -> NDArray[np.float64]:
        """The zero-filled matrix."""
        dense = np.zeros(self.shape)
        dense[self.rows, self.indices] = self.values
        return dense

    @cached_property
    def levels(self) -> tuple[float, float] | None:
        """The two values of binary data, the smaller first; ``None`` where there are more (or one only)."""
        low, high = float(self.values.min()), float(self.values.max())
        binary = low < high and bool(np.all((self.values == low) | (self.values == high)))
        return (low, high) if binary else None

    def row_means(self) -> NDArray[np.float64]:
        """Mean of each row's observed values; rows without any have the mean of all."""
        counts = np.diff(self.indptr)
        sums = np.bincount(self.rows, self.values, minlength=self.shape[0])
        return np.where(counts > 0, sums / np.maximum(counts, 1), self.values.mean())


def _checked_dense(Y: Any, name: str) -> NDArray[np.float64]:
    dense = np.asarray(Y)
    if dense.ndim != 2 or 0 in dense.shape:
        raise ValueError(f"{name} must be a matrix (rows × columns) with at least one entry, got shape {dense.shape}.")
    if dense.dtype.kind not in "buif":
        raise TypeError(f"{name} must hold numbers (NaN where unknown), got dtype {dense.dtype}.")
    return dense.astype(np.float64)


def mask_pattern(mask: Any, shape: tuple[int, int], name: str) -> Any:
    """Return the entries of ``name`` that a mask calls observed, as True (csr).

    >>> mask_pattern([[1, 0], [0, 0]], (2, 2), "Y").nnz
    1
    """
    matrix = mask if sp.issparse(mask) else np.asarray(mask)
    if matrix.shape != shape:
        raise ValueError(f"mask must have the shape of {name}, {shape}, got {matrix.shape}.")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"mask must hold booleans, True where {name} is known, got dtype {matrix.dtype}.")
    pattern = sp.csr_array(matrix.astype(bool))
    pattern.sum_duplicates()
    pattern.eliminate_zeros()
    return pattern


def _values_at(matrix: Any, pattern: Any) -> NDArray[np.float64]:
    """The values of ``matrix`` at the stored places of ``pattern``, 0 where it stores none."""
    values = np.zeros(pattern.nnz)
    width = np.int64(matrix.shape[1])
    places, wanted = (
        np.repeat(np.arange(m.shape[0]), np.diff(m.indptr)) * width + m.indices for m in (matrix, pattern)
    )
    found = np.searchsorted(wanted, places)
    inside = found < len(wanted)
    inside[inside] = wanted[found[inside]] == places[inside]
    values[found[inside]] = matrix.data[inside]
    return values
