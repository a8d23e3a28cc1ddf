"""What rows and columns of a matrix say by themselves: y_ij ≈ r_i + c_j + σ_i τ_j · (what is learnt).

a mean          r = 0, c_j = ȳ                       where both sides have features
column means    c_j = (Σ_i y_ij + 2ȳ)/(n_j + 2)      of two values: τ_j their deviation, √((c_j − low)(high − c_j))
both            c_j = Σ_i (y_ij − ȳ − r_i)/(n_j + 5), r_i = Σ_j (y_ij − ȳ − c_j)/(n_i + 10), in turn; ȳ goes to c
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from everypair.data.observed import Observed
from everypair.models.codec import storable
from everypair.types import Array64

PRIOR = 2.0
ROW_PRIOR, COLUMN_PRIOR = 10.0, 5.0
ROUNDS = 15
LEAST_SHARE = 0.01  # deviation of a column in units of high − low


@storable
@dataclass(frozen=True)
class Offsets:
    """r, c, σ and τ; a new row or column has what is usual."""

    rows: Array64
    columns: Array64
    row_scale: Array64
    column_scale: Array64

    @classmethod
    def mean(cls, observed: Observed) -> Offsets:
        """The mean of all."""
        n, m = observed.shape
        return cls(np.zeros(n), np.full(m, float(observed.values.mean())), np.ones(n), np.ones(m))

    @classmethod
    def of_columns(cls, observed: Observed) -> Offsets:
        """Shrunk means of columns of two values, and their deviations.

        >>> observed = Observed.from_matrix([[1.0, 0.0], [0.0, 0.0], [1.0, np.nan]])
        >>> Offsets.of_columns(observed).columns.round(3).tolist()
        [0.56, 0.2]
        """
        n, m = observed.shape
        low, high = float(observed.values.min()), float(observed.values.max())
        counts, sums = _sums(observed.indices, observed.values, m)
        means = (sums + PRIOR * observed.values.mean()) / (counts + PRIOR)
        spread = np.sqrt(np.maximum((means - low) * (high - means), (LEAST_SHARE * (high - low)) ** 2))
        return cls(np.zeros(n), means, np.ones(n), spread)

    @classmethod
    def of_both(cls, observed: Observed) -> Offsets:
        """Biases of rows and columns, by a ridge regression.

        >>> Offsets.of_both(Observed.from_matrix([[1.0, 3.0], [1.0, 3.0]])).columns.round(3).tolist()
        [1.714, 2.286]
        """
        n, m = observed.shape
        middle = float(observed.values.mean())
        rows, columns, rest = np.zeros(n), np.zeros(m), observed.values - middle
        for _ in range(ROUNDS):
            counts, sums = _sums(observed.indices, rest - rows[observed.rows], m)
            columns = sums / (counts + COLUMN_PRIOR)
            counts, sums = _sums(observed.rows, rest - columns[observed.indices], n)
            rows = sums / (counts + ROW_PRIOR)
        return cls(rows, columns + middle, np.ones(n), np.ones(m))

    @property
    def transposed(self) -> Offsets:
        """Those of the transposed matrix."""
        return Offsets(self.columns, self.rows, self.column_scale, self.row_scale)

    def residual(self, observed: Observed) -> Array64:
        """(y_ij − r_i − c_j)/(σ_i τ_j) at the entries, row-major."""
        i, j = observed.rows, observed.indices
        return np.asarray((observed.values - self.rows[i] - self.columns[j]) / self.scales(observed))

    def scales(self, observed: Observed) -> Array64:
        """σ_i τ_j at the entries."""
        return np.asarray(self.row_scale[observed.rows] * self.column_scale[observed.indices])

    def values(self, residual: Array64, new_rows: bool = False, new_columns: bool = False) -> Array64:
        """r_i + c_j + σ_i τ_j · residual_ij, of the whole matrix or of new rows or columns."""
        r, sigma = _usual(self.rows, self.row_scale, new_rows)
        c, tau = _usual(self.columns, self.column_scale, new_columns)
        return np.asarray(r[:, None] + c + sigma[:, None] * tau * residual)


def _usual(offset: Array64, scale: Array64, new: bool) -> tuple[Any, Any]:
    return (offset.mean(keepdims=True), scale.mean(keepdims=True)) if new else (offset, scale)


def _sums(index: Array64, values: Array64, size: int) -> tuple[Array64, Array64]:
    counts, sums = np.bincount(index, minlength=size), np.bincount(index, values, minlength=size)
    return counts.astype(np.float64), sums.astype(np.float64)
