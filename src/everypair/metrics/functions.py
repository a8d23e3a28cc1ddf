"""One function per metric, of dense scores and the truth.

All take ``scores`` (rows × items, no NaN, −inf ranks last), ``truth`` of the same shape (dense or sparse, a
value above 0 is a positive), ``exclude`` (dense or sparse: pairs stored there, such as the training pairs,
are no candidates) and ``average``: ``"test"`` averages over the rows with a positive, ``"all"`` over all
rows, the others as 0. Ties in scores rank by ascending item. For several metrics at once, or for scores that
do not fit into memory, use `everypair.metrics.stream_metrics`.
"""

from __future__ import annotations

from typing import Any

from everypair.metrics import per_row
from everypair.metrics.patterns import Matrix
from everypair.metrics.ranking import rank_dense


def _at_k(metric: str, scores: Any, truth: Matrix, k: int, exclude: Matrix | None, average: str) -> float:
    per_row.check_average(average)
    k = per_row.check_k(k)
    return per_row.average_rows(per_row.AT_K[metric](rank_dense(scores, truth, exclude), k), average)


def _whole_list(metric: str, scores: Any, truth: Matrix, exclude: Matrix | None, average: str) -> float:
    per_row.check_average(average)
    return per_row.average_rows(per_row.WHOLE_LIST[metric](rank_dense(scores, truth, exclude)), average)


def precision_at_k(scores: Any, truth: Matrix, k: int, exclude: Matrix | None = None, average: str = "test") -> float:
    """Positives among the first k, divided by k.

    >>> precision_at_k([[0.9, 0.5, 0.1]], [[1, 0, 1]], k=2)
    0.5
    """
    return _at_k("precision", scores, truth, k, exclude, average)


def recall_at_k(scores: Any, truth: Matrix, k: int, exclude: Matrix | None = None, average: str = "test") -> float:
    """Positives among the first k, divided by the number of positives (not by min(k, positives)).

    >>> recall_at_k([[0.9, 0.5, 0.1]], [[1, 0, 1]], k=1)
    0.5
    """
    return _at_k("recall", scores, truth, k, exclude, average)


def ndcg_at_k(scores: Any, truth: Matrix, k: int, exclude: Matrix | None = None, average: str = "test") -> float:
    """Sum of 1/log₂(place + 1) over the positives among the first k, divided by the largest possible sum.

    >>> round(ndcg_at_k([[0.9, 0.5, 0.1]], [[0, 1, 0]], k=2), 4)
    0.6309
    """
    return _at_k("ndcg", scores, truth, k, exclude, average)


def hit_rate_at_k(scores: Any, truth: Matrix, k: int, exclude: Matrix | None = None, average: str = "test") -> float:
    """Share of the rows with at least one positive among the first k.

    >>> hit_rate_at_k([[0.9, 0.5], [0.9, 0.5]], [[1, 0], [0, 1]], k=1)
    0.5
    """
    return _at_k("hit_rate", scores, truth, k, exclude, average)


def map_at_k(scores: Any, truth: Matrix, k: int, exclude: Matrix | None = None, average: str = "test") -> float:
    """Average precision cut at k: the sum of the precision at every positive among the first k, over min(k, positives).

    >>> map_at_k([[0.9, 0.5, 0.1]], [[1, 0, 1]], k=2)
    0.5
    """
    return _at_k("map", scores, truth, k, exclude, average)


def mrr_at_k(scores: Any, truth: Matrix, k: int, exclude: Matrix | None = None, average: str = "test") -> float:
    """1 over the place of the first positive, 0 where none is among the first k: the mean reciprocal rank.

    >>> mrr_at_k([[0.9, 0.5, 0.1]], [[0, 1, 1]], k=2)
    0.5
    """
    return _at_k("mrr", scores, truth, k, exclude, average)


def mean_precision_at_k(
    scores: Any, truth: Matrix, k: int, exclude: Matrix | None = None, average: str = "test"
) -> float:
    """Mean of precision@1, …, precision@k: what Yuan et al. (ESL) call MAP@k, their equation (52).

    >>> round(mean_precision_at_k([[0.9, 0.5, 0.1]], [[1, 0, 0]], k=2), 6)
    0.75
    """
    return _at_k("mean_precision", scores, truth, k, exclude, average)


def nhlu(scores: Any, truth: Matrix, exclude: Matrix | None = None, average: str = "test") -> float:
    """Normalised half-life utility: Σ 2^(−(place − 1)/4) over the positives, divided by the largest possible.

    >>> nhlu([[5, 4, 3, 2, 1]], [[0, 0, 0, 0, 1]])
    0.5
    """
    return _whole_list("nhlu", scores, truth, exclude, average)


def mean_average_precision(scores: Any, truth: Matrix, exclude: Matrix | None = None, average: str = "test") -> float:
    """Mean over rows of the average precision: the mean of the precision at every positive's place.

    >>> mean_average_precision([[0.9, 0.5, 0.1, 0.0]], [[1, 0, 0, 1]])
    0.75
    """
    return _whole_list("map", scores, truth, exclude, average)


def auc(scores: Any, truth: Matrix, exclude: Matrix | None = None, average: str = "test") -> float:
    """Share of a row's pairs (positive, negative candidate) that are in the right order, ties ½.

    Rows whose candidates are all positive have no such pair: ``average="test"`` leaves them out, ``"all"``
    counts them as 0 like rows without positives. NaN if no row is left.

    >>> auc([[0.9, 0.5, 0.5]], [[0, 1, 0]])
    0.25
    """
    return _whole_list("auc", scores, truth, exclude, average)


def coverage_at_k(scores: Any, truth: Matrix, k: int, exclude: Matrix | None = None) -> float:
    """Share of the items that are among the first k of at least one row with a positive.

    Items with a score of −inf are never counted as shown.

    >>> coverage_at_k([[0.9, 0.5, 0.1], [0.9, 0.8, 0.1]], [[1, 0, 0], [0, 0, 1]], k=2)
    0.6666666666666666
    """
    k = per_row.check_k(k)
    return per_row.coverage(rank_dense(scores, truth, exclude, top=k), k)
