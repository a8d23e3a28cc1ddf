"""Offsets of rows, columns or both that nothing penalises, at observed entries: least squares takes them off.

    min_{b, c} ½‖P_Ω(E + b1ᵀ + 1cᵀ)‖² = ½‖Π E‖²,     Π E: E less its means over Ω, of rows, of columns, or of both

Π is a projection, so a loss with free offsets has the residual Π E in the place of E and the same steps. With both
kinds b and c are found in turn, to rounding. Over pairs,

    Σ_{p<q ∈ Ω_i} (e_p − e_q)² = |Ω_i| ‖(Π E)_i‖²

so offsets of rows are the loss over all pairs of observed columns of a row, each row's divided by |Ω_i|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.data.observed import Observed
from everypair.types import Array64

KINDS = ("rows", "columns", "both")
ROUNDS = 500
ENOUGH = 1e-12  # relative size of what a round takes off, at which both kinds are found


@dataclass(frozen=True)
class Centring:
    """Π over the entries of ``pattern``.

    >>> pattern = Observed.from_matrix([[1.0, 3.0], [np.nan, 5.0]])
    >>> Centring(pattern, "rows")(pattern.values).tolist()
    [-1.0, 1.0, 0.0]
    """

    pattern: Observed
    kind: str

    def turned(self, pattern: Observed) -> Centring:
        """Π of the transposed matrix, whose ``pattern`` is given."""
        return Centring(pattern, {"rows": "columns", "columns": "rows", "both": "both"}[self.kind])

    def __call__(self, values: Array64) -> Array64:
        """Π E, row-major."""
        rows, columns = self.offsets(values)
        return np.asarray(values - rows[self.pattern.rows] - columns[self.pattern.indices])

    def offsets(self, values: Array64) -> tuple[Array64, Array64]:
        """What is taken off rows and columns; 0 where nothing is observed."""
        n, m = self.pattern.shape
        rows, columns, rest = np.zeros(n), np.zeros(m), values
        size = float(np.linalg.norm(values))
        for _ in range(ROUNDS):
            if self.kind != "columns":
                means = _means(self.pattern.rows, rest, n)
                rows, rest = rows + means, rest - means[self.pattern.rows]
            if self.kind == "rows":
                break
            means = _means(self.pattern.indices, rest, m)
            columns, moved = columns + means, means[self.pattern.indices]
            rest = rest - moved
            if self.kind == "columns" or float(np.linalg.norm(moved)) <= ENOUGH * size:
                break
        return rows, columns


def _means(index: Array64, values: Array64, size: int) -> Array64:
    counts = np.bincount(index, minlength=size)
    return np.asarray(np.bincount(index, values, minlength=size) / np.maximum(counts, 1))
