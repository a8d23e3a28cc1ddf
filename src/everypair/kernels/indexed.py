"""Products with the rows v_j, j ∈ Ω_i, of a factor matrix: the inner loops of every row-wise solver.

Rows are read where they lie: copying a row's pairs side by side first was measured slower at every length. Eight are
taken at a time, so that the vector of length k is read and written once for eight of them, and what is left by four,
two and one. The number of columns of V is the length of every vector, and known at run time only.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from everypair.kernels.vectors import (
    add_of_1,
    add_of_2,
    add_of_4,
    add_of_8,
    add_product_of_1,
    add_product_of_2,
    add_product_of_4,
    add_product_of_8,
    dots_of_1,
    dots_of_2,
    dots_of_4,
    dots_of_8,
)

FAST = {"reassoc", "contract", "nsz", "arcp"}
INLINED = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": FAST, "inline": "always"}


@njit(**INLINED)
def dots(V: Any, indices: Any, first: Any, begin: Any, end: Any, vector: Any, out: Any) -> None:
    """out_t = v_{j_t} · vector for begin ≤ t < end."""
    t = begin
    while t + 8 <= end:
        dots_of_8(V, indices, first + t, vector, out, t)
        t += 8
    last_dots(V, indices, first, t, end, vector, out)


@njit(**INLINED)
def last_dots(V: Any, indices: Any, first: Any, t: Any, end: Any, vector: Any, out: Any) -> None:
    """The same for the last pairs, from t on: fewer than eight."""
    if t + 4 <= end:
        dots_of_4(V, indices, first + t, vector, out, t)
        t += 4
    if t + 2 <= end:
        dots_of_2(V, indices, first + t, vector, out, t)
        t += 2
    if t < end:
        dots_of_1(V, indices, first + t, vector, out, t)


@njit(**INLINED)
def accumulate(V: Any, indices: Any, first: Any, begin: Any, end: Any, coefficients: Any, total: Any) -> None:
    """total += Σ_t coefficient_t v_{j_t} over begin ≤ t < end."""
    t = begin
    while t + 8 <= end:
        add_of_8(V, indices, first + t, coefficients, t, total)
        t += 8
    if t + 4 <= end:
        add_of_4(V, indices, first + t, coefficients, t, total)
        t += 4
    if t + 2 <= end:
        add_of_2(V, indices, first + t, coefficients, t, total)
        t += 2
    if t < end:
        add_of_1(V, indices, first + t, coefficients, t, total)


@njit(**INLINED)
def normal_product(
    V: Any, indices: Any, first: Any, count: Any, curve: Any, vector: Any, product: Any, total: Any
) -> None:
    """product_t = v_{j_t} · vector and total += Σ_t curve_t product_t v_{j_t} over 0 ≤ t < count, in one pass.

    The next eight products are begun before these eight are used, so that nothing waits for them.
    """
    t = 0
    if count >= 8:
        dots_of_8(V, indices, first, vector, product, 0)
    while t + 8 <= count:
        if t + 16 <= count:
            dots_of_8(V, indices, first + t + 8, vector, product, t + 8)
        add_product_of_8(V, indices, first + t, curve, product, t, total)
        t += 8
    last_dots(V, indices, first, t, count, vector, product)
    if t + 4 <= count:
        add_product_of_4(V, indices, first + t, curve, product, t, total)
        t += 4
    if t + 2 <= count:
        add_product_of_2(V, indices, first + t, curve, product, t, total)
        t += 2
    if t < count:
        add_product_of_1(V, indices, first + t, curve, product, t, total)
