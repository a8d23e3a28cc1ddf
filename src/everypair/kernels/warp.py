"""Stochastic gradient for the weighted approximate-rank pairwise loss (WARP): one positive label after the other.

A positive label p of row i is drawn in proportion to the row's weight; then negative labels of the row, uniformly,
until one violates the margin μ: s_in > s_ip − μ, with s_il = (x_i W)·v_l. Found at try N among c negatives, it says
that about r = ⌊c/N⌋ negatives violate, so its step descends

    Φ(r) · max(0, μ − s_ip + s_in),     Φ(r) = Σ_{t≤r} 1/t        (with one positive per row, c = L − 1)

    v_p ← v_p + ηΦ(r) x_iW,   v_n ← v_n − ηΦ(r) x_iW,   W_f ← W_f + ηΦ(r) x_if (v_p − v_n)

and then every row that moved is scaled back to length C where it is longer. After c tries without a violation the
positive counts as well placed and nothing moves. Steps depend on each other: this is sequential by nature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.bpr import draw_negative, draw_positive, random_number
from everypair.kernels.indexed import FAST


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def shorten(matrix: Any, row: Any, limit: Any) -> None:
    """Scale a row of the matrix to length ``limit`` where it is longer."""
    square = matrix.dtype.type(0.0)
    for f in range(matrix.shape[1]):
        square += matrix[row, f] * matrix[row, f]
    if square > limit * limit:
        scale = limit / np.sqrt(square)
        for f in range(matrix.shape[1]):
            matrix[row, f] *= scale


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def warp_epoch(
    updates: Any,
    x_indptr: Any,  # features of each row
    x_indices: Any,
    x_data: Any,
    indptr: Any,  # positive labels of each row, ascending
    indices: Any,
    owners: Any,  # the row of each positive
    sums: Any,  # sums[t] is the weight of all positives before t
    every: Any,  # whether whatever is not positive is negative; else the next two list the negatives
    n_indptr: Any,
    n_indices: Any,
    harmonic: Any,  # Φ(0..L)
    margin: Any,
    rate: Any,
    limit: Any,
    W: Any,  # updated in place, as is V
    V: Any,
    state: Any,
) -> Any:
    """Take ``updates`` stochastic steps and return their mean loss before each step."""
    k = W.shape[1]
    n_labels = V.shape[0]
    u = np.empty(k, W.dtype)
    total = 0.0
    for _ in range(updates):
        entry = draw_positive(0, len(indices), sums, state)
        i, p = owners[entry], indices[entry]
        first, last = indptr[i], indptr[i + 1]
        n_first, n_last = n_indptr[i], n_indptr[i + 1]
        candidates = n_labels - (last - first) if every else n_last - n_first
        # u = Wᵀx_i and the positive's score
        u[:] = 0.0
        for t in range(x_indptr[i], x_indptr[i + 1]):
            feature, value = x_indices[t], x_data[t]
            for f in range(k):
                u[f] += value * W[feature, f]
        best = W.dtype.type(0.0)
        for f in range(k):
            best += u[f] * V[p, f]
        # draw negatives until one comes within the margin: the later, the better the positive ranks already
        for attempt in range(1, candidates + 1):
            if every:
                n = draw_negative(first, last, indices, n_labels, state)
                if n < 0:
                    break
            else:
                n = np.int64(n_indices[n_first + np.int64(random_number(state) * candidates)])
            score = W.dtype.type(0.0)
            for f in range(k):
                score += u[f] * V[n, f]
            violation = margin - best + score
            if violation > 0.0:
                # one step, weighted by the estimated rank, and the rows cut back to their longest length
                weight = harmonic[candidates // attempt]
                total += weight * violation
                step = W.dtype.type(rate * weight)
                for t in range(x_indptr[i], x_indptr[i + 1]):
                    feature, value = x_indices[t], x_data[t]
                    for f in range(k):
                        W[feature, f] += step * value * (V[p, f] - V[n, f])
                    shorten(W, feature, limit)
                for f in range(k):
                    V[p, f] += step * u[f]
                    V[n, f] -= step * u[f]
                shorten(V, p, limit)
                shorten(V, n, limit)
                break
    return total / updates
