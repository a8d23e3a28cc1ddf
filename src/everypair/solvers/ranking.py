"""MLRM: a shrinkage of M and a proximal step of N in turn, on n × m matrices (see :mod:`everypair.problem.ranking`).

With X = A N CᵀΠ, L = ‖AᵀA‖₂‖CᵀΠC‖₂, t = λ1/√m and s = λ2/m, a step of each variant is

    local   M ← D_t(T − X)                                 N ← S_{s/L}(N − Aᵀ(M + X − T)C / L)          Algorithm 1
    global  M ← D_{t/2}((T + X)/2)                         N ← S_{s/L}(N − Aᵀ(X − M)C / L)              (15), corrected
    noise   Z ← (T − M − X)/(1 + λ3),  M ← D_t(T − X − Z)  N ← S_{s/L}(N − Aᵀ(M + X + Z − T)C / L)      Algorithm 3

M is the exact minimiser given N, so the first two are proximal gradient steps on a function of N alone with a gradient of
Lipschitz constant L: no step raises F, and momentum in N (Nesterov's, restarted where F would rise) keeps the optimum.
Eliminating Z shows that "noise" minimises the function of "local" at λ1, λ2 times (1 + λ3)/λ3, times λ3/(1 + λ3); with
momentum that is what is computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import single_threaded_blas
from everypair.problem.low_rank import LowRank, SparsePlusLowRank
from everypair.problem.ranking import RankingProblem
from everypair.solvers.momentum import next_momentum
from everypair.solvers.proximal import soft_threshold
from everypair.solvers.shrinkage import Shrinkage

Array = NDArray[np.float64]
VARIANTS = ("local", "transductive", "global", "noise")


@dataclass(frozen=True)
class RankingState:
    """M and N (``None`` without side information), F there, and what momentum remembers."""

    low_rank: LowRank
    weights: Array | None
    objective: float | None = None
    solved: bool = False
    before: Array | None = None
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
    """Steps of one variant, with or without momentum; the transductive one is solved by its first step."""

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
        self.as_printed = variant == "noise" and not accelerate
        scale = 1.0 if self.as_printed else self.kept
        self.threshold = nuclear_reg / np.sqrt(problem.columns) / scale
        self.l1 = l1_reg / problem.columns / scale

    def step(self, state: RankingState) -> RankingState:
        """One step of every block."""
        with single_threaded_blas():
            if state.weights is None:
                return self._without_side(state)
            moved = self._step(state, self.accelerate)
            if self.accelerate and state.objective is not None and moved.objective > state.objective:
                moved = self._step(state, False)
            return moved

    def _without_side(self, state: RankingState) -> RankingState:
        low_rank = self._shrunk(self.problem.combine(1.0, None, 0.0), self.threshold / self._share, state)
        return RankingState(low_rank, None, self.value(low_rank, None), solved=True)

    def _step(self, state: RankingState, accelerate: bool) -> RankingState:
        problem, side, N = self.problem, self.problem.side, state.weights
        momentum, ahead = 1.0, N
        if accelerate and state.before is not None:
            momentum, push = next_momentum(state.momentum)
            ahead = N + push * (N - state.before)
        if self.variant == "global":
            E, threshold = problem.combine(0.5, ahead, 0.5), 0.5 * self.threshold
        elif self.as_printed:
            E = problem.combine(self.kept, ahead, -self.kept, state.low_rank, 1 - self.kept)
            threshold = self.threshold
        else:
            E, threshold = problem.combine(1.0, ahead, -1.0), self.threshold
        M = self._shrunk(E, threshold, state)
        gradient = side.project(M.scaled, M.right)
        if self.variant == "global":
            gradient = side.curve(ahead) - gradient
        elif self.as_printed:
            old = state.low_rank
            gradient += self.kept * (side.curve(ahead) - problem.projected)
            gradient -= (1 - self.kept) * side.project(old.scaled, old.right)
        else:
            gradient += side.curve(ahead) - problem.projected
        weights = soft_threshold(ahead - gradient / side.curvature, self.l1 / side.curvature)
        return RankingState(M, weights, self.value(M, weights), before=N, momentum=momentum)

    def _shrunk(self, E: SparsePlusLowRank, threshold: float, state: RankingState) -> LowRank:
        return self.shrink(E, threshold, state.low_rank)

    @property
    def _share(self) -> float:
        """What a threshold was not yet divided by: Algorithm 3 carries λ3 in its steps, a single shrinkage cannot."""
        return self.kept if self.as_printed else 1.0

    def value(self, low_rank: LowRank, weights: Array | None) -> float:
        """F at M and N in the paper's units (with Z eliminated)."""
        problem = self.problem
        if self.variant == "global" and weights is not None:
            fit = 0.5 * low_rank.square + 0.5 * problem.side_square(weights) - problem.with_side(low_rank, weights)
            fit = max(fit, 0.0) + problem.fit(low_rank, None)
        else:
            fit = problem.fit(low_rank, weights)
        penalty = self.threshold * low_rank.nuclear_norm
        if weights is not None:
            penalty += self.l1 * float(np.abs(weights).sum())
        # threshold and l1 hold 1/kept unless the steps are as printed, so that kept · (…) is F in every case
        return problem.columns * (self.kept * (penalty / self._share + fit))
