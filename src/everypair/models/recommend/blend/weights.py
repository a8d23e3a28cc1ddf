"""Weights of a blend from held-out entries: the nDCG@10 of every user for each of a few weights, and its mean.

Parts are weighted against the first, one after the other, over a fixed grid that holds 0 (leave it out). What is held
out should be what deployment asks for: random entries, every user's last one, or everything after a moment in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.metrics.held_out import HeldOut
from everypair.metrics.per_row import ndcg, rows_error
from everypair.types import Array

Weights = tuple[float, ...]
GRID = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0)
LENGTH = 10  # of the lists whose nDCG decides


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
    held_out = HeldOut(train, test, random_state=seed, n_threads=n_threads)

    def measure(candidates: list[Weights]) -> list[Array]:
        def score_users(users: NDArray[np.int64]) -> Iterator[Array]:
            parts = scale_parts(users)
            for weights in candidates:
                total = np.zeros_like(parts[0])
                for weight, scores in zip(weights, parts):
                    if weight:
                        total += scores.dtype.type(weight) * scores
                yield total

        return [ndcg(ranking, LENGTH) for ranking in held_out.rankings(score_users, len(candidates))]

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
        "standard_error": rows_error(values),
        "gain": float(gains.mean()),
        "gain_standard_error": rows_error(gains),
    }
