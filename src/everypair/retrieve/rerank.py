"""Lists with a word to say besides scores: at most so many of a group, and less of the same.

    at most     go down the ranking, leave out an item whose group has its number already: exact
    diversity   take the item with the greatest (1 − λ) r_j − λ max_{l taken} cos(j, l), r_j scaled to [0, 1]

The second looks at a pool of the best items; it is maximal marginal relevance. Scores stay those of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.retrieve.scores import Scores, checked_n
from everypair.retrieve.similar import SparseVectors, UnitVectors
from everypair.types import Array

POOL = 5  # times the length of a list, and
LEAST = 50  # items at least, are looked at for diversity
Limits = list[tuple[NDArray[np.int64], int]]  # the group of every item (−1: of none), and how many of each


def reranked(
    scores: Scores, n: int, limits: Limits, diversity: float, vectors: UnitVectors | None, **options: Any
) -> tuple[NDArray[np.int32], Array]:
    """The n items of every row, as :meth:`Scores.top_k` returns them; ``options`` are its filters.

    >>> scores = Scores.of_factors(np.ones((1, 1)), np.array([[4.0], [3.0], [2.0], [1.0]]))
    >>> reranked(scores, 2, [(np.array([0, 0, 1, 1]), 1)], 0.0, None)[0]
    array([[0, 2]], dtype=int32)
    """
    n, n_items = checked_n(n), scores.n_items
    depth = min(n_items, max(POOL * n, LEAST))
    while True:
        items, values = scores.top_k(depth, **options)
        taken = _diverse(items, values, n, limits, diversity, vectors) if diversity else _in_order(items, n, limits)
        short = (taken[:, -1] < 0) & (items[:, -1] >= 0)
        if depth == n_items or not short.any():
            break
        depth = min(4 * depth, n_items)
    rows = np.arange(len(items))[:, None]
    there = taken >= 0
    lowest = np.array(-np.inf, values.dtype)
    return (
        np.where(there, items[rows, taken], -1).astype(np.int32),
        np.where(there, values[rows, taken], lowest).astype(values.dtype),
    )


def _in_order(items: NDArray[np.int32], n: int, limits: Limits) -> NDArray[np.int64]:
    """Places of the first n items of every row that no group is too full for."""
    rows = len(items)
    taken, count = np.full((rows, n), -1, np.int64), np.zeros(rows, np.int64)
    groups = [np.full((rows, n), -1, np.int64) for _ in limits]
    for place in range(items.shape[1]):
        item = items[:, place]
        fits = (item >= 0) & (count < n)
        if not (count < n).any():
            break
        own = [np.where(item >= 0, codes[item], -1) for codes, _ in limits]
        for mine, other, (_, most) in zip(own, groups, limits):
            fits &= (mine < 0) | ((other == mine[:, None]).sum(axis=1) < most)
        chosen = np.flatnonzero(fits)
        taken[chosen, count[chosen]] = place
        for mine, other in zip(own, groups):
            other[chosen, count[chosen]] = mine[chosen]
        count[chosen] += 1
    return taken


def _diverse(
    items: NDArray[np.int32], values: Array, n: int, limits: Limits, diversity: float, vectors: UnitVectors | None
) -> NDArray[np.int64]:
    """Places in the order in which they are taken, row by row."""
    assert vectors is not None
    taken = np.full((len(items), n), -1, np.int64)
    for row, (own, scores) in enumerate(zip(items, values)):
        pool = own[own >= 0]
        if not len(pool):
            continue
        cosines = _cosines(pool, vectors)
        rated = scores[: len(pool)].astype(np.float64)
        spread = rated[0] - rated[-1]
        rated = (1 - diversity) * ((rated - rated[-1]) / spread if spread > 0 else np.ones(len(pool)))
        nearest, free = np.zeros(len(pool)), np.ones(len(pool), np.bool_)
        left = [{} for _ in limits]  # type: list[dict[int, int]]
        for step in range(min(n, len(pool))):
            if not free.any():
                break
            best = int(np.argmax(np.where(free, rated - diversity * nearest, -np.inf)))
            taken[row, step], free[best] = best, False
            nearest = np.maximum(nearest, cosines[best]) if step else cosines[best].copy()
            for (codes, most), counts in zip(limits, left):
                group = int(codes[pool[best]])
                counts[group] = counts.get(group, 0) + 1
                if group >= 0 and counts[group] == most:
                    free &= codes[pool] != group
    return taken


def _cosines(pool: NDArray[np.int32], vectors: UnitVectors) -> NDArray[np.float64]:
    total = np.zeros((len(pool), len(pool)))
    for weight, unit in vectors:
        if isinstance(unit, SparseVectors):
            sparse = unit.rows[pool]
            total += weight * (sparse @ sparse.T).toarray()
        else:
            dense = unit.rows(pool)
            total += weight * (dense @ dense.T)
    return total / sum(weight for weight, _ in vectors)
