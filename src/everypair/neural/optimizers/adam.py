"""Adam on the exact gradient of every pair: no sampling noise, so its averages see curvature alone.

m ← β₁m + (1 − β₁)g,   v ← β₂v + (1 − β₂)g²,   x ← x − δ_t m̂ / (√v̂ + ε),   θ ← θ + (η + 1)/(t + η) (x − θ)

δ_t rises over the first ten steps. The model is θ, an average of the iterates x whose memory grows with their number t:
a share of about 1/(η + 1) of them counts. It ranks better than any of them. With id dropout every step leaves out the
ids of a random share of the entities that also have features, so that features learn to stand alone; random numbers
depend on the seed and the step alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.kernels.tower_pairs import adam_step
from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.state import TowerState, evaluated
from everypair.neural.trees import Both, leafwise, leaves, zeros_like

RATE = 3e-3
MEAN, SQUARE, SMALL = 0.9, 0.99, 1e-8  # β₁, β₂, ε: gradients are exact, a short memory of squares is enough
RISE = 10
AVERAGED = 4.0  # η
STEPS = 5  # of one sweep


@dataclass(frozen=True, kw_only=True)
class AdamState(TowerState):
    """The iterate x, and the averages m of gradients and v of their squares besides."""

    iterate: Both
    means: Both
    squares: Both


class Adam:
    """Adam with ``rate`` δ; ``dropout`` is the share of ids left out in a step."""

    descends = False

    def __init__(self, objective: TowerObjective, rate: float = RATE, dropout: float = 0.0, seed: int = 0) -> None:
        self.objective, self.rate, self.dropout, self.seed, self.sweep = objective, rate, dropout, seed, STEPS

    def fresh(self, theta: Both) -> AdamState:
        """The iterate, averages of gradients and of their squares."""
        return AdamState(theta=theta, iterate=theta, means=zeros_like(theta), squares=zeros_like(theta))

    def step(self, state: AdamState) -> AdamState:
        """Five steps."""
        paces = leaves(self.objective.paces(state.theta))
        before = state.iterate, state.means, state.squares, state.theta
        iterate, means, squares, average = (leafwise(lambda x: np.array(x, order="C"), tree) for tree in before)
        every = [leaves(tree) for tree in (iterate, means, squares, average)]
        for number in range(state.steps, state.steps + self.sweep):
            objective = self.objective.thinned(self.dropout, np.random.default_rng([self.seed, number]))
            gradient = objective.gradient(objective.at(iterate))
            rate = self.rate * min(1.0, (number + 1) / RISE) / (1 - MEAN ** (number + 1))
            share = (AVERAGED + 1) / (number + 1 + AVERAGED)
            for pace, g, x, m, v, mean in zip(paces, leaves(gradient), *every, strict=True):
                numbers = MEAN, SQUARE, pace * rate, np.sqrt(1 - SQUARE ** (number + 1)), SMALL, share
                typed = (self.objective.dtype.type(one) for one in numbers)
                adam_step(*(np.ravel(one) for one in (x, g, m, v, mean)), *typed)
        point = self.objective.at(average)
        return AdamState(
            **evaluated(point, state.steps + self.sweep), iterate=iterate, means=means, squares=squares
        )  # fmt: skip
