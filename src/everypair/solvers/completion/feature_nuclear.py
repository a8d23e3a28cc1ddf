"""FNNM, Algorithm 2 (Yang, Li & Wang): proximal gradient steps of M and N in turn, over observed entries.

    min λ1‖M‖_* + λ2‖N‖₁ + ½‖P_Ω(M + A N Cᵀ − Y)‖²

    M ← D_{λ1 μ1}(M − μ1 P_Ω(M + A N Cᵀ − Y))
    N ← S_{λ2 μ2}(N − μ2 AᵀP_Ω(M + A N Cᵀ − Y)C)

No step raises F for μ1 < 2 and μ2 < 2/(‖AᵀA‖₂‖CᵀC‖₂).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.parallel import single_threaded_blas
from everypair.problem.completion.low_rank import LowRank
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.proximal import soft_threshold
from everypair.solvers.completion.shrinkage import Shrinkage
from everypair.types import Array64


@dataclass(frozen=True)
class MaskedState:
    """M, N (``None`` without side information), F there, the residual at observed entries, and momentum's memory."""

    low_rank: LowRank
    weights: Array64 | None
    objective: float | None = None
    residual: Array64 | None = None
    before: MaskedState | None = None
    momentum: float = 1.0

    @classmethod
    def zero(cls, problem: MaskedProblem) -> MaskedState:
        """M = N = 0."""
        weights = None if problem.side.absent else np.zeros(problem.side.weights_shape)
        return cls(LowRank.zero(problem.shape), weights)

    def fresh(self) -> MaskedState:
        """The same place as a start."""
        return MaskedState(self.low_rank, self.weights)


class FeatureNuclear:
    """Steps of Algorithm 2 with lengths μ1 (``low_rank_step``) and μ2 (``feature_step``)."""

    descends = True

    def __init__(
        self,
        problem: MaskedProblem,
        nuclear_reg: float,
        l1_reg: float,
        low_rank_step: float = 1.0,
        feature_step: float = 1.0,
        shrink: Shrinkage | None = None,
    ) -> None:
        self.problem, self.nuclear_reg, self.l1_reg = problem, nuclear_reg, l1_reg
        self.low_rank_step, self.feature_step = low_rank_step, feature_step
        self.shrink = shrink or Shrinkage()

    def step(self, state: MaskedState) -> MaskedState:
        """One step of M, then one of N."""
        problem, N = self.problem, state.weights
        with single_threaded_blas():
            residual = state.residual if state.residual is not None else problem.residual(state.low_rank, N)
            # M: a gradient step at observed entries, then its singular values shrink
            E = problem.moved(state.low_rank, self.low_rank_step, residual)
            M = self.shrink(E, self.nuclear_reg * self.low_rank_step, state.low_rank)
            residual = problem.residual(M, N)
            # N: the same with the new M, then its entries shrink
            if N is not None:
                slope = problem.slope(residual)
                N = soft_threshold(N - self.feature_step * slope, self.l1_reg * self.feature_step)
                residual = problem.residual(M, N)
            return MaskedState(M, N, self.value(M, N, residual), residual)

    def value(self, low_rank: LowRank, weights: Array64 | None, residual: Array64) -> float:
        """F."""
        value = self.nuclear_reg * low_rank.nuclear_norm + 0.5 * float(residual @ residual)
        return value if weights is None else value + self.l1_reg * float(np.abs(weights).sum())
