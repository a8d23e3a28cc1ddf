"""MLRM: a shrinkage of M and a proximal step of N in turn, on n × m matrices.

See :mod:`everypair.problem.completion.ranking`.

With X = A N CᵀΠ, L = ‖AᵀA‖₂‖CᵀΠC‖₂, t = λ1/√m and s = λ2/m, a step of each variant is

    local   M ← D_t(T − X)                                 N ← S_{s/L}(N − Aᵀ(M + X − T)C / L)          Algorithm 1
    global  M ← D_{t/2}((T + X)/2)                         N ← S_{s/L}(N − Aᵀ(X − M)C / L)              (15), corrected
    noise   Z ← (T − M − X)/(1 + λ3),  M ← D_t(T − X − Z)  N ← S_{s/L}(N − Aᵀ(M + X + Z − T)C / L)      Algorithm 3

M is the exact minimiser given N, so the first two are proximal gradient steps on a function of N alone, with a gradient
of Lipschitz constant L: no step raises F, and momentum in N (Nesterov's, restarted where F would rise) keeps the
optimum. Eliminating Z shows that "noise" minimises the function of "local" at λ1, λ2 times (1 + λ3)/λ3, times
λ3/(1 + λ3); with momentum that is what is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.parallel import single_threaded_blas
from everypair.problem.completion.low_rank import LowRank
from everypair.problem.completion.ranking import RankingProblem
from everypair.solvers.completion.nesterov import next_momentum, rises
from everypair.solvers.completion.proximal import soft_threshold
from everypair.solvers.completion.shrinkage import Shrinkage
from everypair.types import Array64

VARIANTS = ("local", "transductive", "global", "noise")


@dataclass(frozen=True)
class RankingState:
    """M and N (``None`` without side information), F there, and what momentum remembers."""

    low_rank: LowRank
    weights: Array64 | None
    objective: float | None = None
    solved: bool = False
    before: Array64 | None = None
    momentum: float = 1.0

    @classmethod
    def zero(cls, problem: RankingProblem) -> RankingState:
        """M = N = 0."""
        weights = None if problem.side.absent else np.zeros(problem.side.weights_shape)
        return cls(LowRank.zero(problem.shape), weights)

    def fresh(self) -> RankingState:
        """The same place as a start."""
        return RankingState(self.low_rank, self.weights)


class RankingAlternation:
    """Steps of one variant, with or without momentum; without side information the first step solves it."""

    descends = True

    def __init__(
        self,
        problem: RankingProblem,
        variant: str,
        nuclear_reg: float,
        l1_reg: float,
        noise_reg: float | None = None,
        accelerate: bool = True,
        shrink: Shrinkage | None = None,
    ) -> None:
        self.problem, self.variant, self.accelerate = problem, variant, accelerate
        self.shrink = shrink or Shrinkage()
        self.kept = 1.0 if noise_reg is None else noise_reg / (1 + noise_reg)  # λ3/(1 + λ3)
        self.threshold = nuclear_reg / np.sqrt(problem.columns)
        self.l1 = l1_reg / problem.columns
        self.noise_as_printed = variant == "noise" and not accelerate

    def step(self, state: RankingState) -> RankingState:
        """One step of every block."""
        with single_threaded_blas():
            if state.weights is None:
                M = self.shrink(self.problem.combine(1.0), self.threshold / self.kept, state.low_rank)
                return RankingState(M, None, self.value(M, None), solved=True)
            moved = self._step(state, state.weights, self.accelerate)
            if self.accelerate and rises(state.objective, moved.objective):
                moved = self._step(state, state.weights, False)
            return moved

    def _step(self, state: RankingState, N: Array64, accelerate: bool) -> RankingState:
        # ahead of N by the momentum
        momentum, ahead = 1.0, N
        if accelerate and state.before is not None:
            momentum, push = next_momentum(state.momentum)
            ahead = N + push * (N - state.before)
        # the best M there, and the gradient in N at that M
        side = self.problem.side
        if self.variant == "global":
            M, gradient, l1 = self._global_blocks(state, ahead)
        elif self.noise_as_printed:
            M, gradient, l1 = self._noise_blocks(state, ahead)
        else:
            M, gradient, l1 = self._local_blocks(state, ahead)
        # proximal step of N
        weights = soft_threshold(ahead - gradient / side.curvature, l1 / side.curvature)
        return RankingState(M, weights, self.value(M, weights), before=N, momentum=momentum)

    def _local_blocks(self, state: RankingState, ahead: Array64) -> tuple[LowRank, Array64, float]:
        """M at N, the gradient in N at M, and the ℓ1 threshold; "noise" with Z eliminated has all of it times kept."""
        problem, side = self.problem, self.problem.side
        M = self.shrink(problem.combine(1.0, -1.0, ahead), self.threshold / self.kept, state.low_rank)
        gradient = side.project(M.scaled, M.right) + side.curve(ahead) - problem.projected
        return M, gradient, self.l1 / self.kept

    def _global_blocks(self, state: RankingState, ahead: Array64) -> tuple[LowRank, Array64, float]:
        side = self.problem.side
        M = self.shrink(self.problem.combine(0.5, 0.5, ahead), 0.5 * self.threshold, state.low_rank)
        return M, side.curve(ahead) - side.project(M.scaled, M.right), self.l1

    def _noise_blocks(self, state: RankingState, ahead: Array64) -> tuple[LowRank, Array64, float]:
        """With Z = (T − M − X)/(1 + λ3): T − X − Z = kept (T − X) + (1 − kept) M."""
        problem, side, old = self.problem, self.problem.side, state.low_rank
        E = problem.combine(self.kept, -self.kept, ahead, 1 - self.kept, old)
        M = self.shrink(E, self.threshold, old)
        gradient = side.project(M.scaled, M.right) + self.kept * (side.curve(ahead) - problem.projected)
        return M, gradient - (1 - self.kept) * side.project(old.scaled, old.right), self.l1

    def value(self, low_rank: LowRank, weights: Array64 | None) -> float:
        """F at M and N in the paper's units, at the best Z."""
        problem = self.problem
        value = self.threshold * low_rank.nuclear_norm
        if weights is not None:
            value += self.l1 * float(np.abs(weights).sum())
        if self.variant == "global" and weights is not None:
            apart = low_rank.square + problem.side_square(weights) - 2 * problem.with_side(low_rank, weights)
            value += 0.5 * max(apart, 0.0) + problem.fit(low_rank, None)
        else:
            value += self.kept * problem.fit(low_rank, weights)
        return problem.columns * value
