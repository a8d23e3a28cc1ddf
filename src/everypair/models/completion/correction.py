"""From scores that only rank to values: y ≈ o_i + s_i · score, per row, learnt at observed entries, within their range.

A ranking loss knows neither where a row lies nor how wide it spreads. Within rows, least squares gives one scale s̄ for
all; a row's own scale and offset lean towards what is typical by as much as ``PRIOR`` more observations would:

    s_i = (Σ_j x̃ỹ + K v s̄) / (Σ_j x̃² + K v)        x̃, ỹ: score and value less the row's means, v: mean x̃² of all
    o_i = (Σ_j (y − s_i x) + K ō) / (n_i + K)          ō: mean of y − s_i x over all entries

Scales are never negative, so no correction turns a ranking around.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from everypair.data.observed import Observed
from everypair.models.codec import storable
from everypair.types import Array64

KINDS = ("offset", "offset-scale")
PRIOR = 5.0


@storable
@dataclass(frozen=True)
class Correction:
    """Offsets and scales of every row (``by_column``: column), typical ones for new entities, and the range."""

    by_column: bool
    offset: Array64
    scale: Array64
    typical_offset: float
    typical_scale: float
    low: float
    high: float

    @classmethod
    def learn(cls, kind: str, observed: Observed, scores: Array64, by_column: bool = False) -> Correction:
        """Fit to the observed values; ``scores`` are those of the same entries, row-major."""
        if by_column:
            observed, scores = observed.transposed, observed.transpose_values(scores)
        rows, y, n = observed.rows, observed.values, observed.shape[0]
        counts = np.diff(observed.indptr)
        typical = 1.0
        scale = np.ones(n)
        if kind == "offset-scale":
            around, spread = (v - _means(rows, v, counts)[rows] for v in (scores, y))
            square, together = float(around @ around), float(around @ spread)
            typical = max(together / square, 0.0) if square > 0 else 0.0
            unit = PRIOR * square / max(1, observed.nnz)
            own = np.bincount(rows, around**2, minlength=n) + unit
            slope = np.bincount(rows, around * spread, minlength=n) + unit * typical
            scale = np.maximum(np.divide(slope, own, out=np.zeros(n), where=own > 0), 0.0)
        rest = y - scale[rows] * scores
        middle = float(rest.mean())
        offset = (np.bincount(rows, rest, minlength=n) + PRIOR * middle) / (counts + PRIOR)
        return cls(by_column, offset, scale, middle, typical, float(y.min()), float(y.max()))

    def factors(self, left: Array64, right: Array64, rows: Any, columns: Any) -> tuple[Array64, Array64]:
        """Scores' factors → values' factors; ``rows`` and ``columns`` are positions, or ``None`` for new entities."""
        own, other, entities = (right, left, columns) if self.by_column else (left, right, rows)
        if entities is None:
            offset, scale = np.full(len(own), self.typical_offset), np.full(len(own), self.typical_scale)
        else:
            offset, scale = self.offset[entities], self.scale[entities]
        own, other = np.column_stack([own * scale[:, None], offset]), np.column_stack([other, np.ones(len(other))])
        return (other, own) if self.by_column else (own, other)

    def clip(self, values: Array64) -> Array64:
        """Values within the observed range."""
        return np.clip(values, self.low, self.high)


def _means(rows: Array64, values: Array64, counts: Array64) -> Array64:
    return np.bincount(rows, values, minlength=len(counts)) / np.maximum(counts, 1)
