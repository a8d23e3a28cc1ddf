"""Weights of a blend from held-out entries: the nDCG@10 of every user for each of a few weights, and its mean.

Parts are weighted against the first, one after the other, over a fixed grid that holds 0 (leave it out). What is held
out should be what deployment asks for: random entries, every user's last one, or everything after a moment in time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.per_row import ndcg
from everypair.metrics.ranking import Ranker, check_truth
from everypair.parallel import even_chunks
from everypair.types import Array

Weights = tuple[float, ...]
GRID = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0)
LENGTH = 10  # of the lists whose nDCG decides
MOST_USERS = 10_000  # are measured, drawn at random where there are more
MEMORY_MB = 128  # of float32 scores of one part at a time


def search_weights(
    scale_parts: Callable[[NDArray[np.int64]], list[Array]],
    train: Any,
    test: Any,
    start: Sequence[float],
    seed: int,
    n_threads: int,
) -> tuple[Weights, list[dict[str, Any]]]:
    """Return the best weights and the table of all that were tried, in order.

    ``scale_parts(users)`` returns every part's scores of these users, each user's of root mean square 1. A row of the
    table has ``"weights"``, the mean ``"ndcg@10"`` over users with its ``"standard_error"``, and the mean ``"gain"``
    over the starting weights with the standard error of that difference, user by user. Of equal means the one tried
    first is kept, and the starting weights are tried first.
    """
    seen, positives = stored_pattern(train, "train"), positive_pattern(test, "held-out entries")
    check_truth(seen, positives, "train", "held-out entries")
    users = np.flatnonzero(np.diff(positives.indptr))
    if len(users) > MOST_USERS:
        users = np.sort(np.random.default_rng(seed).choice(users, MOST_USERS, replace=False))
    seen, positives = seen[users], positives[users]

    def measure(candidates: list[Weights]) -> list[Array]:
        rankers = [Ranker(seen, positives, top=0) for _ in candidates]
        for first, beyond in even_chunks(len(users), max(1, MEMORY_MB * 2**18 // positives.shape[1])):
            parts = scale_parts(users[first:beyond])
            for ranker, weights in zip(rankers, candidates):
                total = np.zeros_like(parts[0])
                for weight, scores in zip(weights, parts):
                    if weight:
                        total += scores.dtype.type(weight) * scores
                ranker.add(np.arange(first, beyond), total, n_threads)
        return [ndcg(ranker.ranking, LENGTH) for ranker in rankers]

    best: Weights = tuple(map(float, start))
    (reference,) = measure([best])
    table = [_row(best, reference, reference)]
    best_mean = float(reference.mean())
    for part in range(1, len(best)):
        tried = [(*best[:part], weight, *best[part + 1 :]) for weight in GRID if weight != best[part]]
        for weights, values in zip(tried, measure(tried)):
            table.append(_row(weights, values, reference))
            if values.mean() > best_mean:
                best, best_mean = weights, float(values.mean())
    return best, table


def _row(weights: Weights, values: Array, reference: Array) -> dict[str, Any]:
    gains = values - reference
    return {
        "weights": list(weights),
        f"ndcg@{LENGTH}": float(values.mean()),
        "standard_error": _standard_error(values),
        "gain": float(gains.mean()),
        "gain_standard_error": _standard_error(gains),
    }


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
