"""A counting sort of stored pairs by their column, for rows [start, stop): counts first, then every pair to its place.

Rows come in their order, so that each column's pairs stay sorted by row. ``places`` holds where the next pair of each
column goes, and moves on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}


@njit(**OPTIONS)
def count_columns(start: Any, stop: Any, indptr: Any, indices: Any, counts: Any) -> None:
    """counts_j += number of pairs of column j."""
    for e in range(np.uint64(indptr[start]), np.uint64(indptr[stop])):
        counts[np.uint64(indices[e])] += 1


@njit(**OPTIONS)
def place_rows(start: Any, stop: Any, indptr: Any, indices: Any, places: Any, out: Any) -> None:
    """Write the row of every pair to its place."""
    for i in range(start, stop):
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[e])
            at = places[j]
            out[np.uint64(at)] = i
            places[j] = at + 1


@njit(**OPTIONS)
def place_positions(start: Any, stop: Any, indptr: Any, indices: Any, places: Any, out: Any) -> None:
    """Write the row-major position of every pair to its place."""
    for e in range(np.uint64(indptr[start]), np.uint64(indptr[stop])):
        j = np.uint64(indices[e])
        at = places[j]
        out[np.uint64(at)] = e
        places[j] = at + 1


@njit(**OPTIONS)
def place_numbers(start: Any, stop: Any, indptr: Any, indices: Any, places: Any, numbers: Any, out: Any) -> None:
    """Write the number of every pair to its place."""
    for e in range(np.uint64(indptr[start]), np.uint64(indptr[stop])):
        j = np.uint64(indices[e])
        at = places[j]
        out[np.uint64(at)] = numbers[e]
        places[j] = at + 1
