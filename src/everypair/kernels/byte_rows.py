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
BLOCK = 32  # rows of bytes that stay in the first cache while every row meets them


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
def bound_tile(
    words: Any, word_units: Any, sizes: Any, rounded: Any, units: Any, lost: Any, first: Any, beyond: Any, tile: Any
) -> None:
    """tile[i, j − first] = unit_i unit_j (w_i · b_j) + ‖u_i‖ lost_j for all rows w_i and first ≤ j < beyond."""
    columns = rounded.shape[1]
    for base in range(first, beyond, BLOCK):
        end = min(base + BLOCK, beyond)
        for i in range(len(words)):
            word, unit, size = words[i], word_units[i], sizes[i]
            for j in range(base, end):
                total = np.int32(0)
                row = rounded[j]
                for l in range(columns):
                    total = add_product(total, row[l], word[l])
                tile[i, j - first] = np.float64(total) * (unit * units[j]) + size * lost[j]
