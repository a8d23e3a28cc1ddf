"""Sums over the stored entries of each row, for rows [start, stop): scores, loss terms and sparse · dense products.

They serve stored pairs, feature matrices and graphs alike, for any rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.indexed import FAST, accumulate, dots, normal_product
from everypair.kernels.terms import row_terms

OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": FAST}


@njit(cache=True, **OPTIONS)
def pair_scores(start: Any, stop: Any, indptr: Any, indices: Any, U: Any, V: Any, out: Any) -> None:
    """out_e = u_i · v_j for every stored pair e = (i, j)."""
    rank = U.shape[1]
    u = np.empty(rank, U.dtype)
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        for l in range(rank):
            u[l] = U[i, l]
        dots(V, indices, first, 0, last - first, u, out[first:last])


@njit(cache=True, nogil=True)
def weight_sums(indptr: Any, c: Any, out: Any) -> None:
    """out_i = Σ_{j∈Ω_i} c_ij in float64: of every row by itself, so that a part of the rows gives the same bits."""
    for i in range(len(out)):
        total = 0.0
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += c[e]
        out[i] = total


@njit(cache=True, **OPTIONS)
def sparse_dense(start: Any, stop: Any, indptr: Any, indices: Any, coefficients: Any, V: Any, out: Any) -> None:
    """out_i = Σ_{j∈Ω_i} coefficient_ij v_j."""
    rank = V.shape[1]
    total = np.empty(rank, V.dtype)
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        total[:] = 0.0
        accumulate(V, indices, first, 0, last - first, coefficients[first:last], total)
        for l in range(rank):
            out[i, l] = total[l]


@njit(cache=True, **OPTIONS)
def curvature_product(
    start: Any, stop: Any, indptr: Any, indices: Any, t: Any, S: Any, V: Any, scores: Any, out: Any
) -> None:
    """scores_e = s_i · v_j and out_i = Σ_{j∈Ω_i} t_ij scores_e v_j: the stored part of a Hessian·vector product."""
    rank = V.shape[1]
    s, total = np.empty(rank, V.dtype), np.empty(rank, V.dtype)
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        for l in range(rank):
            s[l] = S[i, l]
            total[l] = 0.0
        normal_product(V, indices, first, last - first, t[first:last], s, scores[first:last], total)
        for l in range(rank):
            out[i, l] = total[l]


@njit(cache=True, **OPTIONS)
def pair_terms(
    loss: Any, start: Any, stop: Any, indptr: Any, indices: Any, c: Any, y: Any, z: Any, p: Any, q: Any, score: Any,
    values: Any, r: Any, t: Any,
) -> None:  # fmt: skip
    """value_i = Σ_Ω [c ℓ − ½ w (z − s)²], r_e = c ℓ' − w (s − z) and t_e = c ℓ'' − w of every stored pair, w = p_i q_j.

    z holds one value per pair, or one for all; c and y one per pair, or one per pair of the longest row, all the same.
    """
    longest = 0
    for i in range(start, stop):
        longest = max(longest, indptr[i + 1] - indptr[i])
    weight = np.empty(longest, score.dtype)
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        for e in range(last - first):
            weight[e] = p[i] * q[np.uint64(indices[first + e])]
        here = slice(first, last)
        values[i] = row_terms(
            loss[0], len(indices), first, 0, last - first, c, y, z, weight, score[here], r[here], t[here]
        )
