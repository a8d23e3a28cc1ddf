"""Products with a few gathered rows g_1..g_d of a factor matrix: the inner loops of every row-wise solver.

Four rows are taken at a time, so that the vector of length k is read and written once for four of them. ``rank`` is
a compile-time constant at every call: these functions are always inlined.
"""

from __future__ import annotations

from typing import Any

from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
INLINED = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": FAST, "forceinline": True}


@njit(**INLINED)
def gather(rank: Any, factors: Any, indices: Any, first: Any, count: Any, rows: Any) -> None:
    """g_t = factors[indices[first + t]]."""
    for t in range(count):
        j = indices[first + t]
        for l in range(rank):
            rows[t, l] = factors[j, l]


@njit(**INLINED)
def dots(rank: Any, rows: Any, count: Any, vector: Any, out: Any, shift: Any) -> None:
    """out_{shift+t} = g_t · vector."""
    whole = count - count % 4
    zero = vector.dtype.type(0.0)
    for t in range(0, whole, 4):
        d0, d1, d2, d3 = zero, zero, zero, zero
        for l in range(rank):
            d0 += rows[t, l] * vector[l]
            d1 += rows[t + 1, l] * vector[l]
            d2 += rows[t + 2, l] * vector[l]
            d3 += rows[t + 3, l] * vector[l]
        out[shift + t] = d0
        out[shift + t + 1] = d1
        out[shift + t + 2] = d2
        out[shift + t + 3] = d3
    for t in range(whole, count):
        d0 = zero
        for l in range(rank):
            d0 += rows[t, l] * vector[l]
        out[shift + t] = d0


@njit(**INLINED)
def accumulate(rank: Any, rows: Any, count: Any, coefficients: Any, shift: Any, total: Any) -> None:
    """total += Σ_t coefficients_{shift+t} g_t."""
    whole = count - count % 4
    for t in range(0, whole, 4):
        c0 = coefficients[shift + t]
        c1 = coefficients[shift + t + 1]
        c2 = coefficients[shift + t + 2]
        c3 = coefficients[shift + t + 3]
        for l in range(rank):
            total[l] += (c0 * rows[t, l] + c1 * rows[t + 1, l]) + (c2 * rows[t + 2, l] + c3 * rows[t + 3, l])
    for t in range(whole, count):
        c0 = coefficients[shift + t]
        for l in range(rank):
            total[l] += c0 * rows[t, l]


@njit(**INLINED)
def normal_product(
    rank: Any, rows: Any, count: Any, curve: Any, direction: Any, product: Any, shift: Any, total: Any
) -> None:
    """product_{shift+t} = g_t · direction and total += Σ_t curve_{shift+t} product_{shift+t} g_t, in one pass."""
    whole = count - count % 4
    zero = direction.dtype.type(0.0)
    for t in range(0, whole, 4):
        d0, d1, d2, d3 = zero, zero, zero, zero
        for l in range(rank):
            d0 += rows[t, l] * direction[l]
            d1 += rows[t + 1, l] * direction[l]
            d2 += rows[t + 2, l] * direction[l]
            d3 += rows[t + 3, l] * direction[l]
        product[shift + t] = d0
        product[shift + t + 1] = d1
        product[shift + t + 2] = d2
        product[shift + t + 3] = d3
        d0 *= curve[shift + t]
        d1 *= curve[shift + t + 1]
        d2 *= curve[shift + t + 2]
        d3 *= curve[shift + t + 3]
        for l in range(rank):
            total[l] += (d0 * rows[t, l] + d1 * rows[t + 1, l]) + (d2 * rows[t + 2, l] + d3 * rows[t + 3, l])
    for t in range(whole, count):
        d0 = zero
        for l in range(rank):
            d0 += rows[t, l] * direction[l]
        product[shift + t] = d0
        d0 *= curve[shift + t]
        for l in range(rank):
            total[l] += d0 * rows[t, l]
