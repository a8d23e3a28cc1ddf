"""The systems of an item–item regression on given candidates: read from G's stored rows, completed, and solved.

A row of G is spread out once for all targets that use it, and each picks the numbers at its candidates: what would be a
search in a list becomes a read. ``link_uses``, ``gather_pairs`` and ``solve_columns`` are called one after the other
for some targets at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.cholesky import solve


@njit(nogil=True, cache=True)
def link_uses(targets: Any, nearest: Any, sizes: Any, within: Any, first_use: Any, next_use: Any) -> None:
    """Chain the places where a row of G is used: by targets whose candidate it is, and (``within``) by its own target.

    Use (W + 1) e + a is candidate a of targets[e], or that target itself if a is the number of its candidates.
    ``first_use`` (−1 everywhere) has a place per item, ``next_use`` W + 1 per target.
    """
    per_target = nearest.shape[1] + 1
    for e, t in enumerate(targets):
        for a in range(sizes[t] + within):
            l = nearest[t, a] if a < sizes[t] else t
            next_use[e * per_target + a] = first_use[l]
            first_use[l] = e * per_target + a


@njit(nogil=True, cache=True)
def gather_pairs(
    start: Any,
    stop: Any,
    targets: Any,
    nearest: Any,
    sizes: Any,
    within: Any,
    first_use: Any,
    next_use: Any,
    gram_start: Any,
    gram_items: Any,
    gram_values: Any,
    pairs: Any,
    own: Any,
    row: Any,
) -> None:
    """The rows [start, stop) of G where ``targets`` use them: G_NN right of its diagonal, N = ``nearest[t]``, and G_Nt.

    ``nearest`` lists candidates in ascending order with −1 after the ``sizes[t]`` that there are, so the row of G that
    is stored for candidate a holds all its pairs with those after a. It is spread out once, in ``row`` (0 everywhere, a
    place per item), for all that use it. Line e of ``pairs`` is for targets[e]: the rows of its triangle one after the
    other, each as long as W candidates make it, so row a begins at a (2W − a − 1) / 2. Line e of ``own`` (0 at first)
    gets G_Nt where the targets are items of G (``within``). Uses come from :func:`link_uses` and are cleared.
    """
    width = nearest.shape[1]
    for l in range(start, stop):
        use = first_use[l]
        if use < 0:
            continue
        first_use[l] = -1
        for s in range(gram_start[l], gram_start[l + 1]):
            row[gram_items[s]] = gram_values[s]
        while use >= 0:
            e, a = use // (width + 1), use % (width + 1)
            t = targets[e]
            if a == sizes[t]:
                for b in range(sizes[t]):
                    if nearest[t, b] > l:
                        own[e, b] = row[nearest[t, b]]
            else:
                if within and t > l:
                    own[e, a] = row[t]
                place = np.uint64(a * (2 * width - a - 1) // 2)
                for b in range(np.uint64(a + 1), np.uint64(sizes[t])):
                    pairs[e, place] = row[np.uint32(nearest[t, b])]
                    place += np.uint64(1)
            use = next_use[use]
        for s in range(gram_start[l], gram_start[l + 1]):
            row[gram_items[s]] = 0.0


@njit(nogil=True, cache=True)
def solve_columns(
    start: Any,
    stop: Any,
    targets: Any,
    nearest: Any,
    sizes: Any,
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
    diagonal: Any,
    pairs: Any,
    own: Any,
    solved: Any,
    A: Any,
    places: Any,
    hits: Any,
) -> int:
    """Solve A b = h for the columns t of targets[start:stop] into ``solved``; candidates N = ``nearest[t, :sizes[t]]``.

        A = ρ G_NN + Σ_{i∈Ω_t} d_i (c_it − ρ) x_iN x_iNᵀ + diag(ridge_N),   h = Σ_{i∈Ω_t, liked} d_i c_it x_iN

    ``pairs`` and ``own`` come from :func:`gather_pairs` for the same targets. Where things are ``even`` (targets are
    the items of G themselves, every stored pair is a like of weight ρ) A is ρ G_NN and h = ρ G_Nt, and no user is
    looked at. ``A`` is of :func:`~everypair.kernels.cholesky.room_for`, ``places`` says −1 for every item, ``hits``
    has a place per candidate. Returns the first column whose system is not positive definite, or −1.
    """
    width = nearest.shape[1]
    for e in range(start, stop):
        t = targets[e]
        size = sizes[t]
        for a in range(size):
            l = nearest[t, a]
            A[a, a] = negative_weight * diagonal[l] + ridge[l]
            first, after = np.uint64(a * (2 * width - a - 1) // 2), np.uint64(a + 1)
            for b in range(np.uint64(size) - after):
                A[a, after + b] = negative_weight * pairs[e, first + b]
            solved[t, a] = negative_weight * own[e, a] if even else 0.0
        if not even:
            for a in range(size):
                places[nearest[t, a]] = a
            for s in range(column_start[t], column_start[t + 1]):
                i = users[s]
                gain = user_weights[i] * column_weights[s] if likes[s] else 0.0
                n_hits = 0
                for r in range(row_start[i], row_start[i + 1]):
                    a = places[items[r]]
                    if a >= 0:
                        solved[t, a] += gain * signs[r]
                        hits[n_hits] = r
                        n_hits += 1
                excess = user_weights[i] * (column_weights[s] - negative_weight)
                if excess != 0.0:
                    for x in range(n_hits):
                        a, part = places[items[hits[x]]], excess * signs[hits[x]]
                        for y in range(x, n_hits):  # a row lists its items in ascending order, as the candidates are
                            A[a, places[items[hits[y]]]] += part * signs[hits[y]]
            for a in range(size):
                places[nearest[t, a]] = -1
        if size and not solve(A, size, solved[t]):
            return t
    return -1
