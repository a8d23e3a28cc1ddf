"""Stochastic gradient by (46): stored pairs stand for their users and items, and so for all pairs.

    Σ_ij a_i b_j (…) = Σ_{(i,j')∈Ω} Σ_{(i',j)∈Ω} ā_i b̄_j (…),      ā_i = a_i/|Ω_i|,   b̄_j = b_j/|Ω_j|

Two independent samples Ô₁, Ô₂ of ρ|Ω| pairs each: the outer sum and the losses run over Ô₁, the Gram matrices over Ô₂
(60)–(61); then they are swapped, and the two estimates averaged (A.2). Entities without a stored pair are in no sample
of Ω: a share ρ of them (one at least) is drawn besides and stands for the others, which keeps the estimate unbiased.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.estimates import RATIO, Draws, Grams
from everypair.neural.towers import Embedded
from everypair.neural.trees import Both, leafwise
from everypair.types import Array


class Sample(NamedTuple):
    """Drawn pairs: towers on their entities, what each entity stands for, R̂ of the pairs' losses."""

    sides: tuple[Embedded, Embedded]
    factors: tuple[Array, Array]
    imputed: tuple[Array, Array]
    weights: tuple[Array, Array]
    slopes: Any

    def grams(self) -> Grams:
        """Estimates of the Gram matrices (61)."""
        (U, V), (p, q), (ours, theirs) = self.factors, self.weights, self.imputed
        return U.T @ (p * U), ours.T @ (p * U), V.T @ (q * V), theirs.T @ (q * V)

    def gradients(self, grams: Grams) -> tuple[Array, Array]:
        """Estimates of ∂F/∂U and ∂F/∂V at the drawn entities (60)."""
        (U, V), (p, q), (ours, theirs) = self.factors, self.weights, self.imputed
        P, pulled_P, Q, pulled_Q = grams
        by_users = self.slopes @ V + p * (U @ Q - ours @ pulled_Q)
        by_items = self.slopes.T @ U + q * (V @ P - theirs @ pulled_P)
        return by_users, by_items


class Sampler:
    """Draws samples of stored pairs and of entities without any."""

    def __init__(self, objective: TowerObjective, ratio: float) -> None:
        self.draws, self.ratio = Draws(objective), ratio
        self.stored = len(self.draws.owners)
        self.size = max(1, round(ratio * self.stored))
        self.empty = tuple(np.flatnonzero(counts == 0) for counts in self.draws.counts)

    def __call__(self, theta: Both, random: np.random.Generator) -> Sample:
        """One sample."""
        draws = self.draws
        pairs = np.sort(random.choice(self.stored, self.size, replace=False))
        scale = self.stored / self.size
        entities, weights, places = [], [], []
        for side, of_pairs in enumerate((draws.owners[pairs], draws.indices[pairs])):
            found, place, times = np.unique(of_pairs, return_inverse=True, return_counts=True)
            own = scale * times * draws.weights[side][found] / draws.counts[side][found]
            others = self.empty[side]
            if len(others):
                drawn = np.sort(random.choice(others, max(1, round(self.ratio * len(others))), replace=False))
                own = np.concatenate([own, len(others) / len(drawn) * draws.weights[side][drawn]])
                found = np.concatenate([found, drawn])
            entities.append(found)
            weights.append(own[:, None])
            places.append(place)
        sides = draws.embedded(theta, (entities[0], entities[1]))
        U, V = (side.factors for side in sides)
        slopes = scale * draws.slopes(pairs, U[places[0]], V[places[1]])
        return Sample(
            sides,
            (U.astype(np.float64), V.astype(np.float64)),
            (draws.imputed(0, entities[0]), draws.imputed(1, entities[1])),
            (weights[0], weights[1]),
            sp.csr_array((slopes, (places[0], places[1])), shape=(len(U), len(V))),
        )

    def gradient(self, theta: Both, sample: Sample, grams: Grams) -> Both:
        """ĝ from a sample and the Gram matrices of another."""
        return self.draws.assembled(theta, sample.gradients(grams), sample.sides)


class StoredPairsEstimate:
    """The estimate of two samples, swapped and averaged."""

    def __init__(self, objective: TowerObjective, ratio: float = RATIO) -> None:
        self.sampler = Sampler(objective, ratio)

    def __call__(self, theta: Both, grams: Grams | None, random: np.random.Generator) -> tuple[Both, Grams | None]:
        """ĝ."""
        one, other = self.sampler(theta, random), self.sampler(theta, random)
        first = self.sampler.gradient(theta, one, other.grams())
        second = self.sampler.gradient(theta, other, one.grams())
        return leafwise(lambda g, h: (g + h) / 2, first, second), None
