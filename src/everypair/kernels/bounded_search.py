"""The n best items of a few rows by factors in bytes: one pass that scores exactly what may be among them, no more.

    s_ij = (u_i · v_j) scale_j + a_ij ≤ (bound_ij) scale_j + a_ij + margin_i

with the bounds of :mod:`everypair.kernels.byte_rows`. An item whose bound does not exceed the n-th best score so far is
skipped; of the others those that the row may see are scored as if there were no bytes. So a list has the items and the
bits of a search that scored every item. Others are few: some n (1 + ln(items / n)) of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.byte_rows import bound_run, round_word
from everypair.kernels.select import RUN, clear_heaps, sift_down, sort_heaps
from everypair.kernels.vectors import ordered_dots_of_1

CAUTION = 8  # more units of rounding than the k of a product: for those of scale, offset and the bound itself


@njit(nogil=True, cache=True)
def listed(item: Any, indices: Any, cursor: Any, end: Any) -> Any:
    """Move the cursor to the first entry that is not below ``item``."""
    while cursor < end and indices[cursor] < item:
        cursor += 1
    return cursor


@njit(nogil=True, cache=True, error_model="numpy")
def search_rows(
    U: Any, start: Any, V: Any, every: Any, rounded: Any, units: Any, lost: Any, reach: Any, scale: Any, offsets: Any,
    most: Any, blocked: Any, hidden_from: Any, hidden_to: Any, hidden: Any, allowed_from: Any, allowed_to: Any,
    allowed: Any, items: Any, scores: Any, finished: Any,
) -> Any:  # fmt: skip
    """Write the lists of rows start, start + 1, … of U into those of ``items`` and ``scores``, best first.

    ``finished`` has an entry per row, how many items were scored exactly. ``reach`` ≥ scale_j (‖v_j‖ + lost_j).
    ``scale``, ``offsets`` (rows × items, ``most`` of each row in size), ``blocked`` (a flag per item), and the ends of
    ``hidden`` and ``allowed`` items (of row i those at from_i to to_{i + 1}, ascending) are empty where there are none;
    ``every`` is 0, 1, ….
    Return whether all bounds are finite; otherwise nothing is written.
    """
    n, rank = items.shape[1], V.shape[1]
    rows = len(finished)
    words = np.empty((rows, rank), np.int16)
    unit, size, margin = np.empty(rows), np.empty(rows), np.empty(rows)
    hidden_at, allowed_at = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    eps, tiny = np.float64(np.finfo(V.dtype).eps), np.float64(np.finfo(V.dtype).tiny)
    for i in range(rows):
        unit[i], size[i], gap = round_word(U[start + i], words[i])
        rounding = (rank + CAUTION) * size[i] * reach
        if offsets.size:
            rounding += CAUTION * np.float64(most[i])
        margin[i] = 1.01 * (eps * rounding + rank * tiny + gap * reach)
        if not np.isfinite(margin[i]):
            return False
        if hidden_to.size:
            hidden_at[i] = hidden_from[start + i]
        if allowed_to.size:
            allowed_at[i] = allowed_from[start + i]
        finished[i] = 0
    clear_heaps(items, scores, start, start + rows)
    totals, bounds, part = np.empty(RUN, np.int32), np.empty(RUN), np.empty(1, V.dtype)
    for first in range(0, len(V), RUN):
        beyond = min(first + RUN, len(V))
        for i in range(rows):
            row = start + i
            bound_run(words[i], unit[i], size[i], rounded, units, lost, first, beyond, totals, bounds)
            if scale.size:
                own_scale = scale[first:beyond]
                for e in range(beyond - first):
                    bounds[e] *= own_scale[e]
            if offsets.size:
                own_offsets = offsets[i, first:beyond]
                for e in range(beyond - first):
                    bounds[e] += own_offsets[e]
            bar = np.float64(scores[row, 0]) - margin[i]
            winners = np.int64(0)
            for e in range(beyond - first):
                winners |= np.int64(bounds[e] > bar)
            if not winners:
                continue
            for e in range(beyond - first):
                j = first + e
                if not bounds[e] > bar or (blocked.size and blocked[j]):
                    continue
                if hidden_to.size:
                    hidden_at[i] = listed(j, hidden, hidden_at[i], hidden_to[row + 1])
                    if hidden_at[i] < hidden_to[row + 1] and hidden[hidden_at[i]] == j:
                        continue
                if allowed_to.size:
                    allowed_at[i] = listed(j, allowed, allowed_at[i], allowed_to[row + 1])
                    if allowed_at[i] >= allowed_to[row + 1] or allowed[allowed_at[i]] != j:
                        continue
                finished[i] += 1
                ordered_dots_of_1(V, every, j, U[row], part, 0)
                score = part[0]
                if scale.size:
                    score = score * scale[j]
                if offsets.size:
                    score = score + offsets[i, j]
                if score > scores[row, 0]:
                    sift_down(items, scores, row, n, j, score)
                    bar = np.float64(scores[row, 0]) - margin[i]
    sort_heaps(items, scores, start, start + rows)
    return True
