"""Factors of items as a search reads them, with the numbers beside them that no question changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.norms import row_lengths
from everypair.kernels.product_rows import score_tile
from everypair.kernels.writable import writable_view
from everypair.parallel import even_chunks
from everypair.retrieve.filters import FEW_ROWS
from everypair.retrieve.rounded import RoundedFactors
from everypair.types import Array

CHECKED_ROWS = 4096  # at once
ROUNDED_FROM = 2**22  # bytes of factors: what is read of fewer takes no longer than all else
SEARCHES_BEFORE = 50  # which take as long without bytes as making them
SAFE_LENGTHS = (1e-30, 1e30)  # whose products and inverses stay in range in float32


@dataclass(frozen=True, eq=False)
class Index:
    """Factors v_j of items (n × k), and a ``scale`` ≥ 0 of every score s_j = (u · v_j) scale_j, if there is one.

    What else a search needs, n numbers each, is made at first use; ``plain`` is the index of the same factors without a
    scale.

    >>> index = Index.of(np.array([[3.0, 4.0], [0.0, 0.0]]))
    >>> index.lengths.tolist(), index.unit.scale.tolist(), index.unit.rows(np.array([0])).tolist()
    ([5.0, 0.0], [0.2, 0.0], [[0.6000000000000001, 0.8]])
    """

    factors: Array
    scale: Array | None = None
    plain: Index | None = None
    _searches: Iterator[int] = field(default_factory=count, repr=False)

    @classmethod
    def of(cls, factors: Any, name: str = "right") -> Index:
        """Check the factors of items: a matrix of finite numbers, float32 or float64."""
        return cls.of_finite(finite_matrix(factors, name))

    @classmethod
    def of_finite(cls, factors: Array) -> Index:
        """An index of factors that were looked at before: nothing of them is read."""
        return cls(writable_view(np.ascontiguousarray(factors)))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of items and of factors."""
        rows, columns = self.factors.shape
        return rows, columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of scores."""
        return self.factors.dtype

    @cached_property
    def lengths(self) -> Array:
        """‖v_j‖ of every item."""
        if self.plain is not None:
            return self.plain.lengths
        out = np.empty(len(self.factors), self.dtype)
        row_lengths(self.factors, out)
        return out

    @cached_property
    def reach(self) -> float:
        """max_j ‖v_j‖ scale_j: no score is greater than this times ‖u‖."""
        lengths = self.lengths.astype(np.float64)
        return float((lengths if self.scale is None else lengths * np.abs(self.scale)).max(initial=0.0))

    @cached_property
    def unit(self) -> Index:
        """Vectors of length 1 (0 for an item at the origin), as a scale where lengths allow, else as other factors."""
        lengths = self.lengths
        there = lengths > 0
        least, most = SAFE_LENGTHS
        if lengths.min(where=there, initial=1) >= least and lengths.max(initial=1) <= most:
            return Index(self.factors, np.divide(1, lengths, out=np.zeros_like(lengths), where=there), self)
        return Index(unit_rows(self.factors))

    @cached_property
    def rounded(self) -> RoundedFactors | None:
        """The factors in bytes, where they are so many that reading them takes longer than bounding their scores."""
        if self.factors.nbytes < ROUNDED_FROM:
            return None
        if self.plain is None:
            return RoundedFactors.of(self.factors, self.lengths)
        plain = self.plain.rounded
        return None if plain is None else plain.reaching(self.lengths, self.scale)

    def rounded_by_now(self, rows: int) -> RoundedFactors | None:
        """The same for a search of so many rows, if it is there, or once so many of few rows have come that it pays."""
        there = "rounded" in self.__dict__ or (rows <= FEW_ROWS and next(self._searches) >= SEARCHES_BEFORE)
        return self.rounded if there else None

    @cached_property
    def every_item(self) -> NDArray[np.int32]:
        """0, 1, …: the columns of a search among all items."""
        return np.arange(len(self.factors), dtype=np.int32)

    def products(self, left: Array, out: Array) -> None:
        """Write the scores of a few rows for all items; a row's have the same bits whatever rows stand beside it."""
        score_tile(left, 0, len(left), self.factors, self.every_item, 0, len(self.factors), out)
        if self.scale is not None:
            out *= self.scale

    def as_type(self, dtype: Any) -> Index:
        """The same in another precision."""
        if dtype == self.dtype:
            return self
        return Index(self.factors.astype(dtype), None if self.scale is None else self.scale.astype(dtype))

    def rows(self, positions: Any) -> Array:
        """Factors of some items, times their scale."""
        rows = self.factors[positions]
        return rows if self.scale is None else rows * self.scale[positions, None]


def unit_rows(factors: Array) -> Array:
    """Scale rows to length 1; zero rows stay zero.

    Dividing by the peak first keeps squares in range.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    peak = np.abs(factors).max(axis=1, keepdims=True)
    unit = np.divide(factors, peak, out=np.zeros_like(factors), where=peak > 0)
    length = np.sqrt(np.einsum("ij,ij->i", unit, unit))[:, None]
    return np.divide(unit, length, out=unit, where=length > 0)


def finite_matrix(factors: Any, name: str) -> Array:
    """Return the factors as a C-ordered float32 or float64 matrix; refuse anything else and NaN.

    >>> finite_matrix(np.eye(2), "left").flags.c_contiguous
    True
    """
    matrix = np.ascontiguousarray(factors)
    if matrix.ndim != 2 or np.ndim(factors) != 2 or matrix.shape[1] == 0:
        raise ValueError(f"{name} must be a matrix of factors, one row each, got shape {np.shape(factors)}.")
    if matrix.dtype not in (np.float32, np.float64):
        raise TypeError(f"{name} must be float32 or float64, got {matrix.dtype}; convert it with astype.")
    if len(matrix) > np.iinfo(np.int32).max:
        raise ValueError(f"{name} has {len(matrix)} rows; at most {np.iinfo(np.int32).max} can be numbered.")
    check_finite(matrix, name)
    return matrix


def check_finite(matrix: Array, name: str) -> None:
    """Refuse NaN and infinite factors, in one pass over all of them."""
    for start, stop in even_chunks(len(matrix), CHECKED_ROWS):
        if not np.isfinite(matrix[start:stop]).all():
            raise ValueError(f"{name} holds NaN or infinite factors; fit the model again with a larger reg.")
