"""Degree weights on stored pairs: c_ij ← c_ij · s · (d_i d_j)^−γ with the degrees d of a pair's row and column.

Active users and popular items have many pairs, each of which says less. s makes the mean factor over all stored
training pairs 1, so that ridge and negative weight keep their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.check import is_number
from everypair.data.pairs import Compressed, Pairs
from everypair.data.rows import StoredRows
from everypair.parallel import block_sums
from everypair.types import Array


@dataclass(frozen=True)
class DegreeWeighting:
    """The exponent γ and the scale s; build it with :meth:`of`.

    >>> pairs = Pairs.from_matrix([[1, 1], [1, 0]])
    >>> weighting = DegreeWeighting.of(("degree", 0.5), pairs)
    >>> weighting.weighted(pairs).rows.weights.round(3)
    array([0.784, 1.108, 1.108], dtype=float32)
    """

    exponent: float
    scale: float

    @classmethod
    def of(cls, weighting: Any, pairs: Pairs) -> DegreeWeighting | None:
        """Check ``None`` or ``("degree", γ)`` and find the scale for training pairs."""
        exponent = degree_exponent(weighting)
        if exponent is None:
            return None
        total = block_sums(cls(exponent, 1.0).row_sums(pairs.rows, np.diff(pairs.columns.indptr)))
        return cls(exponent, pairs.nnz / total)

    def weighted(self, pairs: Pairs) -> Pairs:
        """The same pairs with their weights multiplied."""
        rows = self.weighted_run(pairs.rows, np.diff(pairs.columns.indptr))
        columns = Compressed(pairs.columns.indptr, pairs.columns.indices, pairs.by_columns(rows.weights))
        return replace(pairs, rows=rows, columns=columns)

    def weighted_run(self, stored: Compressed, degrees: Array) -> Compressed:
        """The stored pairs of some rows, or of some columns, multiplied; ``degrees`` are those of the other side."""
        weights = (stored.weights * self._of_run(stored, degrees)).astype(stored.weights.dtype)
        return Compressed(stored.indptr, stored.indices, weights)

    def row_sums(self, stored: Compressed, degrees: Array) -> Array:
        """The sum of the factors of every row's pairs."""
        shape = len(stored.indptr) - 1, len(degrees)
        factors = sp.csr_array((self._of_run(stored, degrees), stored.indices, stored.indptr), shape)
        return np.asarray(factors @ np.ones(len(degrees)))

    def weighted_rows(self, rows: StoredRows, degrees: Array) -> StoredRows:
        """Rows of signed weights multiplied; ``degrees`` are those of their columns, an empty one counts as 1."""
        own = np.repeat(np.diff(rows.indptr), np.diff(rows.indptr))
        factors = self._factors(own, degrees[rows.indices])
        return rows.with_data((rows.data * factors).astype(rows.dtype))

    def _of_run(self, stored: Compressed, degrees: Array) -> Array:
        lengths = np.diff(stored.indptr)
        return self._factors(np.repeat(lengths, lengths), degrees[stored.indices])

    def _factors(self, left: Array, right: Array) -> Array:
        return self.scale * (left.astype(np.float64) * np.maximum(right, 1)) ** -self.exponent


def degree_exponent(weighting: Any) -> float | None:
    """Check ``None`` or ``("degree", γ)`` and return γ.

    >>> degree_exponent(("degree", 0.25))
    0.25
    """
    if weighting is None:
        return None
    if not (isinstance(weighting, tuple | list) and len(weighting) == 2 and weighting[0] == "degree"):
        raise ValueError(f'weighting must be None or ("degree", γ), got {weighting!r}.')
    exponent = weighting[1]
    if not is_number(exponent) or not 0 <= exponent < np.inf:
        raise ValueError(f'("degree", γ) needs a finite number γ ≥ 0, got {exponent!r}.')
    return float(exponent)
