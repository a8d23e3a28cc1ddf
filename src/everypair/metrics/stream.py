"""All metrics in one pass over blocks of rows, within a memory budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.metrics.means import Metrics
from everypair.metrics.patterns import Matrix, positive_pattern, stored_pattern
from everypair.metrics.per_row import AT_K, WHOLE_LIST, average_rows, check_average, check_k, coverage, rows_error
from everypair.metrics.ranking import Ranker, Ranking, check_truth
from everypair.parallel import even_chunks, resolve_threads

KS = (1, 5, 10, 20)
MEMORY_MB = 256

ScoreRows = Callable[[NDArray[np.int64]], NDArray[Any]]


def stream_metrics(
    score_rows: ScoreRows,
    seen: Matrix,
    test: Matrix,
    ks: Sequence[int] = KS,
    *,
    average: str = "test",
    memory_mb: float = MEMORY_MB,
    n_threads: int | None = None,
) -> Metrics:
    """Compute every ranking metric without ever holding all scores.

    Parameters
    ----------
    score_rows
        Takes an ascending array of row numbers and returns their scores for all items, (len(rows), n_items).
        It is called for rows with a test positive only, block by block.
    seen, test
        rows × items, sparse or dense. Pairs stored in ``seen`` are no candidates, whatever their value;
        values above 0 in ``test`` are the positives, the rest of it is ignored.
    ks
        Lengths of the top lists.
    average, memory_mb, n_threads
        As for :func:`everypair.evaluate.ranking_metrics`: rows are its users. No bit of the result depends on memory
        and threads.

    Returns
    -------
    dict
        What :func:`~everypair.evaluate.ranking_metrics` returns: all in [0, 1], except that auc is NaN where no row has
        a pair of a positive and a negative.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.3, 0.4]])
    >>> seen, test = [[1, 0, 0], [0, 0, 0]], [[0, 1, 0], [1, 0, 0]]
    >>> result = stream_metrics(lambda rows: scores[rows], seen, test, ks=[1])
    >>> result["precision@1"], result["auc"]
    (0.5, 0.5)
    """
    seen_pairs, positives = stored_pattern(seen, "seen"), positive_pattern(test, "test")
    check_truth(seen_pairs, positives, "seen", "test")
    return measure(score_rows, seen_pairs, positives, ks, average, memory_mb, n_threads)


def measure(
    score_rows: ScoreRows,
    seen: sp.csr_array,
    positives: sp.csr_array,
    ks: Sequence[int],
    average: str,
    memory_mb: float,
    n_threads: int | None,
) -> Metrics:
    """Do the work of `stream_metrics` on patterns that have been checked."""
    lengths = check_lengths(ks)
    check_average(average)
    return summarise(rank_rows(score_rows, seen, positives, lengths, memory_mb, n_threads), lengths, average)


def check_lengths(ks: Any) -> list[int]:
    """The lengths of the top lists, or a sentence."""
    if not isinstance(ks, (Sequence, np.ndarray)):
        raise ValueError(f"ks must be a sequence of positive integers such as (5, 10), got {ks!r}.")
    return [check_k(k) for k in ks]


def rank_rows(
    score_rows: ScoreRows,
    seen: sp.csr_array,
    positives: sp.csr_array,
    lengths: Sequence[int],
    memory_mb: float,
    n_threads: int | None,
) -> Ranking:
    """Where the positives of every row stand, block by block."""
    longest = max(lengths, default=0)
    threads = resolve_threads(n_threads)
    return rank_candidates(lambda rows: [score_rows(rows)], 1, seen, positives, longest, memory_mb, threads)[0]


def rank_candidates(
    score_rows: Callable[[NDArray[np.int64]], Iterable[Any]],
    count: int,
    seen: sp.csr_array,
    positives: sp.csr_array,
    top: int,
    memory_mb: float,
    n_threads: int,
) -> list[Ranking]:
    """The same by each of ``count`` scores of a block, given one after the other; ``top`` as for :class:`Ranker`."""
    if not memory_mb > 0:
        raise ValueError(f"memory_mb must be positive, got {memory_mb!r}.")
    rankers = [Ranker(seen, positives, top) for _ in range(count)]
    rows = np.flatnonzero(np.diff(positives.indptr))
    row_bytes = positives.shape[1] * np.dtype(np.float64).itemsize
    for start, stop in even_chunks(len(rows), max(1, int(memory_mb * 2**20 / row_bytes))):
        block = rows[start:stop]
        for ranker, scores in zip(rankers, score_rows(block), strict=True):
            ranker.add(block, np.asarray(scores), n_threads)
    return [ranker.ranking for ranker in rankers]


def summarise(ranking: Ranking, lengths: Sequence[int], average: str) -> Metrics:
    """Means over rows, and their standard errors."""
    result, errors = {}, {}

    def keep(name: str, values: Any) -> None:
        result[name], errors[name] = average_rows(values, average), rows_error(values, average)

    for k in lengths:
        for name, metric in AT_K.items():
            keep(f"{name}@{k}", metric(ranking, k))
        result[f"coverage@{k}"] = coverage(ranking, k)
    for name, whole in WHOLE_LIST.items():
        keep(name, whole(ranking))
    return Metrics(result, errors)
