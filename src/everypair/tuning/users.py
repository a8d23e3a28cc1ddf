"""The quality of a model user by user, on held-out entries inside the training data, with standard errors.

Users fall into two halves. What is best is chosen on one and judged on the other, both ways round: over all users that
gives the gain of *choosing*, without the luck of having been chosen, and its standard error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.per_row import rows_error, user_metric
from everypair.metrics.ranking import Ranker, check_truth
from everypair.parallel import even_chunks
from everypair.types import Array

MOST_USERS = 10_000  # are measured, drawn at random where there are more
MEMORY_MB = 128  # of float32 scores at a time


class Means(NamedTuple):
    """Mean quality of all users and of either half."""

    all: float
    first: float
    second: float


class HeldOut:
    """Held-out positives of (at most 10,000) users, measured by one metric."""

    def __init__(self, train: Any, test: Any, metric: str, seed: int, n_threads: int) -> None:
        self.metric = checked_metric(metric)
        self.name = metric
        seen, positives = stored_pattern(train, "train"), positive_pattern(test, "held-out entries")
        check_truth(seen, positives, "train", "held-out entries")
        random = np.random.default_rng(seed)
        users = random.permutation(np.flatnonzero(np.diff(positives.indptr)))[:MOST_USERS]
        self.users = np.sort(users)
        self.seen, self.positives = seen[self.users], positives[self.users]
        self.in_first = np.zeros(len(users), bool)
        self.in_first[random.permutation(len(users))[: len(users) // 2]] = True
        self.n_threads = n_threads

    def values(self, score_users: Callable[[Array], Array]) -> Array:
        """One value per user; NaN where the metric is not defined."""
        ranker = Ranker(self.seen, self.positives, top=0)
        for first, beyond in even_chunks(len(self.users), max(1, MEMORY_MB * 2**18 // self.positives.shape[1])):
            rows = np.arange(first, beyond)
            ranker.add(rows, np.asarray(score_users(self.users[rows])), self.n_threads)
        return np.asarray(self.metric(ranker.ranking))

    def means(self, values: Array) -> Means:
        """Means over the users where the metric is defined."""
        halves = (np.ones_like(self.in_first), self.in_first, ~self.in_first)
        return Means(*(mean(values[half]) for half in halves))


def checked_metric(name: Any) -> Callable[[Any], Array]:
    """The metric of a ranking by its name, one value per user.

    >>> checked_metric("coverage@10")
    Traceback (most recent call last):
        ...
    ValueError: coverage@10 is a metric of all users together; tune compares users one by one.
    """
    metric = user_metric(name)
    if metric is None:
        raise ValueError(f"{name} is a metric of all users together; tune compares users one by one.")
    return metric


def mean(values: Array) -> float:
    """Mean without NaN; NaN of nothing.

    >>> mean(np.array([1.0, np.nan, 0.0]))
    0.5
    """
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def standard_error(values: Array) -> float:
    """Standard error of the mean without NaN; NaN of fewer than two.

    >>> standard_error(np.array([1.0, np.nan, 0.0]))
    0.5
    """
    return rows_error(values, "test")
