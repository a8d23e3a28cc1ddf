"""Sums over the stored entries of each row, for rows [start, stop): scores, loss terms and sparse · dense products.

They serve stored pairs, feature matrices and graphs alike, for any rank.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.indexed import FAST, accumulate, dots, normal_product
from everypair.kernels.losses import CUSTOM, loss_terms

Kernel = Callable[..., None]
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


@cache
def pair_terms(loss_code: int, imputed: bool, custom: tuple[Any, Any, Any] | None = None) -> Kernel:
    """Return the kernel that evaluates value_i = Σ_Ω [c ℓ − ½ w (z − s)²], r_e and t_e of a loss, w = p_i q_j.

    r = c ℓ' − w (s − z) and t = c ℓ'' − w. ``imputed``: z holds one value per pair; otherwise one for all.
    """
    custom_value: Any
    custom_slope: Any
    custom_curvature: Any
    custom_value, custom_slope, custom_curvature = custom or (None, None, None)

    @njit(cache=custom is None, **OPTIONS)
    def terms(start, stop, indptr, indices, c, y, z, p, q, score, values, r, t):  # type: ignore[no-untyped-def]
        for i in range(start, stop):
            value = 0.0
            for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                target = np.float64(y[e])
                s = np.float64(score[e])
                weight = np.float64(p[i]) * np.float64(q[np.uint64(indices[e])])
                if loss_code == CUSTOM:
                    loss = custom_value(target, s)
                    slope = custom_slope(target, s)
                    curvature = custom_curvature(target, s)
                else:
                    loss, slope, curvature = loss_terms(loss_code, target, s)
                gap = s - (z[e] if imputed else z[0])
                value += c[e] * loss - 0.5 * weight * gap * gap
                r[e] = c[e] * slope - weight * gap
                t[e] = c[e] * curvature - weight
            values[i] = value

    return terms
