"""Completion that counts observed entries only: ½ Σ_Ω (M_ij + (A N Cᵀ)_ij − y_ij)², at the cost of Ω."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from everypair.data.observed import Observed
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.centring import Centring
from everypair.problem.completion.low_rank import LowRank, SparsePlusLowRank, entries_of, largest_singular_value
from everypair.types import Array64


@dataclass(frozen=True)
class MaskedProblem:
    """Observed values, the side information X = A N Cᵀ (``side``), and Π where offsets are free."""

    observed: Observed
    side: Bilinear
    n_threads: int = 1
    centring: Centring | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        return self.observed.shape

    @property
    def transposed(self) -> MaskedProblem:
        """The same with rows and columns exchanged, without side information."""
        observed = self.observed.transposed
        centring = None if self.centring is None else self.centring.turned(observed)
        return MaskedProblem(observed, Bilinear(observed.shape, None, None), self.n_threads, centring)

    @cached_property
    def target(self) -> Array64:
        """Π Y at the observed entries."""
        return self.centred(self.observed.values)

    def centred(self, values: Array64) -> Array64:
        """Π of values at the observed entries, row-major."""
        return values if self.centring is None else self.centring(values)

    def residual(self, low_rank: LowRank | None, weights: Array64 | None) -> Array64:
        """Π(M + X − Y) at the observed entries, row-major."""
        left, right = [], []
        if low_rank is not None and low_rank.rank:
            left.append(low_rank.scaled)
            right.append(low_rank.right)
        if weights is not None:
            P, Q = self.side.factors(weights)
            left.append(P)
            right.append(Q)
        if not left:
            return -self.target
        return self.of_factors(np.hstack(left), np.hstack(right))

    def of_factors(self, left: Array64, right: Array64) -> Array64:
        """Π(P Qᵀ − Y) at the observed entries."""
        return self.centred(entries_of(self.observed, left, right, self.n_threads)) - self.target

    def moved(self, low_rank: LowRank, step: float, residual: Array64) -> SparsePlusLowRank:
        """M − step · P_Ω(residual)."""
        return SparsePlusLowRank(self.observed, -step * residual, low_rank.scaled, low_rank.right, self.n_threads)

    def slope(self, residual: Array64) -> Array64:
        """AᵀP_Ω(residual)C."""
        return self.side.project_sparse(self.observed, residual, self.n_threads)

    def strongest(self) -> tuple[float, float]:
        """The λ1 and λ2 from which on M and N are zero (each while the other is)."""
        nothing = LowRank.zero(self.shape)
        nuclear = largest_singular_value(self.moved(nothing, 1.0, -self.target))
        return nuclear, 0.0 if self.side.absent else float(np.abs(self.slope(self.target)).max())
