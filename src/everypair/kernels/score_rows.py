"""Scores of a user from the items the user has, s_j = base_j + Σ_l x_l B_lj, and scores brought to one scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True)
def sparse_scores(
    start: Any, stop: Any, row_start: Any, items: Any, signs: Any, b_start: Any, b_items: Any, b_values: Any, base: Any,
    out: Any,
) -> None:  # fmt: skip
    """out_i = base + Σ_l x_il b_l for rows [start, stop) of x, with the rows b_l of a sparse B."""
    for i in range(start, stop):
        out[i, :] = base
        for s in range(row_start[i], row_start[i + 1]):
            l = items[s]
            sign = signs[s]
            for t in range(b_start[l], b_start[l + 1]):
                out[i, np.uint32(b_items[t])] += sign * b_values[t]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_scaled(start: Any, stop: Any, scores: Any, zero: Any, weight: Any, out: Any) -> None:
    """out_i += weight (s_i − zero) / rms(s_i − zero) for rows [start, stop), the mean over all items of a row.

    A row that is ``zero`` everywhere adds nothing.
    """
    width = scores.shape[1]
    for i in range(start, stop):
        total = 0.0
        for j in range(width):
            gap = np.float64(scores[i, j] - zero)
            total += gap * gap
        if total > 0.0:
            scale = out.dtype.type(weight / np.sqrt(total / width))
            for j in range(width):
                out[i, j] += scale * (scores[i, j] - zero)
