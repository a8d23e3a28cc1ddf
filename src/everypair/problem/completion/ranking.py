"""Completion by ranking loss (MLRM): every row's column pairs, without building pairs.

Y₀ (n × m) is zero where nothing was observed, 𝓛 ∈ {−1, 0, 1}^{m × m(m−1)/2} has a column e_p − e_q for every pair
p < q. The paper's objective, with R = Y₀𝓛, B = 𝓛ᵀC and M = M̃𝓛,

    F = λ1‖M‖_* + λ2‖N‖₁ + ½‖M + A N Bᵀ − R‖²

depends on pairs only through 𝓛𝓛ᵀ = mI − 11ᵀ = mΠ, so that for M̃ = M̃Π

    F = m ( t‖M̃‖_* + s‖N‖₁ + ½‖M̃ + A N CᵀΠ − Y₀Π‖² ),     t = λ1/√m,  s = λ2/m

and the algorithm runs on n × m matrices, exactly. Y₀Π is "sparse + rank one". The completed scores are M̃ + A N CᵀΠ:
the exact pseudo-inverse of 𝓛 is 𝓛ᵀ/m (the paper divides by m − 1, which ranks the same).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from everypair.data.observed import Observed
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.low_rank import LowRank, SparsePlusLowRank, largest_singular_value, sparse_product
from everypair.types import Array64


@dataclass(frozen=True)
class RankingProblem:
    """T = Y₀Π and the side information X = A N CᵀΠ (``side``), with everything that a step needs, in factors."""

    observed: Observed
    side: Bilinear
    n_threads: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        return self.observed.shape

    @property
    def columns(self) -> int:
        """m: what turns sums over column pairs into sums over columns."""
        return self.shape[1]

    @cached_property
    def row_means(self) -> Array64:
        """Y₀1/m."""
        return np.bincount(self.observed.rows, self.observed.values, minlength=self.shape[0]) / self.columns

    @cached_property
    def square(self) -> float:
        """‖T‖²."""
        return float(self.observed.values @ self.observed.values - self.columns * self.row_means @ self.row_means)

    @cached_property
    def projected(self) -> Array64:
        """AᵀTC: the part of the gradient that never changes."""
        return self.side.project_sparse(self.observed, self.observed.values, self.n_threads)

    def combine(
        self,
        share: float,
        of_side: float = 0.0,
        weights: Array64 | None = None,
        of_low_rank: float = 0.0,
        low_rank: LowRank | None = None,
    ) -> SparsePlusLowRank:
        """share·T + of_side·X + of_low_rank·M as "sparse + low rank"."""
        left, right = [-share * self.row_means[:, None]], [np.ones((self.columns, 1))]
        if weights is not None:
            P, Q = self.side.factors(weights)
            left.append(of_side * P)
            right.append(Q)
        if low_rank is not None:
            left.append(of_low_rank * low_rank.scaled)
            right.append(low_rank.right)
        values = share * self.observed.values
        return SparsePlusLowRank(self.observed, values, np.hstack(left), np.hstack(right), self.n_threads)

    def with_target(self, low_rank: LowRank) -> float:
        """⟨M, T⟩, for an M whose rows sum to zero."""
        image = sparse_product(self.observed, self.observed.values, low_rank.right, self.n_threads)
        return float(np.sum(low_rank.scaled * image))

    def with_side(self, low_rank: LowRank, weights: Array64) -> float:
        """⟨M, X⟩."""
        P, Q = self.side.factors(weights)
        return float(np.sum((P.T @ low_rank.scaled) * (Q.T @ low_rank.right)))

    def side_square(self, weights: Array64) -> float:
        """‖X‖²."""
        return float(np.sum(weights * self.side.curve(weights)))

    def fit(self, low_rank: LowRank, weights: Array64 | None) -> float:
        """½‖M + X − T‖²."""
        value = low_rank.square + self.square - 2 * self.with_target(low_rank)
        if weights is not None:
            value += self.side_square(weights) + 2 * self.with_side(low_rank, weights)
            value -= 2 * float(np.sum(weights * self.projected))
        return 0.5 * max(value, 0.0)

    def strongest(self) -> tuple[float, float]:
        """The λ1 and λ2 from which on M and N are zero (each while the other is)."""
        nuclear = np.sqrt(self.columns) * largest_singular_value(self.combine(1.0))
        return float(nuclear), 0.0 if self.side.absent else float(self.columns * np.abs(self.projected).max())
