"""Counts, fitted: the same scores for everybody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.models.codec import storable
from everypair.models.recommend.factors import FactorState
from everypair.models.recommend.fitted import Newcomers
from everypair.types import Array


@storable
@dataclass(frozen=True, kw_only=True)
class CountState(FactorState):
    """1 for every user, the number of positives of every item."""

    def folded_users(self, users: Newcomers, n_threads: int) -> Array:
        """Everybody has the factor 1."""
        return np.ones((self.events_alone(users).shape[0], 1), np.float32)
