"""Levels of rows and columns beside a low-rank matrix: values = scores + b_i + c_j, as one more pair of factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from everypair.data.observed import Observed
from everypair.models.codec import storable
from everypair.types import Array64


@storable
@dataclass(frozen=True)
class Levels:
    """b and c; those of which nothing was observed, and new ones, have the mean of the others."""

    rows: Array64
    columns: Array64
    usual_row: float
    usual_column: float

    @classmethod
    def of(cls, observed: Observed, rows: Array64, columns: Array64) -> Self:
        """Levels at observed rows and columns.

        >>> levels = Levels.of(Observed.from_matrix([[1.0, np.nan], [3.0, np.nan]]), np.array([1.0, 3.0]), np.zeros(2))
        >>> levels.usual_row, levels.columns.tolist()
        (2.0, [0.0, 0.0])
        """
        (b, row), (c, column) = (_filled(values, index) for values, index in (
            (rows, observed.rows), (columns, observed.indices)))  # fmt: skip
        return cls(b, c, row, column)

    def factors(self, left: Array64, right: Array64, rows: Any, columns: Any) -> tuple[Array64, Array64]:
        """Factors of the values; ``rows`` and ``columns`` are positions, or ``None`` for new entities."""
        b = np.full(len(left), self.usual_row) if rows is None else self.rows[rows]
        c = np.full(len(right), self.usual_column) if columns is None else self.columns[columns]
        return np.column_stack([left, b, np.ones(len(left))]), np.column_stack([right, np.ones(len(right)), c])


def _filled(values: Array64, index: Array64) -> tuple[Array64, float]:
    seen = np.bincount(index, minlength=len(values)) > 0
    usual = float(values[seen].mean())
    return np.where(seen, values, usual), usual
