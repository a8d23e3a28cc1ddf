"""The n best of a row from rough scores: what may be among them is scored once more, exactly.

    s_j = (u_i · v_j) scale_j + a_ij,    |rough_j − s_j| ≤ margin_i

An item whose rough score is below the n-th best so far by more than the margin cannot be among the n best, and is
skipped. So a list has the items and the bits of one that scored every item exactly, whatever the rough scores are made
of. Others are few: some n (1 + ln(items / n)) of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.select import RUN, sift_down
from everypair.kernels.vectors import ordered_dots_of_1


@njit(nogil=True, cache=True, error_model="numpy")
def finish_tile(
    tile: Any, first: Any, items: Any, scores: Any, start: Any, stop: Any, margins: Any, U: Any, V: Any, columns: Any,
    scale: Any, offsets: Any,
) -> Any:  # fmt: skip
    """Offer a tile of rough scores to the heaps of rows [start, stop), see ``push_tile``; return how many were scored.

    The tile's columns are items columns[first], columns[first + 1], …; ``margins`` and ``offsets`` (a_i over all items)
    begin at row ``start``; ``scale`` and ``offsets`` are empty where there are none.
    """
    n = items.shape[1]
    width = tile.shape[1]
    part = np.empty(1, tile.dtype)
    finished = 0
    for row in range(start, stop):
        line = row - start
        root = scores[row, 0]
        bar = root - margins[line]
        for base in range(0, width, RUN):
            end = min(base + RUN, width)
            winners = np.int32(0)
            if end - base == RUN:
                for c in range(RUN):
                    winners |= np.int32(tile[line, base + c] > bar)
            else:
                for c in range(base, end):
                    winners |= np.int32(tile[line, c] > bar)
            if winners:
                for c in range(base, end):
                    if tile[line, c] > bar:
                        finished += 1
                        ordered_dots_of_1(V, columns, first + c, U[row], part, 0)
                        score = part[0]
                        j = columns[first + c]
                        if scale.size:
                            score = score * scale[j]
                        if offsets.size:
                            score = score + offsets[line, j]
                        if score > root:
                            sift_down(items, scores, row, n, np.int64(first + c), score)
                            root = scores[row, 0]
                            bar = root - margins[line]
    return finished
