"""Sums over the stored pairs of each row, for rows [start, stop): scores, loss terms and sparse · dense products."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.indexed import FAST
from everypair.kernels.losses import CUSTOM, loss_terms

Kernel = Callable[..., None]
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": FAST}


@njit(cache=True, **OPTIONS)
def pair_scores(start: Any, stop: Any, indptr: Any, indices: Any, U: Any, V: Any, out: Any) -> None:
    """out_e = u_i · v_j for every stored pair e = (i, j)."""
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            total = U.dtype.type(0.0)
            for l in range(U.shape[1]):
                total += U[i, l] * V[j, l]
            out[e] = total


@njit(cache=True, **OPTIONS)
def sparse_dense(start: Any, stop: Any, indptr: Any, indices: Any, coefficients: Any, V: Any, out: Any) -> None:
    """out_i = Σ_{j∈Ω_i} coefficient_ij v_j."""
    for i in range(start, stop):
        for l in range(V.shape[1]):
            out[i, l] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            coefficient = coefficients[e]
            for l in range(V.shape[1]):
                out[i, l] += coefficient * V[j, l]


@njit(cache=True, **OPTIONS)
def curvature_product(start: Any, stop: Any, indptr: Any, indices: Any, t: Any, S: Any, V: Any, out: Any) -> None:
    """out_i = Σ_{j∈Ω_i} t_ij (s_i · v_j) v_j: the stored pairs' part of a Hessian·vector product."""
    for i in range(start, stop):
        for l in range(V.shape[1]):
            out[i, l] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            dot = V.dtype.type(0.0)
            for l in range(V.shape[1]):
                dot += S[i, l] * V[j, l]
            dot *= t[e]
            for l in range(V.shape[1]):
                out[i, l] += dot * V[j, l]


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
            for e in range(indptr[i], indptr[i + 1]):
                target = np.float64(y[e])
                s = np.float64(score[e])
                weight = np.float64(p[i]) * np.float64(q[indices[e]])
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
