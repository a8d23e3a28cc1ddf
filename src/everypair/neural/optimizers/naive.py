"""Naive stochastic gradient, the reference of Table 2: random pairs of all m·n, each at the cost of both towers.

ĝ = (mn/s) Σ_{s random (i, j)} ∇ℓ_ij + λθ
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.estimates import RATIO, Draws, Grams
from everypair.neural.trees import Both


class RandomPairs:
    """The estimate of ρ|Ω| pairs, drawn with replacement from all of them."""

    def __init__(self, objective: TowerObjective, ratio: float = RATIO) -> None:
        self.draws = Draws(objective)
        self.shape = tuple(tower.n_rows for tower in objective.towers)
        self.keys = self.draws.owners * self.shape[1] + self.draws.indices  # ascending
        self.size = max(1, round(ratio * len(self.keys)))

    def __call__(self, theta: Both, grams: Grams | None, random: np.random.Generator) -> tuple[Both, Grams | None]:
        """ĝ."""
        draws = self.draws
        users, items = (random.integers(size, size=self.size) for size in self.shape)
        entities, places = zip(*(np.unique(of_pairs, return_inverse=True) for of_pairs in (users, items)))
        sides = draws.embedded(theta, (entities[0], entities[1]))
        U, V = (side.factors for side in sides)
        left, right = U[places[0]], V[places[1]]
        values = np.einsum("er,er->e", draws.imputed(0, users), draws.imputed(1, items))
        scores = np.einsum("ek,ek->e", left, right, dtype=np.float64)
        slopes = draws.weights[0][users] * draws.weights[1][items] * (scores - values)
        numbers = np.searchsorted(self.keys, users * self.shape[1] + items)
        numbers = np.minimum(numbers, len(self.keys) - 1)
        stored = self.keys[numbers] == users * self.shape[1] + items
        slopes[stored] += draws.slopes(numbers[stored], left[stored], right[stored])
        scale = np.prod(self.shape, dtype=np.float64) / self.size
        R = sp.csr_array((scale * slopes, (places[0], places[1])), shape=(len(U), len(V)))
        return draws.assembled(theta, (R @ V, R.T @ U), sides), None
