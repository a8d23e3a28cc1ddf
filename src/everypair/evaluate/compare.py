"""Two systems on the same users: their difference by a metric, and whether it is more than chance.

d_u = second_u − first_u,      95 % of the means of users drawn with replacement: the paired bootstrap
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from everypair.check import integer
from everypair.evaluate.by_id import without_ids
from everypair.evaluate.given_lists import are_lists, ranking_of_lists
from everypair.evaluate.ranking_metrics import rank_users
from everypair.metrics.held_out import checked_metric
from everypair.metrics.per_row import metric_lengths
from everypair.types import Array

DRAWN_AT_ONCE = 64


class Comparison(NamedTuple):
    """Means of both systems over the same users, their mean difference with a 95 % interval, and the p-value."""

    metric: str
    first: float
    second: float
    difference: float
    interval: tuple[float, float]
    p_value: float
    users: int

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.metric}: {self.first:.4f} and {self.second:.4f}, difference {self.difference:+.4f} "
            f"({low:+.4f} to {high:+.4f}, p = {self.p_value:.3g}) over {self.users:,} users"
        )


def compare(
    first: Any,
    second: Any,
    train: Any,
    test: Any,
    metric: str = "ndcg@10",
    *,
    repeats: str = "drop",
    samples: int = 2000,
    random_state: int = 0,
    n_threads: int | None = None,
) -> Comparison:
    """Compare two systems, fitted models or tables of their lists, user by user on the same test positives.

    ``train``, ``test`` and ``repeats`` are those of :func:`everypair.evaluate.ranking_metrics`. The interval and the
    p-value (two-sided) come from ``samples`` samples of the users with replacement, each user with both of its values.

    >>> from everypair import ItemItem, Popularity
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))
    >>> test = np.kron(np.eye(2), np.eye(6, 5))
    >>> train = blocks - test
    >>> found = compare(Popularity().fit(train), ItemItem(neighbors=4).fit(train), train, test, "hit_rate@1")
    >>> found.second, found.difference > 0
    (1.0, True)
    """
    integer("samples", samples, 100)
    values = [_values(one, train, test, metric, repeats, n_threads) for one in (first, second)]
    there = ~np.isnan(values[0]) & ~np.isnan(values[1])
    one, other = values[0][there], values[1][there]
    if not len(one):
        raise ValueError(f"no user has a value of {metric} in both.")
    gaps = other - one
    random = np.random.default_rng(integer("random_state", random_state, 0))
    means = np.concatenate([
        gaps[random.integers(len(gaps), size=(min(DRAWN_AT_ONCE, samples - start), len(gaps)))].mean(axis=1)
        for start in range(0, samples, DRAWN_AT_ONCE)
    ])  # fmt: skip
    low, high = np.quantile(means, [0.025, 0.975])
    tail = float(min(np.mean(means <= 0), np.mean(means >= 0)))
    return Comparison(
        metric, float(one.mean()), float(other.mean()), float(gaps.mean()), (float(low), float(high)),
        min(1.0, 2 * max(tail, 1 / samples)), len(gaps),
    )  # fmt: skip


def _values(model: Any, train: Any, test: Any, metric: str, repeats: str, n_threads: int | None) -> Array:
    """The metric of every user."""
    lengths = metric_lengths(metric)
    if are_lists(model):
        if not lengths:
            raise ValueError(f"given lists have metrics of their first places alone, such as ndcg@10, not {metric}.")
        ranking, _ = ranking_of_lists(model, train, test, max(lengths), repeats)
    else:
        model, train, test, _ = without_ids(model, train, test)
        ranking, _ = rank_users(model, train, test, lengths, n_threads=n_threads, repeats=repeats)
    return checked_metric(metric)(ranking)
