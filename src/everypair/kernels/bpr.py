"""Stochastic gradient for pairwise ranking: one triple (user i, positive j, negative l) after the other.

    f = log(1 + e^{−s}) + λ/2 (‖u_i‖² + ‖v_j‖² + ‖v_l‖²),     s = u_i · (v_j − v_l)
    ∂f/∂u_i = −σ(−s)(v_j − v_l) + λ u_i,   ∂f/∂v_j = −σ(−s) u_i + λ v_j,   ∂f/∂v_l = σ(−s) u_i + λ v_l

A positive is drawn in proportion to its weight, its negative uniformly from the items that are not positives of the
same user. A row x with gradient g moves by AdaGrad with one rate per row: a ← a + ‖g‖²/k, x ← x − η g/√a. The last
column of V is the item's bias; U holds the constant 1 there, which is not learnt. Random numbers come from xorshift64*
(Vigna, 2016), whose state is an array of one uint64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.indexed import FAST

MOST_TRIES = 1000  # of a negative; a user who likes nearly everything is passed over after that


@njit(nogil=True, cache=True)
def random_number(state: Any) -> Any:
    """Return the next number in [0, 1), of 53 bits."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.float64((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * 2.0**-53


@njit(nogil=True, cache=True)
def draw_positive(first: Any, last: Any, sums: Any, state: Any) -> Any:
    """Draw an entry of [first, last) in proportion to its weight; ``sums[t]`` is the weight of all entries before t."""
    target = sums[first] + random_number(state) * (sums[last] - sums[first])
    low, high = first, last - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle + 1] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit(nogil=True, cache=True)
def draw_negative(first: Any, last: Any, indices: Any, n_items: Any, state: Any) -> Any:
    """Draw an item that is not among indices[first:last] (ascending), or −1 where none turns up."""
    for _ in range(MOST_TRIES):
        item = np.int64(random_number(state) * n_items)
        low, high = first, last
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < item:
                low = middle + 1
            else:
                high = middle
        if low == last or indices[low] != item:
            return item
    return -1


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def epoch(
    updates: Any,
    indptr: Any,  # positives of each user, ascending
    indices: Any,
    owners: Any,  # the user of each positive
    sums: Any,
    rate: Any,
    reg: Any,
    U: Any,  # updated in place, as are V and both sums of squares
    V: Any,
    left_squares: Any,
    right_squares: Any,
    state: Any,
) -> None:
    """Take ``updates`` stochastic steps on both sides."""
    k = U.shape[1] - 1
    n_items = V.shape[0]
    for _ in range(updates):
        entry = draw_positive(0, len(indices), sums, state)
        i, j = owners[entry], indices[entry]
        l = draw_negative(indptr[i], indptr[i + 1], indices, n_items, state)
        if l < 0:
            continue
        # the slope of log(1 + e^{−s}) at s = s_ij − s_il
        score = V[j, k] - V[l, k]
        for f in range(k):
            score += U[i, f] * (V[j, f] - V[l, f])
        pull = U.dtype.type(1.0 / (1.0 + np.exp(score)))
        # squares of the three rows' gradients, for AdaGrad
        user_square = positive_square = negative_square = U.dtype.type(0.0)
        for f in range(k):
            user = -pull * (V[j, f] - V[l, f]) + reg * U[i, f]
            positive = -pull * U[i, f] + reg * V[j, f]
            negative = pull * U[i, f] + reg * V[l, f]
            user_square += user * user
            positive_square += positive * positive
            negative_square += negative * negative
        left_squares[i] += user_square / k
        right_squares[j] += positive_square / k
        right_squares[l] += negative_square / k
        user_rate = rate / np.sqrt(left_squares[i])
        positive_rate = rate / np.sqrt(right_squares[j])
        negative_rate = rate / np.sqrt(right_squares[l])
        # the steps; biases are the last column of V
        for f in range(k):
            user = -pull * (V[j, f] - V[l, f]) + reg * U[i, f]
            positive = -pull * U[i, f] + reg * V[j, f]
            negative = pull * U[i, f] + reg * V[l, f]
            U[i, f] -= user_rate * user
            V[j, f] -= positive_rate * positive
            V[l, f] -= negative_rate * negative
        V[j, k] -= positive_rate * (-pull + reg * V[j, k])
        V[l, k] -= negative_rate * (pull + reg * V[l, k])


@njit(nogil=True, cache=True)
def draw_triples(indptr: Any, indices: Any, owners: Any, sums: Any, n_items: Any, triples: Any, state: Any) -> None:
    """Fill ``triples`` (3 × count) with users, positives and negatives; a negative of −1 means that none was found."""
    for t in range(triples.shape[1]):
        entry = draw_positive(0, len(indices), sums, state)
        i = owners[entry]
        triples[0, t], triples[1, t] = i, indices[entry]
        triples[2, t] = draw_negative(indptr[i], indptr[i + 1], indices, n_items, state)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fold_rows(
    start: Any,
    stop: Any,
    passes: Any,
    least: Any,
    indptr: Any,
    indices: Any,
    sums: Any,
    rate: Any,
    reg: Any,
    square: Any,  # what every row's sum of squares starts from
    V: Any,
    U: Any,  # out: rows [start, stop)
    seed: Any,
) -> None:
    """Learn rows of U alone, each from zero and with the same random numbers, by max(least, passes·|Ω_i⁺|) steps.

    The mean of the second half of the steps is kept, which is steadier than the last one.
    """
    k = U.shape[1] - 1
    n_items = V.shape[0]
    state = np.empty(1, np.uint64)
    u = np.empty(k, V.dtype)
    mean = np.empty(k, np.float64)
    gradient = np.empty(k, V.dtype)
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        state[0] = seed
        u[:] = 0.0
        mean[:] = 0.0
        squares = square
        updates = max(least, passes * (last - first)) if last > first else 0
        kept = 0
        for update in range(updates):
            j = indices[draw_positive(first, last, sums, state)]
            l = draw_negative(first, last, indices, n_items, state)
            if l < 0:
                continue
            score = V[j, k] - V[l, k]
            for f in range(k):
                score += u[f] * (V[j, f] - V[l, f])
            pull = V.dtype.type(1.0 / (1.0 + np.exp(score)))
            norm = V.dtype.type(0.0)
            for f in range(k):
                gradient[f] = -pull * (V[j, f] - V[l, f]) + reg * u[f]
            for f in range(k):  # apart: a loop that also stores adds up in an order that may depend on addresses
                norm += gradient[f] * gradient[f]
            squares += norm / k
            step = rate / np.sqrt(squares)
            for f in range(k):
                u[f] -= step * gradient[f]
            if 2 * update >= updates:
                kept += 1
                for f in range(k):
                    mean[f] += (u[f] - mean[f]) / kept
        for f in range(k):
            U[i, f] = mean[f]
        U[i, k] = 1.0
