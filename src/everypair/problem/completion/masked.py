"""Completion that counts observed entries only: ½ Σ_Ω (M_ij + (A N Cᵀ)_ij − y_ij)², at the cost of Ω."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.data.observed import Observed
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.low_rank import LowRank, SparsePlusLowRank, entries_of, largest_singular_value
from everypair.types import Array64


@dataclass(frozen=True)
class MaskedProblem:
    """Observed values and the side information X = A N Cᵀ (``side``)."""

    observed: Observed
    side: Bilinear
    n_threads: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        return self.observed.shape

    def residual(self, low_rank: LowRank | None, weights: Array64 | None) -> Array64:
        """M + X − Y at the observed entries, row-major."""
        left, right = [], []
        if low_rank is not None and low_rank.rank:
            left.append(low_rank.scaled)
            right.append(low_rank.right)
        if weights is not None:
            P, Q = self.side.factors(weights)
            left.append(P)
            right.append(Q)
        if not left:
            return -self.observed.values
        return entries_of(self.observed, np.hstack(left), np.hstack(right), self.n_threads) - self.observed.values

    def moved(self, low_rank: LowRank, step: float, residual: Array64) -> SparsePlusLowRank:
        """M − step · P_Ω(residual)."""
        return SparsePlusLowRank(self.observed, -step * residual, low_rank.scaled, low_rank.right, self.n_threads)

    def slope(self, residual: Array64) -> Array64:
        """AᵀP_Ω(residual)C."""
        return self.side.project_sparse(self.observed, residual, self.n_threads)

    def strongest(self) -> tuple[float, float]:
        """The λ1 and λ2 from which on M and N are zero (each while the other is)."""
        nothing = LowRank.zero(self.shape)
        nuclear = largest_singular_value(self.moved(nothing, 1.0, -self.observed.values))
        return nuclear, 0.0 if self.side.absent else float(np.abs(self.slope(self.observed.values)).max())
