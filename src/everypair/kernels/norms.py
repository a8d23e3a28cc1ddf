"""Σ_i weight_i Σ_l factor_il² over rows [start, stop), in float64 whatever the factors are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def weighted_squares(start: Any, stop: Any, factors: Any, weights: Any, constant: Any) -> Any:
    """Add up weighted squares of rows but for the column ``constant``, −1 for none."""
    total = 0.0
    columns = factors.shape[1]
    cut = columns if constant < 0 else constant
    for i in range(start, stop):
        row = 0.0
        for l in range(cut):
            value = np.float64(factors[i, l])
            row += value * value
        for l in range(cut + 1, columns):
            value = np.float64(factors[i, l])
            row += value * value
        total += weights[i] * row
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def row_lengths(rows: Any, out: Any) -> None:
    """out_i = ‖row_i‖, divided by the row's peak first, so that squares stay in range; 1 / peak may not be."""
    for i in range(len(rows)):
        peak = rows.dtype.type(0.0)
        for l in range(rows.shape[1]):
            peak = max(peak, abs(rows[i, l]))
        total = rows.dtype.type(0.0)
        if peak > 0:
            for l in range(rows.shape[1]):
                part = rows[i, l] / peak
                total += part * part
        out[i] = peak * np.sqrt(total)
