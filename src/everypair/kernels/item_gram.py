"""Item–item regression over every pair: G = XᵀDX through the users who have an item, never as a dense n × n.

X (users × items) holds +1 for a like and −1 for a dislike, D = diag(d) the users' weights. It comes by users
(``row_start``, ``items``, ``signs``) and by items (``column_start``, ``users``, ``likes`` and what belongs to them).
A row of G is Σ_i d_i x_ij x_i over the users i who have item j: a scatter into a scratch row of length n, of which only
the places that were met are read, so that nothing costs n² steps. The scatter has no branch that depends on what was
met before: guessing it wrongly would cost more than all the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.partial_sort import drop_least, greatest_first


@njit(nogil=True, cache=True)
def nearest_items(
    start: Any,
    stop: Any,
    column_start: Any,
    users: Any,
    column_signs: Any,
    row_start: Any,
    items: Any,
    signs: Any,
    user_weights: Any,
    item_weights: Any,
    shift: Any,
    nearest: Any,
    scores: Any,
    sums: Any,
    met: Any,
    marks: Any,
) -> None:
    """The items l with the greatest G_lj w_l > 0 for each column j in [start, stop), in ascending order of l.

    Column j is item j + ``shift``, which is not its own neighbour; where there are fewer, −1 comes at the end.
    ``nearest`` has a row per item of the range; ``scores`` and ``sums`` (float64), ``met`` (one more) and ``marks`` (−1
    at first) a place per item. Equal scores prefer the lesser item.
    """
    width = nearest.shape[1]
    for j in range(start, stop):
        line = nearest[j - start]
        count = _spread_row(
            j, 0, column_start, users, column_signs, row_start, items, signs, user_weights, sums, met, marks
        )
        kept = 0
        for t in range(count):
            l = met[t]
            met[kept], scores[kept] = l, sums[l] * item_weights[l]
            kept += (scores[kept] > 0.0) & (l != j + shift)
        kept = drop_least(scores, met, kept, width)
        greatest_first(scores, met, kept, width)
        size = min(kept, width)
        line[:size] = met[:size]
        line[:size].sort()
        line[size:] = -1


@njit(nogil=True, cache=True)
def _spread_row(
    j: Any,
    first: Any,
    column_start: Any,
    users: Any,
    column_signs: Any,
    row_start: Any,
    items: Any,
    signs: Any,
    user_weights: Any,
    sums: Any,
    met: Any,
    marks: Any,
) -> Any:
    """sums[l] = G_lj for the items l ≥ ``first`` that share a user with column j; returns how many ``met`` lists.

    ``marks`` must not say j yet. There is no branch in the inner loop but its end: rows list items in ascending order.
    """
    count = 0
    for t in range(column_start[j], column_start[j + 1]):
        i = users[t]
        weight = user_weights[i] * column_signs[t]
        for s in range(row_start[i + 1] - 1, row_start[i] - 1, -1):
            if items[s] < first:
                break
            l = np.uint32(items[s])
            old, new = sums[l], marks[l] != j
            sums[l] = (0.0 if new else old) + weight * signs[s]
            marks[l] = j
            met[count] = l
            count += new
    return count


@njit(nogil=True, cache=True)
def count_later(
    start: Any, stop: Any, column_start: Any, users: Any, row_start: Any, items: Any, counts: Any, marks: Any
) -> None:
    """Number of items l > j that share a user with j, for each j in [start, stop).

    ``marks`` (−1 at first) has a place per item. Rows list their items in ascending order.
    """
    for j in range(start, stop):
        count = 0
        for t in range(column_start[j], column_start[j + 1]):
            i = users[t]
            for s in range(row_start[i + 1] - 1, row_start[i] - 1, -1):
                if items[s] <= j:
                    break
                l = np.uint32(items[s])
                count += marks[l] != j
                marks[l] = j
        counts[j] = count


@njit(nogil=True, cache=True)
def fill_later(
    start: Any,
    stop: Any,
    column_start: Any,
    users: Any,
    column_signs: Any,
    row_start: Any,
    items: Any,
    signs: Any,
    user_weights: Any,
    gram_start: Any,
    gram_items: Any,
    gram_values: Any,
    diagonal: Any,
    sums: Any,
    met: Any,
    marks: Any,
) -> None:
    """The rows [start, stop) of G right of its diagonal, as lists in the order of first meeting, and its diagonal.

    ``sums`` (float64), ``met`` (one more) and ``marks`` (−1 at first) have a place per item.
    """
    for j in range(start, stop):
        count = _spread_row(
            j, j + 1, column_start, users, column_signs, row_start, items, signs, user_weights, sums, met, marks
        )
        for place in range(count):
            gram_items[gram_start[j] + place] = met[place]
            gram_values[gram_start[j] + place] = sums[met[place]]
        own = 0.0
        for t in range(column_start[j], column_start[j + 1]):
            own += user_weights[users[t]]
        diagonal[j] = own
