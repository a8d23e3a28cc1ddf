"""Item–item regression over every pair: G = XᵀDX through the users who have an item, never as a dense n × n.

X (users × items) holds +1 for a like and −1 for a dislike, D = diag(d) the users' weights. It comes by users
(``row_start``, ``items``, ``signs``) and by items (``column_start``, ``users``, ``likes`` and what belongs to them).
A row of G is Σ_i d_i x_ij x_i over the users i who have item j: a scatter into a scratch row of length n, of which only
the places that were met are read, so that nothing costs n² steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.cholesky import factorize, substitute
from everypair.kernels.select import _sift_down


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
    touched: Any,
    marks: Any,
) -> None:
    """The items l with the greatest G_lj w_l > 0 for each column j in [start, stop), in descending order of l.

    Column j is item j + ``shift``, which is not its own neighbour; where there are fewer, −1 comes at the end.
    ``nearest`` and ``scores`` have a row per item of the range; ``sums`` (float64), ``touched`` and ``marks`` (−1 at
    first) a place per item. Equal scores prefer the lesser item.
    """
    width = nearest.shape[1]
    for j in range(start, stop):
        line = j - start
        for place in range(width):
            nearest[line, place] = -1
            scores[line, place] = -np.inf
        count = 0
        for t in range(column_start[j], column_start[j + 1]):
            i = users[t]
            weight = user_weights[i] * column_signs[t]
            for s in range(row_start[i], row_start[i + 1]):
                l = items[s]
                if marks[l] != j:
                    marks[l] = j
                    sums[l] = 0.0
                    touched[count] = l
                    count += 1
                sums[l] += weight * signs[s]
        for t in range(count):
            l = touched[t]
            score = sums[l] * item_weights[l]
            if l == j + shift or score <= 0.0:
                continue
            worst = scores[line, 0]
            if score > worst or (score == worst and l < nearest[line, 0]):
                _sift_down(nearest, scores, line, width, l, score)
        nearest[line].sort()
        nearest[line] = nearest[line][::-1]


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
                l = items[s]
                if l <= j:
                    break
                if marks[l] != j:
                    marks[l] = j
                    count += 1
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
    places: Any,
    sums: Any,
) -> None:
    """The rows [start, stop) of G right of its diagonal, as lists in the order of first meeting, and its diagonal.

    ``places`` (−1 everywhere) and ``sums`` (float64) have a place per item.
    """
    for j in range(start, stop):
        first = gram_start[j]
        count = 0
        own = 0.0
        for t in range(column_start[j], column_start[j + 1]):
            i = users[t]
            weight = user_weights[i] * column_signs[t]
            own += user_weights[i]
            for s in range(row_start[i + 1] - 1, row_start[i] - 1, -1):
                l = items[s]
                if l <= j:
                    break
                if places[l] < 0:
                    places[l] = count
                    gram_items[first + count] = l
                    sums[count] = 0.0
                    count += 1
                sums[places[l]] += weight * signs[s]
        for place in range(count):
            gram_values[first + place] = sums[place]
            places[gram_items[first + place]] = -1
        diagonal[j] = own


@njit(nogil=True, cache=True)
def regress_columns(
    start: Any,
    stop: Any,
    targets: Any,
    nearest: Any,
    column_start: Any,
    users: Any,
    column_weights: Any,
    likes: Any,
    row_start: Any,
    items: Any,
    signs: Any,
    user_weights: Any,
    negative_weight: Any,
    even: Any,
    ridge: Any,
    gram_start: Any,
    gram_items: Any,
    gram_values: Any,
    diagonal: Any,
    solved: Any,
    A: Any,
    places: Any,
    found: Any,
) -> int:
    """Solve A b = h for the columns t of targets[start:stop] into ``solved``; their candidates N are ``nearest[t]``.

        A = ρ G_NN + Σ_{i∈Ω_t} d_i (c_it − ρ) x_iN x_iNᵀ + diag(ridge_N),   h = Σ_{i∈Ω_t, liked} d_i c_it x_iN

    ``nearest`` lists candidates in *descending* order with −1 at the end. The row of G stored for candidate a then
    holds only candidates before a, which belong left of A's diagonal, and items that are none: those are sent to column
    W, the width of ``nearest``, so that the loop over stored pairs has no branch. Where things are ``even`` (targets
    are the items of G themselves, every stored pair is a like of weight ρ) A is ρ G_NN and h = ρ G_Nt: the target has
    column W + 1, from which h is read, and no user is looked at. ``A`` has W + 1 rows and W + 2 columns, ``places``
    says W for every item, ``found`` has a place per candidate. Returns the first column whose system is not positive
    definite, or −1.
    """
    none = np.uint32(nearest.shape[1])
    own = np.uint32(nearest.shape[1] + 1)
    for target in range(start, stop):
        t = targets[target]
        size = 0
        while size < nearest.shape[1] and nearest[t, size] >= 0:
            size += 1
        if size == 0:
            continue
        for a in range(size):
            places[nearest[t, a]] = a
            solved[t, a] = 0.0
            A[a, own] = 0.0
            for b in range(a):
                A[a, b] = 0.0
        if even:
            for s in range(gram_start[t], gram_start[t + 1]):
                A[places[gram_items[s]], own] = negative_weight * gram_values[s]
            places[t] = own
        for a in range(size):
            l = nearest[t, a]
            for s in range(gram_start[l], gram_start[l + 1]):
                A[a, places[gram_items[s]]] = negative_weight * gram_values[s]
        for a in range(size):
            l = nearest[t, a]
            A[a, a] = negative_weight * diagonal[l] + ridge[l]
        if even:
            places[t] = none
            for a in range(size):
                solved[t, a] = A[a, own]
        for s in range(column_start[t], column_start[t] if even else column_start[t + 1]):
            i = users[s]
            gain = user_weights[i] * column_weights[s] if likes[s] else 0.0
            hits = 0
            for r in range(row_start[i], row_start[i + 1]):
                a = places[items[r]]
                if a != none:
                    solved[t, a] += gain * signs[r]
                    found[hits] = r
                    hits += 1
            excess = user_weights[i] * (column_weights[s] - negative_weight)
            if excess != 0.0:
                for x in range(hits):
                    a, part = places[items[found[x]]], excess * signs[found[x]]
                    for y in range(x, hits):  # a row lists its items in ascending order, the candidates descend
                        A[a, places[items[found[y]]]] += part * signs[found[y]]
        for a in range(size):
            places[nearest[t, a]] = none
        if not factorize(A, size):
            return t
        substitute(A, size, solved[t])
    return -1
