"""SIMC (Lu et al.), problem (14): side information explains a low-rank matrix that equals Y where it was observed.

    min λ1‖M‖_* + λ2‖N‖₁ + ½‖A N Cᵀ − P‖²    with  M = P,  P_Ω(P) = P_Ω(Y)

by the alternating direction method with the splitting M = P, A N Cᵀ = X and scaled multipliers U, V:

    M ← D_{λ1/ρ}(P − U)                          N ← S_{λ2 T/ρ}(N − T ∘ Aᵀ(A N Cᵀ − X + V)C)
    off Ω:  P ← ((1 + ρ)a + b)/(2 + ρ),          X ← ((1 + ρ)b + a)/(2 + ρ)          a = M + U,  b = A N Cᵀ + V
    on Ω:   P ← Y,                               X ← (Y + ρ b)/(1 + ρ)
    with offsets: P ← t + Π(Y − t) on Ω, t = ((1 + ρ)a + b)/(2 + ρ), and X likewise
    U ← U + M − P                                V ← V + A N Cᵀ − X

T_kl = 1/(L a_k² c_l²) for columns of lengths a_k and c_l, L the curvature of columns of unit length: units of features
say nothing. The method has converged when M − P and A N Cᵀ − X, the last moves of P and X, and N's own slope are below
tol in units of what they belong to. ρ follows the ratio of the residuals in the first iterations. It is a method to
compare with: memory is 6nm numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.parallel import single_threaded_blas
from everypair.problem.completion.low_rank import LowRank
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.proximal import shrink_exact, soft_threshold
from everypair.types import Array64

BALANCED = 10.0  # ratio of the residuals beyond which ρ is doubled or halved,
BALANCING = 100  # in so many first iterations


@dataclass(frozen=True)
class InteractiveState:
    """All variables, the penalty ρ, and whether all residuals are below tol."""

    low_rank: LowRank
    weights: Array64
    filled: Array64
    explained: Array64
    multiplier: Array64
    side_multiplier: Array64
    penalty: float
    iteration: int = 0
    objective: float | None = None
    solved: bool = False

    @classmethod
    def zero(cls, problem: MaskedProblem) -> InteractiveState:
        """P = P_Ω(Y), everything else zero."""
        filled, nothing = problem.observed.to_dense(), np.zeros(problem.shape)
        weights = np.zeros(problem.side.weights_shape)
        return cls(LowRank.zero(problem.shape), weights, filled, nothing, nothing, nothing, 1.0)

    def fresh(self) -> InteractiveState:
        """The same place as a start."""
        return InteractiveState(
            self.low_rank,
            self.weights,
            self.filled,
            self.explained,
            self.multiplier,
            self.side_multiplier,
            self.penalty,
        )


class Interactive:
    """One round of the alternating direction method per step."""

    descends = False

    def __init__(self, problem: MaskedProblem, nuclear_reg: float, l1_reg: float, tol: float) -> None:
        self.problem, self.nuclear_reg, self.l1_reg, self.tol = problem, nuclear_reg, l1_reg, tol
        self.at = problem.observed.rows, problem.observed.indices
        lengths, curvature = problem.side.lengths, problem.side.unit_curvature
        self.units = np.outer(*lengths)
        self.curvature = curvature

    def step(self, state: InteractiveState) -> InteractiveState:
        """Update M and N, then P and X, then the multipliers."""
        with single_threaded_blas():
            return self._step(state)

    def _step(self, state: InteractiveState) -> InteractiveState:
        rho, at, y = state.penalty, self.at, self.problem.observed.values
        side, steps = self.problem.side, 1 / (self.curvature * self.units**2)
        # M and N, each by its proximal step
        M = shrink_exact(state.filled - state.multiplier, self.nuclear_reg / rho)
        gap = side.dense(state.weights) - state.explained + state.side_multiplier
        N = soft_threshold(state.weights - steps * side.project_dense(gap), self.l1_reg / rho * steps)
        # P and X: off Ω between the two, on Ω as observed
        dense, of_side = M.dense(), side.dense(N)
        a, b = dense + state.multiplier, of_side + state.side_multiplier
        filled, explained = ((1 + rho) * a + b) / (2 + rho), ((1 + rho) * b + a) / (2 + rho)
        meant = (a[at] + b[at] / (1 + rho)) / (1 + 1 / (1 + rho))
        filled[at] = meant + self.problem.centred(y - meant) if self.problem.centring is not None else y
        explained[at] = (filled[at] + rho * b[at]) / (1 + rho)
        # all residuals, relative to the norms, and the objective
        first, second = dense - filled, of_side - explained
        size = max(_norm(filled, explained), np.finfo(float).tiny)
        primal = _norm(first, second) / size
        dual = rho * _norm(filled - state.filled, explained - state.explained) / size
        slope = self.curvature * float(np.linalg.norm(self.units * (N - state.weights)))
        slope /= max(float(np.linalg.norm(side.project_dense(explained) / self.units)), np.finfo(float).tiny)
        value = self.nuclear_reg * M.nuclear_norm + self.l1_reg * float(np.abs(N).sum())
        value += 0.5 * float(np.sum((of_side - filled) ** 2))
        # ρ follows their ratio; scaled multipliers follow ρ
        change = 1.0
        if state.iteration < BALANCING:
            change = 2.0 if primal > BALANCED * dual else 0.5 if dual > BALANCED * primal else 1.0
        return InteractiveState(
            M, N, filled, explained, (state.multiplier + first) / change, (state.side_multiplier + second) / change,
            rho * change, state.iteration + 1, value, max(primal, dual, slope) <= self.tol,
        )  # fmt: skip


def _norm(one: Array64, other: Array64) -> float:
    return float(np.hypot(np.linalg.norm(one), np.linalg.norm(other)))
