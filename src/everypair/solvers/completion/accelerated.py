"""FNNM with momentum: both blocks of (M, N) take a joint proximal step from ahead of where they stand.

    min λ1‖M‖_* + λ2‖N‖₁ + ½‖Π P_Ω(M + A N Cᵀ − Y)‖²

    M̂ = M + β (M − M_before), N̂ likewise, R = Π P_Ω(M̂ + A N̂ Cᵀ − Y)
    M ← D_{λ1/2}(M̂ − R/2),     N ← S_{λ2/2L}(N̂ − AᵀRC/2L),     L = ‖AᵀA‖₂‖CᵀC‖₂

The joint curvature is at most 2 in units where each block's is 1. β is Nesterov's; where F would rise the step is taken
from M, N, and momentum begins anew. R is linear in what it is of, so it costs nothing ahead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from everypair.parallel import single_threaded_blas
from everypair.problem.completion.low_rank import SparsePlusLowRank
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.feature_nuclear import FeatureNuclear, MaskedState
from everypair.solvers.completion.nesterov import next_momentum, rises
from everypair.solvers.completion.proximal import soft_threshold
from everypair.solvers.completion.shrinkage import Shrinkage


class AcceleratedNuclear:
    """Joint steps of M and N with momentum and restart."""

    descends = True

    def __init__(
        self, problem: MaskedProblem, nuclear_reg: float, l1_reg: float, shrink: Shrinkage | None = None
    ) -> None:
        self.problem, self.nuclear_reg, self.l1_reg = problem, nuclear_reg, l1_reg
        self.shrink = shrink or Shrinkage()
        self._plain = FeatureNuclear(problem, nuclear_reg, l1_reg)

    def step(self, state: MaskedState) -> MaskedState:
        """One step; without momentum where that would raise F."""
        with single_threaded_blas():
            if state.residual is None:
                state = replace(state, residual=self.problem.residual(state.low_rank, state.weights))
            moved = self._step(state, state.before)
            if state.before is not None and rises(state.objective, moved.objective):
                moved = self._step(state, None)
            return moved

    def _step(self, state: MaskedState, before: MaskedState | None) -> MaskedState:
        problem, M, N, residual = self.problem, state.low_rank, state.weights, state.residual
        assert residual is not None
        # ahead of M and N by the momentum
        momentum, left, right, ahead = 1.0, M.scaled, M.right, N
        if before is not None:
            assert before.residual is not None
            momentum, push = next_momentum(state.momentum)
            left = np.hstack([(1 + push) * left, -push * before.low_rank.scaled])
            right = np.hstack([right, before.low_rank.right])
            residual = (1 + push) * residual - push * before.residual
            ahead = None if N is None or before.weights is None else N + push * (N - before.weights)
        # half a step of each block
        E = SparsePlusLowRank(problem.observed, -0.5 * residual, left, right, problem.n_threads)
        low_rank = self.shrink(E, 0.5 * self.nuclear_reg, M)
        weights = None
        if ahead is not None:
            length = 0.5 / problem.side.curvature
            weights = soft_threshold(ahead - length * problem.slope(residual), length * self.l1_reg)
        residual = problem.residual(low_rank, weights)
        value = self._plain.value(low_rank, weights, residual)
        return MaskedState(low_rank, weights, value, residual, replace(state, before=None), momentum)
