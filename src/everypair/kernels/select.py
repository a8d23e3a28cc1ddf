"""The n best of a row: scores in descending order, ties by ascending item index.

Every row keeps its n best so far in a binary heap with the *worst* of them at the root: the lowest score
and, among equals, the greatest item. Items arrive in ascending order, so a newcomer enters exactly if its
score is strictly greater than the root's. Most do not: a run of scores is first compared with the root as
one vector operation, and only a run that holds a winner is walked through one by one. Reading the heap out
from its root sorts it in place.

Scores of −inf mean "never", and NaN compares as not greater: neither is ever selected. Heaps start out
filled with (−1, −inf), so what remains of that is the padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

RUN = 64  # scores compared with the root at once


@njit(nogil=True, cache=True)
def sift_down(items: NDArray[np.int32], scores: NDArray[Any], row: int, size: int, item: int, score: float) -> None:
    """Put (item, score) where the root of row's heap of ``size`` entries was, and restore the order."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            scores[row, other] < scores[row, child]
            or (scores[row, other] == scores[row, child] and items[row, other] > items[row, child])
        ):
            child = other
        if score < scores[row, child] or (score == scores[row, child] and item > items[row, child]):
            break
        items[row, hole] = items[row, child]
        scores[row, hole] = scores[row, child]
        hole = child
    items[row, hole] = item
    scores[row, hole] = score


@njit(nogil=True, cache=True)
def clear_heaps(items: NDArray[np.int32], scores: NDArray[Any], start: int, stop: int) -> None:
    """Empty the heaps of rows [start, stop): every entry becomes (−1, −inf)."""
    for row in range(start, stop):
        for place in range(items.shape[1]):
            items[row, place] = -1
            scores[row, place] = -np.inf


@njit(nogil=True, cache=True)
def push_tile(
    tile: NDArray[Any],
    first_item: int,
    items: NDArray[np.int32],
    scores: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Offer a tile of scores to the heaps of rows [start, stop).

    ``tile[r, c]`` is the score of row start + r and item first_item + c, of the same dtype as ``scores``.
    Tiles of one row must arrive in ascending order of their items.
    """
    n = items.shape[1]
    width = tile.shape[1]
    whole = width - width % RUN
    for row in range(start, stop):
        line = row - start
        root = scores[row, 0]
        for base in range(0, whole, RUN):
            winners = np.int32(0)  # an integer as wide as float32, for the compiler's vectors
            for c in range(RUN):
                winners |= np.int32(tile[line, base + c] > root)
            if winners:
                for c in range(base, base + RUN):
                    if tile[line, c] > root:
                        sift_down(items, scores, row, n, first_item + c, tile[line, c])
                        root = scores[row, 0]
        for c in range(whole, width):
            if tile[line, c] > root:
                sift_down(items, scores, row, n, first_item + c, tile[line, c])
                root = scores[row, 0]


@njit(nogil=True, cache=True)
def sort_heaps(items: NDArray[np.int32], scores: NDArray[Any], start: int, stop: int) -> None:
    """Turn the heaps of rows [start, stop) into lists: descending scores, ties by ascending item."""
    for row in range(start, stop):
        for last in range(items.shape[1] - 1, 0, -1):
            item, score = np.int64(items[row, last]), scores[row, last]  # as in push_tile: compiled once
            items[row, last], scores[row, last] = items[row, 0], scores[row, 0]
            sift_down(items, scores, row, last, item, score)


@njit(nogil=True, cache=True)
def select_top(
    scores: NDArray[Any],
    n: int,
    out_items: NDArray[np.int32],
    out_scores: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Write the n best items of rows [start, stop) of ``scores`` (rows × items, C order) into ``out_*``.

    ``out_items`` (int32) and ``out_scores`` (dtype of ``scores``) are rows × n; where fewer than n scores
    are greater than −inf the rest is padded with −1 and −inf.

    >>> scores = np.array([[1.0, 3.0, 3.0, -np.inf]])
    >>> items, best = np.empty((1, 4), dtype=np.int32), np.empty((1, 4))
    >>> select_top(scores, 4, items, best, 0, 1)
    >>> items.tolist(), best.tolist()
    ([[1, 2, 0, -1]], [[3.0, 3.0, 1.0, -inf]])
    """
    if out_items.shape[1] != n or out_scores.shape[1] != n:
        raise ValueError("out_items and out_scores must have n columns.")
    clear_heaps(out_items, out_scores, start, stop)
    push_tile(scores[start:stop], np.int64(0), out_items, out_scores, start, stop)
    sort_heaps(out_items, out_scores, start, stop)
