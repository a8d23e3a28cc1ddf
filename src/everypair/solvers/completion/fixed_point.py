"""FPCA (Ma, Goldfarb & Chen): fixed-point iteration with continuation in μ.

    min μ‖X‖_* + ½‖P_Ω(X − Y)‖²:      X ← D_{τμ}(X − τ P_Ω(X − Y)),   0 < τ < 2

from a large μ down to the wanted one: μ ← max(η μ, μ̄) whenever X moves by less than 1 % of its norm, and at μ̄ until it
moves by less than tol. Its approximate SVD is the truncated shrinkage, warm-started from the last X. With τ = 1 it is
soft-impute.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from everypair.parallel import single_threaded_blas
from everypair.problem.completion.low_rank import LowRank
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.shrinkage import Shrinkage
from everypair.types import Array64

ON_THE_WAY = 1e-2  # relative move that ends the stay at a μ which is not the last


@dataclass(frozen=True)
class FixedPointState:
    """X, the μ it was reached with (``None`` at the start), and whether X is the fixed point of the last μ."""

    low_rank: LowRank
    mu: float | None = None
    objective: float | None = None
    solved: bool = False
    residual: Array64 | None = None

    def fresh(self) -> FixedPointState:
        """The same place as a start, from which no continuation is needed."""
        return FixedPointState(self.low_rank)


class FixedPoint:
    """Steps of length τ; μ falls from η σ₁ by a factor η down to ``nuclear_reg``."""

    descends = False  # F of another μ is another function

    def __init__(
        self, problem: MaskedProblem, nuclear_reg: float, step: float = 1.0, factor: float = 0.25, tol: float = 1e-4,
        shrink: Shrinkage | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.nuclear_reg, self.length, self.factor, self.tol = problem, nuclear_reg, step, factor, tol
        self.shrink = shrink or Shrinkage()

    def step(self, state: FixedPointState) -> FixedPointState:
        """One fixed-point step, and a smaller μ where this one's fixed point is reached."""
        X, problem = state.low_rank, self.problem
        mu = state.mu
        with single_threaded_blas():
            # the first μ of the continuation
            if mu is None:
                largest = 0.0 if X.rank else problem.strongest()[0]  # a warm start needs no continuation
                mu = max(self.factor * largest, self.nuclear_reg)
            # gradient step and shrinkage, and F there
            residual = state.residual if state.residual is not None else problem.residual(X, None)
            moved = self.shrink(problem.moved(X, self.length, residual), mu * self.length, X)
            residual = problem.residual(moved, None)
            value = mu * moved.nuclear_norm + 0.5 * float(residual @ residual)
            # a fixed point of this μ: on to the next one
            last = mu == self.nuclear_reg
            arrived = distance(moved, X) <= (self.tol if last else max(self.tol, ON_THE_WAY)) * sqrt(moved.square)
        solved = arrived and last
        following = max(self.factor * mu, self.nuclear_reg) if arrived else mu
        return FixedPointState(moved, following, value, solved, residual)


def distance(one: LowRank, other: LowRank) -> float:
    """‖one − other‖ in factors, to the square root of the rounding."""
    product = float(np.sum((one.scaled.T @ other.scaled) * (one.right.T @ other.right)))
    return sqrt(max(one.square + other.square - 2 * product, 0.0))
