"""Products of rows with a matrix whose bits depend on the row alone, not on the rows beside it.

A matrix product of BLAS rounds a row otherwise when it is multiplied together with others; these do not. So an answer
is the same for one user and for many at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.indexed import FAST, accumulate
from everypair.kernels.vectors import ordered_dots_of_1, ordered_dots_of_8

OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}


@njit(**OPTIONS)
def score_tile(U: Any, start: Any, stop: Any, V: Any, columns: Any, first: Any, beyond: Any, tile: Any) -> None:
    """tile[i − start, t − first] = u_i · v_j with j = columns[t], for rows [start, stop) and first ≤ t < beyond.

    Eight items at a time meet all rows while they are in the first cache. The first row reads them one after the other,
    which is how memory is read fastest, the others eight at a time.
    """
    last = np.empty(8, columns.dtype)
    part = np.empty(8, V.dtype)
    whole = beyond - (beyond - first) % 8
    for t in range(first, whole, 8):
        for e in range(8):
            ordered_dots_of_1(V, columns, t + e, U[start], tile[0], t - first + e)
        for i in range(start + 1, stop):
            ordered_dots_of_8(V, columns, t, U[i], tile[i - start], t - first)
    if whole < beyond:
        for e in range(8):
            last[e] = columns[min(whole + e, beyond - 1)]
        for i in range(start, stop):
            ordered_dots_of_8(V, last, 0, U[i], part, 0)
            for e in range(beyond - whole):
                tile[i - start, whole - first + e] = part[e]


@njit(**OPTIONS)
def listed_scores(U: Any, rows: Any, V: Any, items: Any, out: Any) -> None:
    """out_t = u_i · v_j with i = rows[t] and j = items[t]: the bits of :func:`score_tile`."""
    for t in range(len(items)):
        ordered_dots_of_1(V, items, t, U[rows[t]], out, t)


@njit(**OPTIONS, fastmath=FAST)
def row_product(start: Any, stop: Any, rows: Any, positions: Any, matrix: Any, columns: Any, out: Any) -> None:
    """out_t = rows[positions_t] · matrix for start ≤ t < stop, one row after the other; ``columns`` are 0, 1, …."""
    for t in range(start, stop):
        out[t, :] = 0
        accumulate(matrix, columns, 0, 0, len(matrix), rows[positions[t]], out[t])


@njit(**OPTIONS, fastmath=FAST)
def row_dots(a: Any, b: Any, out: Any) -> None:
    """out_i = a_i · b_i."""
    for i in range(len(a)):
        total = a.dtype.type(0)
        for l in range(a.shape[1]):
            total += a[i, l] * b[i, l]
        out[i] = total
