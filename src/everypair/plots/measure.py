"""The numbers behind a report: lists, groups of users and items, shares of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from everypair.evaluate.by_events import ItemGroup, grouped_by_events, hits
from everypair.evaluate.ranking_metrics import rank_users
from everypair.metrics.lists import beyond_accuracy
from everypair.metrics.means import Metrics
from everypair.metrics.patterns import positive_pattern, stored_pattern, without
from everypair.metrics.per_row import ndcg, rows_error
from everypair.metrics.stream import summarise
from everypair.types import Array

LENGTH = 10
GROUPS = 5


class Group(NamedTuple):
    """Users (or test entries by their items) with ``low`` to ``high`` training events: their mean and its error."""

    low: int
    high: int
    size: int
    mean: float
    error: float


@dataclass(frozen=True)
class MeasuredModel:
    """One model on the test pairs."""

    name: str
    metrics: Metrics
    lists: Metrics
    by_activity: list[Group]
    by_popularity: list[Group]
    by_events: list[ItemGroup]
    exposure: Array  # cumulative share of recommendations by items, the most popular first
    recommended: Array  # of the users with a test positive


def measure_model(name: str, model: Any, train: Any, test: Any) -> MeasuredModel:
    """Rank, recommend and group."""
    seen = stored_pattern(train, "train")
    positives = without(positive_pattern(test, "test"), seen)
    liked = positive_pattern(train, "train")
    ranking, _ = rank_users(model, train, test, [1, 5, LENGTH])
    users = np.flatnonzero(np.diff(positives.indptr))
    recommended, _ = model.recommend(users, n=LENGTH)
    popularity = np.bincount(liked.indices, minlength=liked.shape[1])
    recommended_positives = hits(recommended, positives[users])
    quality = ndcg(ranking, LENGTH)[users]
    return MeasuredModel(
        name,
        summarise(ranking, [1, 5, LENGTH], "test"),
        beyond_accuracy(recommended, train, test, [LENGTH], users=users),
        grouped(np.diff(seen.indptr)[users], quality),
        grouped(popularity[positives[users].indices], recommended_positives.astype(float)),
        grouped_by_events(popularity[positives[users].indices], recommended_positives),
        exposure(recommended, popularity),
        recommended,
    )


def grouped(sizes: Array, values: Array, groups: int = GROUPS) -> list[Group]:
    """Cut at quantiles of ``sizes`` and average ``values`` in each part; equal sizes stay together.

    >>> [tuple(group)[:4] for group in grouped(np.array([1, 1, 5, 9]), np.array([0.0, 1.0, 1.0, 1.0]), 2)]
    [(1, 1, 2, 0.5), (5, 9, 2, 1.0)]
    """
    ends = np.unique(np.quantile(sizes, np.linspace(0, 1, groups + 1)[1:], method="lower"))
    part = np.searchsorted(ends, sizes)
    result = []
    for number in range(len(ends)):
        own = part == number
        if own.any():
            inside = values[own]
            result.append(
                Group(int(sizes[own].min()), int(sizes[own].max()), int(own.sum()), float(np.nanmean(inside)),
                      rows_error(inside))
            )  # fmt: skip
    return result


def exposure(lists: Array, popularity: Array) -> Array:
    """Cumulative share of all recommendations that go to the most popular item, the first two, ….

    >>> exposure(np.array([[0, 1], [0, -1]]), np.array([9, 5, 7])).round(3).tolist()
    [0.667, 0.667, 1.0]
    """
    order = np.lexsort((np.arange(len(popularity)), -popularity))
    counts = np.bincount(lists[lists >= 0], minlength=len(popularity))[order]
    return np.asarray(np.cumsum(counts) / max(counts.sum(), 1))
