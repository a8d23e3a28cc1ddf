"""Rows of a Poisson factorization: multiplicative steps on one row of factors, the other side fixed.

    f(x) = −Σ_{j∈Ω⁺} c_j log(x · v_j) + x · t − a Σ_l log x_l,     t = Σ_j v_j + λ + Σ_{j disliked} w_j v_j
    x_l ← (a + x_l Σ_{j∈Ω⁺} c_j v_jl / (x · v_j)) / t_l

Every step minimises Jensen's upper bound of f at x, which touches it there, so that f never rises. A stored number is
c_j where it is positive and −w_j where it is negative. Factors stay at or above LEAST: none is a true zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

LEAST = 1e-20
OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz", "arcp"}}


@njit(**OPTIONS)
def poisson_rows(
    start: Any, stop: Any, indptr: Any, indices: Any, data: Any, V: Any, totals: Any, smoothing: Any, steps: Any,
    tol: Any, X: Any, values: Any,
) -> None:  # fmt: skip
    """Take ``steps`` steps on rows [start, stop) of X in place, fewer once no factor moves by ``tol`` of the largest.

    ``totals`` is Σ_j v_j + λ. ``values`` gets −Σ c_j log(x · v_j) + Σ w_j x · v_j of every row.
    """
    rank = V.shape[1]
    x, t, pull = np.empty(rank), np.empty(rank), np.empty(rank)
    for i in range(start, stop):
        for l in range(rank):
            x[l], t[l] = X[i, l], totals[l]
        for e in range(indptr[i], indptr[i + 1]):
            if data[e] < 0:
                for l in range(rank):
                    t[l] -= data[e] * V[indices[e], l]
        for _ in range(steps):
            for l in range(rank):
                pull[l] = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                if data[e] > 0:
                    j = indices[e]
                    s = 0.0
                    for l in range(rank):
                        s += x[l] * V[j, l]
                    share = data[e] / s
                    for l in range(rank):
                        pull[l] += share * V[j, l]
            moved, largest = 0.0, 0.0
            for l in range(rank):
                new = max((smoothing + x[l] * pull[l]) / t[l], LEAST)
                moved, largest = max(moved, abs(new - x[l])), max(largest, new)
                x[l] = new
            if moved <= tol * largest:
                break
        for l in range(rank):
            X[i, l] = x[l]
        value = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            s = 0.0
            for l in range(rank):
                s += X[i, l] * np.float64(V[indices[e], l])
            value -= data[e] * (np.log(s) if data[e] > 0 else s)
        values[i] = value
