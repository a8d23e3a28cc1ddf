"""The metrics of each row as functions of its positives' ranks, and their average over rows.

With the positives' 0-based ranks r_1 < … < r_p of a row and hits_k the number of them below k,

    precision@k = hits_k / k                   recall@k   = hits_k / p
    hit_rate@k  = [hits_k > 0]                 map@k      = Σ_{r_t<k} t / (r_t + 1) / min(k, p)
    mrr@k       = 1 / (r_1 + 1) where r_1 < k, else 0
    mean_precision@k = (1/k) Σ_{j=1..k} precision@j, which is ESL's (52)
    ndcg@k      = Σ_{r_t<k} 1/log₂(r_t + 2) / Σ_{t=0..min(k,p)−1} 1/log₂(t + 2)
    nhlu        = Σ_t 2^(−r_t/4) / Σ_{t=0..p−1} 2^(−t/4)
    map         = (1/p) Σ_t t / (r_t + 1)      auc        = correct pairs / (p · negatives)

A row's value is NaN where the metric is not defined: without positives, and for auc without negatives.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from everypair.metrics.ranking import Ranking

HALF_LIFE = 5  # the 1-based place where an item is worth half of the first: 2^(−(place − 1)/(HALF_LIFE − 1))

Values = NDArray[np.float64]


def _ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Values:
    """Divide, with NaN where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full(len(denominator), np.nan), where=denominator != 0)


def _hits(ranking: Ranking, k: int) -> Values:
    return ranking.sum_rows(ranking.ranks < k)


def _share_of_ideal(ranking: Ranking, gains: Values, ideal_gains: Values) -> Values:
    """Sum of a row's gains over the sum of the best gains that its number of positives allows.

    Both sums run from the best place down, one term at a time, so that a perfect row is exactly 1 and no row
    is above.
    """
    ideal = np.concatenate(([0.0], np.cumsum(ideal_gains)))
    return _ratio(ranking.sum_rows(gains), ideal[np.minimum(ranking.n_positives, len(ideal_gains))])


def precision(ranking: Ranking, k: int) -> Values:
    """hits_k / k."""
    return _ratio(_hits(ranking, k), k * (ranking.n_positives > 0))


def recall(ranking: Ranking, k: int) -> Values:
    """hits_k / p."""
    return _ratio(_hits(ranking, k), ranking.n_positives)


def hit_rate(ranking: Ranking, k: int) -> Values:
    """1 where a positive is among the first k, else 0."""
    return _ratio(_hits(ranking, k) > 0, ranking.n_positives > 0)


def ndcg(ranking: Ranking, k: int) -> Values:
    """Discounted gain of the first k places over the largest possible one."""
    gains = np.where(ranking.ranks < k, 1 / np.log2(ranking.ranks + 2.0), 0.0)
    longest = min(k, int(ranking.n_positives.max()))
    return _share_of_ideal(ranking, gains, 1 / np.log2(np.arange(longest) + 2.0))


def average_precision(ranking: Ranking, k: int | None = None) -> Values:
    """Mean of the precision at the place of every positive: of all, or of as many as the first k places hold."""
    count = np.arange(len(ranking.ranks)) - np.repeat(ranking.indptr[:-1], ranking.n_positives) + 1
    gains = count / (ranking.ranks + 1.0)
    if k is None:
        return _ratio(ranking.sum_rows(gains), ranking.n_positives)
    return _ratio(ranking.sum_rows(np.where(ranking.ranks < k, gains, 0.0)), np.minimum(ranking.n_positives, k))


def reciprocal_rank(ranking: Ranking, k: int) -> Values:
    """1 over the place of the first positive, 0 where none is among the first k."""
    places = np.where(ranking.ranks < k, 1 / (ranking.ranks + 1.0), 0.0)
    first = np.zeros(len(ranking.n_positives))
    there = ranking.n_positives > 0
    first[there] = places[ranking.indptr[:-1][there]]
    return _ratio(first, there)


def mean_precision(ranking: Ranking, k: int) -> Values:
    """Mean of precision@1 … precision@k, to which a positive of rank r < k adds (1/k) Σ_{j=r+1..k} 1/j."""
    places = np.minimum(ranking.ranks, k).astype(np.float64)
    total = ranking.sum_rows(digamma(k + 1.0) - digamma(places + 1.0))  # differences of harmonic numbers
    return np.minimum(_ratio(total, k * (ranking.n_positives > 0)), 1.0)


def half_life_utility(ranking: Ranking) -> Values:
    """Utility that halves every HALF_LIFE − 1 places, over the largest possible one."""
    decay = -1 / (HALF_LIFE - 1)
    ideal_ranks = np.arange(int(ranking.n_positives.max()), dtype=np.float64)
    return _share_of_ideal(ranking, np.exp2(decay * ranking.ranks), np.exp2(decay * ideal_ranks))


def pair_accuracy(ranking: Ranking) -> Values:
    """Share of the pairs (positive, negative) that are in the right order, ties ½."""
    positives = ranking.n_positives
    return _ratio(ranking.correct_pairs, positives * (ranking.n_candidates - positives))


AT_K: dict[str, Callable[[Ranking, int], Values]] = {
    "precision": precision,
    "recall": recall,
    "ndcg": ndcg,
    "hit_rate": hit_rate,
    "map": average_precision,
    "mean_precision": mean_precision,
    "mrr": reciprocal_rank,
}
WHOLE_LIST: dict[str, Callable[[Ranking], Values]] = {
    "nhlu": half_life_utility,
    "map": average_precision,
    "auc": pair_accuracy,
}


def metric_lengths(name: Any) -> tuple[int, ...]:
    """Refuse what is no name of a metric; return its k, if it has one.

    >>> metric_lengths("ndcg@10"), metric_lengths("auc")
    ((10,), ())
    """
    kind, at, k = str(name).partition("@")
    if not at and kind in WHOLE_LIST:
        return ()
    if kind in (*AT_K, "coverage") and k.isdecimal() and int(k) > 0:
        return (int(k),)
    names = ", ".join([*(f"{each}@k" for each in (*AT_K, "coverage")), *WHOLE_LIST])
    raise ValueError(f"metric must be one of {names}, with a number for k; got {name!r}.")


def user_metric(name: Any) -> Callable[[Ranking], Values] | None:
    """The metric of a ranking by its name, one value per row; ``None`` for coverage, which no row has by itself."""
    lengths = metric_lengths(name)
    if not lengths:
        return WHOLE_LIST[str(name)]
    at_k = AT_K.get(str(name).partition("@")[0])
    return None if at_k is None else lambda ranking: at_k(ranking, lengths[0])


def coverage(ranking: Ranking, k: int) -> float:
    """Share of the items that are among the first k of at least one row with a positive."""
    return float(np.mean(ranking.best_place < min(k, len(ranking.best_place))))


def average_rows(values: Values, average: str = "test") -> float:
    """Mean over the rows where the metric is defined ("test"), or over all, the others as 0 ("all").

    >>> average_rows(np.array([1.0, 0.5, np.nan]), "test"), average_rows(np.array([1.0, 0.5, np.nan]), "all")
    (0.75, 0.5)
    """
    defined = values[~np.isnan(values)]
    rows = len(defined) if average == "test" else len(values)
    return float(defined.sum() / rows) if rows else math.nan


def rows_error(values: Values, average: str = "test") -> float:
    """Standard error of :func:`average_rows`, s/√rows; NaN for fewer than two rows.

    >>> rows_error(np.array([1.0, 0.0, np.nan]))
    0.5
    """
    counted = values[~np.isnan(values)] if average == "test" else np.nan_to_num(values, nan=0.0)
    return float(counted.std(ddof=1) / np.sqrt(len(counted))) if len(counted) > 1 else math.nan


def check_average(average: str) -> None:
    """Refuse anything but the two ways to average."""
    if average not in ("test", "all"):
        raise ValueError(
            f'average must be "test" (rows with a test positive) or "all" (the other rows count as 0), got {average!r}.'
        )


def check_k(k: Any) -> int:
    """Return ``k`` as an int, or refuse it."""
    try:
        length = 0 if isinstance(k, bool) else operator.index(k)
    except TypeError:
        length = 0
    if length < 1:
        raise ValueError(f"The length k of a list must be a positive integer, got {k!r}.")
    return length
