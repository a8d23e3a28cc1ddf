"""Sampling: a block B = Û × V̂ of random users and items stands for all pairs.

ĝ = (mn/m̂n̂) ∇[all pairs of B, the stored ones with their losses] + λθ,      m̂ = ρm,   n̂ = ρn

The sums over B run through Gram matrices of its factors: O(|Ô|k + (m̂ + n̂)k² + m̂F(f) + n̂F(g)) a step.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.estimates import RATIO, Draws, Grams
from everypair.neural.trees import Both


class SampledBlock:
    """The estimate of a random block of users and items; they need no stored pair to be drawn."""

    def __init__(self, objective: TowerObjective, ratio: float = RATIO) -> None:
        self.draws = Draws(objective)
        rows = objective.factor_space.rows[0]
        self.shape = tuple(tower.n_rows for tower in objective.towers)
        self.sizes = tuple(max(1, round(ratio * size)) for size in self.shape)
        self.numbers = sp.csr_array((np.arange(1, len(rows.indices) + 1), rows.indices, rows.indptr), shape=self.shape)

    def __call__(self, theta: Both, grams: Grams | None, random: np.random.Generator) -> tuple[Both, Grams | None]:
        """ĝ."""
        draws = self.draws
        users, items = (np.sort(random.choice(*both, replace=False)) for both in zip(self.shape, self.sizes))
        sides = draws.embedded(theta, (users, items))
        U, V = (side.factors for side in sides)
        block = self.numbers[users][:, items].tocoo()
        slopes = draws.slopes(block.data - 1, U[block.row], V[block.col])
        R = sp.csr_array((slopes, (block.row, block.col)), shape=(len(users), len(items)))
        p, q = draws.weights[0][users, None], draws.weights[1][items, None]
        ours, theirs = draws.imputed(0, users), draws.imputed(1, items)
        by_users = R @ V + p * (U @ (V.T @ (q * V)) - ours @ (theirs.T @ (q * V)))
        by_items = R.T @ U + q * (V @ (U.T @ (p * U)) - theirs @ (ours.T @ (p * U)))
        scale = np.prod(self.shape, dtype=np.float64) / np.prod(self.sizes)
        return draws.assembled(theta, (scale * by_users, scale * by_items), sides), None
