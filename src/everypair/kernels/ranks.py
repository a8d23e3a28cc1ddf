"""Ranks of a row's positives among its candidates, and the pairs they win, without sorting the row.

Candidates of a row are all items except the seen ones, in descending order of their scores, ties by ascending
item. With the p positives in that order, x_0 … x_{p−1}, and every other candidate a negative,

    rank_t  = number of candidates before x_t
    correct = Σ_t (negatives with a score below x_t's) + ½ Σ_t (negatives with the score of x_t)
            = Σ_t (negatives − (rank_t − t)) + ½ Σ_t (ties before x_t − ties after x_t)

The second form needs no second look at the negatives: ties between two positives cancel. All items are
counted first and the seen ones taken out again, so no mask is needed. Few positives are counted one at a
time, which the compiler turns into vector comparisons; with many, every item is placed by binary search. A
row costs O(n log p).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

COUNT_UP_TO = 192  # positives; measured per item: 0.07 to 0.2 ns each to count, 45 ns and more to search


@njit(nogil=True, cache=True)
def _count_row(row: NDArray[Any], best_first: NDArray[np.int32], levels: NDArray[Any], ranks: NDArray[np.int32]) -> int:
    """Write every positive's rank among all items; return Σ (ties before − ties after)."""
    balance = 0
    for t in range(len(best_first)):
        level = levels[t]
        greater, not_less = np.int32(0), np.int32(0)  # as wide as float32, for the compiler's vectors
        for j in range(len(row)):
            greater = np.int32(greater + np.int32(row[j] > level))
            not_less = np.int32(not_less + np.int32(row[j] >= level))
        ties = int(not_less) - int(greater) - 1
        ties_before = 0
        if ties > 0:
            for j in range(best_first[t]):
                ties_before += row[j] == level
        ranks[t] = greater + ties_before
        balance += 2 * ties_before - ties
    return balance


@njit(nogil=True, cache=True)
def _sink(row: NDArray[Any], items: NDArray[np.int32], hole: int, size: int) -> None:
    """Let ``items[hole]`` sink in the heap of the first ``size`` items, which has the last of all candidates on top."""
    item = items[hole]
    while 2 * hole + 1 < size:
        child = 2 * hole + 1
        if child + 1 < size:
            one, other = items[child], items[child + 1]
            if row[other] < row[one] or (row[other] == row[one] and other > one):
                child += 1
        below = items[child]
        if row[below] > row[item] or (row[below] == row[item] and below < item):
            break
        items[hole] = below
        hole = child
    items[hole] = item


@njit(nogil=True, cache=True)
def _sort_best_first(row: NDArray[Any], items: NDArray[np.int32]) -> None:
    """Sort items in place, best first: heapsort, because a sort of numpy takes longer to compile than all else here."""
    for hole in range(len(items) // 2 - 1, -1, -1):
        _sink(row, items, hole, len(items))
    for last in range(len(items) - 1, 0, -1):
        items[0], items[last] = items[last], items[0]
        _sink(row, items, np.int64(0), last)


@njit(nogil=True, cache=True)
def _place(
    score: float,
    item: int,
    best_first: NDArray[np.int32],
    levels: NDArray[Any],
    group_stop: NDArray[np.int32],
) -> tuple[int, int]:
    """Return the first positive t that comes after ``item``, and its share of the ties' balance."""
    p = len(levels)
    if score < levels[p - 1]:
        return p, 0
    low, size = 0, p
    while size > 0:  # low becomes the number of positives with a greater score
        half = size >> 1
        if levels[low + half] > score:
            low += half + 1
            size -= half + 1
        else:
            size = half
    if low == p or levels[low] != score:
        return low, 0
    stop = group_stop[low]
    t, high = low, stop
    while t < high:
        middle = (t + high) >> 1
        if item < best_first[middle]:
            high = middle
        else:
            t = middle + 1
    return t, low + stop - 2 * t


@njit(nogil=True, cache=True)
def rank_rows(
    scores: NDArray[Any],
    rows: NDArray[np.int64],
    seen_indptr: NDArray[np.int64],
    seen_indices: NDArray[np.int32],
    positive_indptr: NDArray[np.int64],
    positive_indices: NDArray[np.int32],
    ranks: NDArray[np.int32],
    correct_pairs: NDArray[np.float64],
) -> None:
    """Rank the positives of ``rows``: ``scores[r]`` (C order, no NaN) belongs to row ``rows[r]``.

    Both patterns are CSR with ascending items, and no positive is seen. Row i fills its stretch
    ``ranks[positive_indptr[i]:positive_indptr[i + 1]]`` in ascending order, and ``correct_pairs[i]``.

    >>> ranks, correct = np.empty(2, dtype=np.int32), np.empty(1)
    >>> seen = np.array([0, 1]), np.array([0], dtype=np.int32)
    >>> positives = np.array([0, 2]), np.array([2, 4], dtype=np.int32)
    >>> rank_rows(np.array([[9.0, 3.0, 3.0, 1.0, 2.0]]), np.array([0]), *seen, *positives, ranks, correct)
    >>> ranks.tolist(), correct.tolist()
    ([1, 2], [2.5])
    """
    n_items = scores.shape[1]
    for r in range(len(rows)):
        i = rows[r]
        row = scores[r]
        start, stop = positive_indptr[i], positive_indptr[i + 1]
        p = stop - start
        correct_pairs[i] = 0.0
        if p == 0:
            continue
        best_first, levels = np.empty(p, np.int32), np.empty(p, scores.dtype)
        for t in range(p):
            best_first[t] = positive_indices[start + t]
        _sort_best_first(row, best_first)
        for t in range(p):
            levels[t] = row[best_first[t]]
        group_stop = np.empty(p, np.int32)  # one past the last positive with the score of t
        for t in range(p - 1, -1, -1):
            group_stop[t] = group_stop[t + 1] if t < p - 1 and levels[t] == levels[t + 1] else t + 1

        row_ranks = ranks[start:stop]
        entered = np.zeros(p + 1, np.int64)  # candidates that come before positive t but not before t − 1
        if p <= COUNT_UP_TO:
            balance = _count_row(row, best_first, levels, row_ranks)
        else:
            for t in range(p):
                row_ranks[t] = 0
            balance = p  # _place takes a positive to come after itself: one too little for each
            for j in range(n_items):
                t, share = _place(row[j], j, best_first, levels, group_stop)
                entered[t] += 1
                balance += share
        for at in range(seen_indptr[i], seen_indptr[i + 1]):
            item = np.int64(seen_indices[at])  # as wide as j above: one compiled search serves both
            t, share = _place(row[item], item, best_first, levels, group_stop)
            entered[t] -= 1
            balance -= share

        negatives = n_items - (seen_indptr[i + 1] - seen_indptr[i]) - p
        before, pairs = 0, 0
        for t in range(p):
            before += entered[t]
            row_ranks[t] += before
            pairs += negatives - (row_ranks[t] - t)
        correct_pairs[i] = pairs + 0.5 * balance
