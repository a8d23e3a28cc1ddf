"""Products of rows with rows that were rounded to bytes: a quarter of the memory to read, and a bound on what is lost.

    v_j ≈ v̂_j = unit_j b_j,    u_i ≈ û_i = unit_i w_i,    u_i · v_j ≤ û_i · v̂_j + ‖u_i‖ lost_j + ‖u_i − û_i‖ ‖v̂_j‖

with b_j in bytes, w_i in 16 bits and lost_j ≥ ‖v_j − unit_j b_j‖. Products of integers are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

MOST = 127  # of a byte
WORD = 2**15 - 1  # the most of 16 bits
MOST_OF_A_SUM = 2**31 - 1


@intrinsic
def add_product(typing: Any, total: Any, a: Any, b: Any) -> Any:
    """Return total + a b in 32 bits: numba's own product has 64, which costs the vectors half their lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        before, *factors = arguments
        a, b = (builder.sext(factor, before.type) for factor in factors)
        return builder.add(before, builder.mul(a, b))

    return types.int32(types.int32, a, b), generate


@njit(nogil=True, cache=True, error_model="numpy")
def round_rows(rows: Any, out: Any, units: Any, lost: Any) -> None:
    """Round rows to bytes: unit_j = max_l |v_jl| / 127, and lost_j is ‖v_j − unit_j b_j‖ or a little more."""
    slack = 1.0 + 8.0 * np.finfo(lost.dtype).eps
    for j in range(len(rows)):
        peak = 0.0
        for l in range(rows.shape[1]):
            peak = max(peak, abs(np.float64(rows[j, l])))
        units[j] = peak / MOST
        unit = np.float64(units[j])
        inverse = 1.0 / unit if unit > 0 else 0.0
        total = 0.0
        for l in range(rows.shape[1]):
            value = np.float64(rows[j, l])
            whole = min(max(np.rint(value * inverse), -MOST), MOST) if np.isfinite(inverse) else 0.0
            out[j, l] = np.int8(whole)
            gap = value - unit * whole
            total += gap * gap
        lost[j] = np.sqrt(total) * slack + np.finfo(lost.dtype).tiny


@njit(nogil=True, cache=True, error_model="numpy")
def round_word(row: Any, word: Any) -> Any:
    """Round a row to 16 bits, fewer where sums would not fit 32, and return unit_i, ‖u_i‖ and ‖u_i − û_i‖."""
    most = min(WORD, MOST_OF_A_SUM // (MOST * len(row)))
    peak = size = lost = 0.0
    for l in range(len(row)):
        peak = max(peak, abs(np.float64(row[l])))
    unit = peak / most if peak > 0 else 1.0
    for l in range(len(row)):
        value = np.float64(row[l])
        whole = min(max(np.rint(value / unit), -most), most)
        word[l] = np.int16(whole)
        size += value * value
        lost += (value - whole * unit) ** 2
    return unit, np.sqrt(size), np.sqrt(lost)


@njit(nogil=True, cache=True, error_model="numpy")
def bound_run(
    word: Any, word_unit: Any, size: Any, rounded: Any, units: Any, lost: Any, first: Any, beyond: Any, out: Any
) -> None:
    """out[j − first] = unit_i unit_j (w_i · b_j) + ‖u_i‖ lost_j for first ≤ j < beyond."""
    for j in range(first, beyond):
        total = np.int32(0)
        row = rounded[j]
        for l in range(len(word)):
            total = add_product(total, row[l], word[l])
        out[j - first] = np.float64(total) * (word_unit * units[j]) + size * lost[j]
