"""What the stochastic methods share: a random estimate ĝ of ∇L, and how a step uses it.

plain   θ ← θ − δ ĝ                    diag   M ← M + ĝ²,   θ ← θ − δ ĝ / √(μ + M)     (51)

A sweep is as many steps as sample ratios ρ fit into one; L is evaluated after it. Random numbers depend on the seed
and the number of the step alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.gd import adagrad
from everypair.neural.optimizers.state import TowerState, evaluated
from everypair.neural.towers import Embedded
from everypair.neural.trees import Both, plus, ridged, zeros_like
from everypair.types import Array

RATIO = 0.01  # ρ
PLAIN_RATE, DIAGONAL_RATE = 2.0**-25, 0.01


Grams = tuple[Array, Array, Array, Array]  # UᵀPU, ŨᵀPU, VᵀQV, ṼᵀQV


@dataclass(frozen=True, kw_only=True)
class StochasticState(TowerState):
    """AdaGrad's sums of squares where they scale, and the Gram matrices of an estimate that averages them, besides."""

    squares: Both | None
    grams: Grams | None = None


class LossEstimate(Protocol):
    """An estimate of ∇L from a random part of the pairs."""

    def __call__(self, theta: Both, grams: Grams | None, random: np.random.Generator) -> tuple[Both, Grams | None]:
        """ĝ at θ, and the Gram matrices to remember, none before the first step and of estimates that need none."""
        ...


class Stochastic:
    """Steps along random estimates of the gradient."""

    descends = False

    def __init__(
        self,
        objective: TowerObjective,
        estimate: LossEstimate,
        diagonal: bool,
        rate: float | None = None,
        seed: int = 0,
        ratio: float = RATIO,
    ) -> None:
        if any(rows.ridge.any() for rows in objective.factor_space.rows):
            raise ValueError(
                "no estimate of the gradient knows a ridge of the factors: set it to 0, or take an optimizer with the "
                'exact gradient, such as "adam".'
            )
        self.objective, self.estimate, self.diagonal, self.seed = objective, estimate, diagonal, seed
        self.rate = rate or (DIAGONAL_RATE if diagonal else PLAIN_RATE)
        self.sweep = max(1, round(1 / ratio))

    def fresh(self, theta: Both) -> StochasticState:
        """Before the first step."""
        return StochasticState(theta=theta, squares=zeros_like(theta) if self.diagonal else None)

    def step(self, state: StochasticState) -> StochasticState:
        """1/ρ steps."""
        theta, squares, grams = state.theta, state.squares, state.grams
        for number in range(state.steps, state.steps + self.sweep):
            gradient, grams = self.estimate(theta, grams, np.random.default_rng([self.seed, number]))
            if squares is not None:
                squares, direction = adagrad(squares, gradient)
                theta = plus(theta, self.rate, direction)
            else:
                theta = plus(theta, -self.rate, gradient)
        point = self.objective.at(theta)
        return StochasticState(**evaluated(point, state.steps + self.sweep), squares=squares, grams=grams)


class Draws:
    """Stored pairs by number, entities without any, and sums over drawn ones: what the estimates are made of."""

    def __init__(self, objective: TowerObjective) -> None:
        rows, columns = objective.factor_space.rows
        self.objective = objective
        self.owners = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
        self.indices = rows.indices.astype(np.int64)
        self.counts = np.diff(rows.indptr), np.diff(columns.indptr)
        self.stored = rows.every_weight, rows.every_target
        self.weights = rows.this_weights.astype(np.float64), columns.this_weights.astype(np.float64)

    def slopes(self, pairs: Array, left: Array, right: Array) -> Array:
        """r = c ℓ'(s) − p_i q_j (s − ỹ) of stored pairs by number, whose factors are given row by row."""
        rows = self.objective.factor_space.rows[0]
        scores = np.einsum("ek,ek->e", left, right, dtype=np.float64)
        weights = self.weights[0][self.owners[pairs]] * self.weights[1][self.indices[pairs]]
        values = rows.values[pairs] if rows.imputed else rows.values[0]
        slopes = self.objective.loss.slope(self.stored[1][pairs], scores)
        return np.asarray(self.stored[0][pairs] * slopes - weights * (scores - values))

    def imputed(self, side: int, entities: Array) -> Array:
        """Rows of Ũ or Ṽ with ỹ_ij = ũ_i·ṽ_j; a constant ỹ is (ỹ, 1)."""
        rows = self.objective.factor_space.rows[side]
        if rows.this_values is not None:
            return rows.this_values[entities].astype(np.float64)
        return np.full((len(entities), 1), float(rows.values[0]) if side == 0 else 1.0)

    def assembled(self, theta: Both, gradients: tuple[Array, Array], sides: tuple[Embedded, Embedded]) -> Both:
        """ĝ from gradients by the factors of some entities: Jacobians transposed, and the whole ridge."""
        dtype = self.objective.dtype
        left, right = (
            ridged(side.adjoint(gradient.astype(dtype)), regs, part)
            for side, part, gradient, regs in zip(sides, theta, gradients, self.objective.penalties(theta))
        )
        return left, right

    def embedded(self, theta: Both, entities: tuple[Array, Array]) -> tuple[Embedded, Embedded]:
        """Both towers on some entities."""
        left, right = (tower.at(*both) for tower, *both in zip(self.objective.towers, theta, entities))
        return left, right
