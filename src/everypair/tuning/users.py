"""The quality of a model user by user, on held-out entries inside the training data, in two halves of the users.

What is best is chosen on one half and judged on the other, both ways round: over all users that gives the gain of
*choosing*, without the luck of having been chosen, and its standard error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from everypair.metrics.held_out import MOST_USERS, HeldOut, checked_metric, users_with_positives
from everypair.metrics.per_row import average_rows
from everypair.metrics.stream import ScoreRows
from everypair.types import Array64


class Means(NamedTuple):
    """Mean quality of all users and of either half."""

    all: float
    first: float
    second: float


class HalvedUsers:
    """Held-out positives of (at most 10,000) users in two halves, measured by one metric.

    >>> users = HalvedUsers(np.eye(4), 1 - np.eye(4), "precision@1", 0, 1)
    >>> users.means(users.values(lambda some: np.ones((len(some), 4))))
    Means(all=1.0, first=1.0, second=1.0)
    """

    def __init__(self, train: Any, test: Any, metric: str, seed: int, n_threads: int) -> None:
        self.metric = checked_metric(metric)
        random = np.random.default_rng(seed)
        users = np.sort(random.permutation(users_with_positives(test))[:MOST_USERS])
        self.held_out = HeldOut(train, test, users, n_threads=n_threads)
        self.n_threads = n_threads
        self.in_first = np.zeros(len(users), bool)
        self.in_first[random.permutation(len(users))[: len(users) // 2]] = True

    def values(self, score_users: ScoreRows) -> Array64:
        """One value per user; NaN where the metric is not defined."""
        return self.metric(self.held_out.ranking(score_users))

    def means(self, values: Array64) -> Means:
        """Means over the users where the metric is defined."""
        halves = (np.ones_like(self.in_first), self.in_first, ~self.in_first)
        return Means(*(average_rows(values[half]) for half in halves))
