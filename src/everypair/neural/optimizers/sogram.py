"""SOGram: Gram matrices as running averages, P' ← (1 − α)P' + αP₂ from zero (64), used in the estimate (65).

α = 1 is the unbiased estimate of (60)–(61) without the swap; a smaller α has less variance, is biased in its first tens
of steps, and lags behind the parameters after them.
"""

from __future__ import annotations

import numpy as np

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.estimates import RATIO, EstimateMemory
from everypair.neural.optimizers.sg46 import Sampler
from everypair.neural.trees import Both

ALPHA = 0.1


class RunningGrams:
    """The estimate with averaged Gram matrices, which are its memory."""

    def __init__(self, objective: TowerObjective, ratio: float = RATIO, alpha: float = ALPHA) -> None:
        self.sampler, self.alpha = Sampler(objective, ratio), alpha

    def fresh(self) -> EstimateMemory:
        """Zero matrices before the first step, as numbers that become matrices."""
        return {"grams": [np.zeros((1, 1)) for _ in range(4)]}

    def __call__(self, theta: Both, memory: EstimateMemory, random: np.random.Generator) -> tuple[Both, EstimateMemory]:
        """ĝ."""
        one, other = self.sampler(theta, random), self.sampler(theta, random)
        P, pulled_P, Q, pulled_Q = (
            (1 - self.alpha) * before + self.alpha * now for before, now in zip(memory["grams"], other.grams())
        )
        gradient = self.sampler.gradient(theta, one, (P, pulled_P, Q, pulled_Q))
        return gradient, {"grams": [P, pulled_P, Q, pulled_Q]}
