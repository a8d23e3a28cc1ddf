"""Filters on a tile of scores: what a row may not see becomes −inf before the best are selected.

A filter is a csr pattern (rows × all items, indices ascending in each row). Tiles of one row come in
ascending order of their items, so each row keeps a cursor into its own list and reads it once in total.
``columns`` names the tile's items where only some items are scored (ascending); an empty array means that
the tile holds the items first, first + 1, ….
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def _place(item: int, first: int, columns: NDArray[np.int32]) -> int:
    """Return the tile's column that holds ``item``, −1 where none does."""
    if columns.size == 0:
        return item - first
    low, high = 0, columns.size
    while low < high:
        middle = (low + high) // 2
        if columns[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low if low < columns.size and columns[low] == item else -1


@njit(nogil=True, cache=True)
def hide_listed(
    tile: NDArray[Any],
    first: int,
    columns: NDArray[np.int32],
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    start: int,
    cursors: NDArray[np.int64],
) -> None:
    """Set the listed items of each row to −inf; tile row r is row start + r of the pattern."""
    width = tile.shape[1]
    beyond = columns[width - 1] + 1 if columns.size else first + width
    for line in range(tile.shape[0]):
        cursor, end = cursors[line], indptr[start + line + 1]
        while cursor < end and indices[cursor] < beyond:
            place = _place(indices[cursor], first, columns)
            if place >= 0:
                tile[line, place] = -np.inf
            cursor += 1
        cursors[line] = cursor


@njit(nogil=True, cache=True)
def keep_listed(
    tile: NDArray[Any],
    first: int,
    columns: NDArray[np.int32],
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    start: int,
    cursors: NDArray[np.int64],
) -> None:
    """Set everything but the listed items of each row to −inf; tile row r is row start + r of the pattern."""
    width = tile.shape[1]
    beyond = columns[width - 1] + 1 if columns.size else first + width
    for line in range(tile.shape[0]):
        cursor, end = cursors[line], indptr[start + line + 1]
        undecided = 0  # columns before this one are done
        while cursor < end and indices[cursor] < beyond:
            place = _place(indices[cursor], first, columns)
            if place >= undecided:
                tile[line, undecided:place] = -np.inf
                undecided = place + 1
            cursor += 1
        tile[line, undecided:] = -np.inf
        cursors[line] = cursor


@njit(nogil=True, cache=True)
def rename_items(items: NDArray[np.int32], columns: NDArray[np.int32], start: int, stop: int) -> None:
    """Replace column numbers by the items they stand for in rows [start, stop); padding (−1) stays."""
    for row in range(start, stop):
        for place in range(items.shape[1]):
            if items[row, place] >= 0:
                items[row, place] = columns[items[row, place]]
