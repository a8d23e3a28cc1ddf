"""Adam on the exact gradient of every pair: no sampling noise, so its averages see curvature alone.

m ← β₁m + (1 − β₁)g,   v ← β₂v + (1 − β₂)g²,   x ← x − δ_t m̂ / (√v̂ + ε),   θ ← θ + (η + 1)/(t + η) (x − θ)

δ_t rises over the first ten steps. The model is θ, an average of the iterates x whose memory grows with their number t:
a share of about 1/(η + 1) of them counts. It ranks better than any of them. With id dropout every step leaves out the
ids of a random share of the entities that also have features, so that features learn to stand alone; random numbers
depend on the seed and the step alone.
"""

from __future__ import annotations

from typing import Any, TypedDict

import jax
import jax.numpy as jnp
import numpy as np

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.state import Evaluated, TowerState
from everypair.neural.towers import Perceptron
from everypair.neural.trees import Both, plain, precision, zeros_like

RATE = 3e-3
MEAN, SQUARE, SMALL = 0.9, 0.99, 1e-8  # β₁, β₂, ε: gradients are exact, a short memory of squares is enough
RISE = 10
AVERAGED = 4.0  # η
STEPS = 5  # of one sweep


class AdamMemory(TypedDict):
    """The iterate x, and the averages m of gradients and v of their squares."""

    iterate: Both
    means: Both
    squares: Both


class Adam(Evaluated[AdamMemory]):
    """Adam with ``rate`` δ; ``dropout`` is the share of ids left out in a step."""

    descends = False

    def __init__(self, objective: TowerObjective, rate: float = RATE, dropout: float = 0.0, seed: int = 0) -> None:
        super().__init__(objective)
        self.rate, self.dropout, self.seed, self.sweep = rate, dropout, seed, STEPS

    def fresh(self, theta: Both) -> AdamMemory:
        """The iterate, averages of gradients and of their squares."""
        return {"iterate": theta, "means": zeros_like(theta), "squares": zeros_like(theta)}

    def step(self, state: TowerState[AdamMemory]) -> TowerState[AdamMemory]:
        """Five steps."""
        average, memory = state.theta, state.memory
        for number in range(state.steps, state.steps + self.sweep):
            gradient = self._gradient(memory["iterate"], number)
            rate = self.rate * min(1.0, (number + 1) / RISE)
            share = (AVERAGED + 1) / (number + 1 + AVERAGED)
            with precision(self.objective.dtype):
                found = _update(memory["iterate"], gradient, memory["means"], memory["squares"], average, rate, share,
                                number + 1.0)  # fmt: skip
            iterate, means, squares, average = plain(found)
            memory = {"iterate": iterate, "means": means, "squares": squares}
        return self.moved(self.objective.at(average), memory, state.steps + self.sweep)

    def _gradient(self, theta: Both, number: int) -> Both:
        towers = self.objective.towers
        if self.dropout:
            random = np.random.default_rng([self.seed, number])
            left, right = (with_ids_dropped(tower, self.dropout, random) for tower in towers)
            towers = left, right
        return self.objective.gradient(self.objective.at(theta, towers))


def with_ids_dropped(tower: Any, share: float, random: np.random.Generator) -> Any:
    """The tower without the ids of a random share of its entities; as it is, where ids are all it has, or none."""
    if not isinstance(tower, Perceptron) or not tower.inputs.ids or tower.inputs.features is None:
        return tower
    kept = (random.random(tower.n_rows) >= share).astype(tower.dtype)
    return tower.of(tower.inputs.without_ids(kept))


@jax.jit
def _update(
    theta: Any, gradient: Any, means: Any, squares: Any, average: Any, rate: Any, share: Any, steps: Any
) -> Any:
    def leaf(x: Any, g: Any, m: Any, v: Any, mean: Any) -> Any:
        m = MEAN * m + (1 - MEAN) * g
        v = SQUARE * v + (1 - SQUARE) * g * g
        size = jnp.sqrt(v / (1 - SQUARE**steps)) + SMALL
        x = (x - rate * (m / (1 - MEAN**steps)) / size).astype(x.dtype)
        return x, m, v, (mean + share * (x - mean)).astype(x.dtype)

    outer = jax.tree_util.tree_structure(theta)
    found = jax.tree_util.tree_map(leaf, theta, gradient, means, squares, average)
    return jax.tree_util.tree_transpose(outer, jax.tree_util.tree_structure((0, 0, 0, 0)), found)
