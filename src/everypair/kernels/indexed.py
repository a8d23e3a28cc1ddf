"""Products with the rows v_j, j ∈ Ω_i, of a factor matrix: the inner loops of every row-wise solver.

Rows are read where they lie: copying a row's pairs side by side first was measured slower at every length. Four are
taken at a time, so that the vector of length k is read and written once for four of them. ``rank`` is a compile-time
constant at every call: these functions are always inlined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
INLINED = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": FAST, "forceinline": True}


@njit(**INLINED)
def dots(rank: Any, V: Any, indices: Any, first: Any, count: Any, vector: Any, out: Any) -> None:
    """out_t = v_{j_t} · vector."""
    whole = count - count % 4
    zero = V.dtype.type(0.0)
    for t in range(0, whole, 4):
        j0 = np.uint64(indices[first + t])
        j1 = np.uint64(indices[first + t + 1])
        j2 = np.uint64(indices[first + t + 2])
        j3 = np.uint64(indices[first + t + 3])
        d0, d1, d2, d3 = zero, zero, zero, zero
        for l in range(rank):
            d0 += V[j0, l] * vector[l]
            d1 += V[j1, l] * vector[l]
            d2 += V[j2, l] * vector[l]
            d3 += V[j3, l] * vector[l]
        out[t], out[t + 1], out[t + 2], out[t + 3] = d0, d1, d2, d3
    for t in range(whole, count):
        j0 = np.uint64(indices[first + t])
        d0 = zero
        for l in range(rank):
            d0 += V[j0, l] * vector[l]
        out[t] = d0


@njit(**INLINED)
def accumulate(rank: Any, V: Any, indices: Any, first: Any, count: Any, coefficients: Any, total: Any) -> None:
    """total += Σ_t coefficient_t v_{j_t}."""
    whole = count - count % 4
    for t in range(0, whole, 4):
        j0 = np.uint64(indices[first + t])
        j1 = np.uint64(indices[first + t + 1])
        j2 = np.uint64(indices[first + t + 2])
        j3 = np.uint64(indices[first + t + 3])
        c0, c1, c2, c3 = coefficients[t], coefficients[t + 1], coefficients[t + 2], coefficients[t + 3]
        for l in range(rank):
            total[l] += (c0 * V[j0, l] + c1 * V[j1, l]) + (c2 * V[j2, l] + c3 * V[j3, l])
    for t in range(whole, count):
        j0 = np.uint64(indices[first + t])
        c0 = coefficients[t]
        for l in range(rank):
            total[l] += c0 * V[j0, l]


@njit(**INLINED)
def normal_product(
    rank: Any, V: Any, indices: Any, first: Any, count: Any, curve: Any, vector: Any, product: Any, total: Any
) -> None:
    """product_t = v_{j_t} · vector and total += Σ_t curve_t product_t v_{j_t}, in one pass."""
    whole = count - count % 4
    zero = V.dtype.type(0.0)
    for t in range(0, whole, 4):
        j0 = np.uint64(indices[first + t])
        j1 = np.uint64(indices[first + t + 1])
        j2 = np.uint64(indices[first + t + 2])
        j3 = np.uint64(indices[first + t + 3])
        d0, d1, d2, d3 = zero, zero, zero, zero
        for l in range(rank):
            d0 += V[j0, l] * vector[l]
            d1 += V[j1, l] * vector[l]
            d2 += V[j2, l] * vector[l]
            d3 += V[j3, l] * vector[l]
        product[t], product[t + 1], product[t + 2], product[t + 3] = d0, d1, d2, d3
        d0 *= curve[t]
        d1 *= curve[t + 1]
        d2 *= curve[t + 2]
        d3 *= curve[t + 3]
        for l in range(rank):
            total[l] += (d0 * V[j0, l] + d1 * V[j1, l]) + (d2 * V[j2, l] + d3 * V[j3, l])
    for t in range(whole, count):
        j0 = np.uint64(indices[first + t])
        d0 = zero
        for l in range(rank):
            d0 += V[j0, l] * vector[l]
        product[t] = d0
        d0 *= curve[t]
        for l in range(rank):
            total[l] += d0 * V[j0, l]
