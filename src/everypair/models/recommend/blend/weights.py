"""Weights of a blend from held-out entries: the quality of every user's list for each of a few weights, and its mean.

Parts are weighted one after the other, over a fixed grid that holds 0 (leave it out). What is held out should be what
deployment asks for: random entries, every user's last one, or everything after a moment in time. Quality is nDCG@10, or
half of nDCG@10 and of recall@100 where content is a part: content is best at the top of the list, and by nDCG@10 alone
it drove out factors that find twice as much further down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.metrics.held_out import HeldOut
from everypair.metrics.per_row import ndcg, recall, rows_error
from everypair.types import Array

Weights = tuple[float, ...]
GRID = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0)
LENGTH = 10  # of the lists whose nDCG decides
LONG = 100  # of those whose recall does so too, where content is a part


def search_weights(
    scale_parts: Callable[[NDArray[np.int64]], list[Array]],
    train: Any,
    test: Any,
    start: Sequence[float],
    seed: int,
    n_threads: int,
    searched: Sequence[int] | None = None,
    long_lists: bool = False,
) -> tuple[Weights, list[dict[str, Any]]]:
    """Return the best weights and the table of all that were tried, in order.

    ``scale_parts(users)`` returns every part's scores of these users, each user's of root mean square 1. ``searched``
    are the parts whose weights are to be found, by default all but the first; ``long_lists`` lets recall@100 decide
    too. A row of the table has ``"weights"``, the mean ``"ndcg@10"`` over users (and ``"recall@100"``), and of what
    decides the ``"standard_error"`` and the mean ``"gain"`` over the starting weights with the standard error of that
    difference, user by user. Of equal means the one tried first is kept, and the starting weights are tried first.
    """
    held_out = HeldOut(train, test, random_state=seed, n_threads=n_threads)

    def measure(candidates: list[Weights]) -> list[Measured]:
        def score_users(users: NDArray[np.int64]) -> Iterator[Array]:
            parts = scale_parts(users)
            for weights in candidates:
                total = np.zeros_like(parts[0])
                for weight, scores in zip(weights, parts):
                    if weight:
                        total += scores.dtype.type(weight) * scores
                yield total

        rankings = held_out.rankings(score_users, len(candidates))
        return [Measured(ndcg(one, LENGTH), recall(one, LONG) if long_lists else None) for one in rankings]

    best: Weights = tuple(map(float, start))
    (reference,) = measure([best])
    table = [reference.row(best, reference)]
    best_mean = float(reference.quality.mean())
    for part in range(1, len(best)) if searched is None else searched:
        tried = [(*best[:part], weight, *best[part + 1 :]) for weight in GRID if weight != best[part]]
        for weights, measured in zip(tried, measure(tried)):
            table.append(measured.row(weights, reference))
            if measured.quality.mean() > best_mean:
                best, best_mean = weights, float(measured.quality.mean())
    return best, table


class Measured(NamedTuple):
    """nDCG@10 of every user, and recall@100 where it decides too."""

    ndcg: Array
    recall: Array | None

    @property
    def quality(self) -> Array:
        """What decides."""
        return self.ndcg if self.recall is None else (self.ndcg + self.recall) / 2

    def row(self, weights: Weights, reference: Measured) -> dict[str, Any]:
        """The row of a table."""
        gains = self.quality - reference.quality
        return {
            "weights": list(weights),
            f"ndcg@{LENGTH}": float(self.ndcg.mean()),
            **({} if self.recall is None else {f"recall@{LONG}": float(self.recall.mean())}),
            "standard_error": rows_error(self.quality),
            "gain": float(gains.mean()),
            "gain_standard_error": rows_error(gains),
        }
