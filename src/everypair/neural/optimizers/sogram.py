"""SOGram: Gram matrices as running averages, P' ← (1 − α)P' + αP₂ from zero (64), used in the estimate (65).

α = 1 is the unbiased estimate of (60)–(61) without the swap; a smaller α has less variance, is biased in its first tens
of steps, and lags behind the parameters after them.
"""

from __future__ import annotations

import numpy as np

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.estimates import RATIO, Grams
from everypair.neural.optimizers.sg46 import Sampler
from everypair.neural.trees import Both

ALPHA = 0.1


class RunningGrams:
    """The estimate with averaged Gram matrices, which are its memory."""

    def __init__(self, objective: TowerObjective, ratio: float = RATIO, alpha: float = ALPHA) -> None:
        self.sampler, self.alpha = Sampler(objective, ratio), alpha

    def __call__(self, theta: Both, grams: Grams | None, random: np.random.Generator) -> tuple[Both, Grams | None]:
        """ĝ."""
        one, other = self.sampler(theta, random), self.sampler(theta, random)
        now = other.grams()
        before = [np.zeros_like(matrix) for matrix in now] if grams is None else grams
        P, pulled_P, Q, pulled_Q = ((1 - self.alpha) * old + self.alpha * new for old, new in zip(before, now))
        return self.sampler.gradient(theta, one, (P, pulled_P, Q, pulled_Q)), (P, pulled_P, Q, pulled_Q)
