"""Rows in blocks: what a tower keeps of one block at a time bounds its memory, and padding bounds what jax compiles.

A block has at most 2048 rows; a shorter one is filled up with zero rows to a multiple of 256, or to a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from everypair.parallel import even_chunks
from everypair.types import Array

TOWER_ROWS = 2048  # of a block
STEP = 256
ALIGNMENT = 64  # bytes: jax reads such arrays where they lie and copies others


def padded_rows(count: int) -> int:
    """The number of rows that a block of ``count`` rows is filled up to.

    >>> [padded_rows(count) for count in (1, 3, 200, 300, 2048)]
    [1, 4, 256, 512, 2048]
    """
    return 1 << (count - 1).bit_length() if count <= STEP else -(-count // STEP) * STEP


def blocks(rows: int) -> Iterator[tuple[slice, int]]:
    """Every block of ``rows`` rows: which they are, and how many it is filled up to."""
    for start, stop in even_chunks(rows, TOWER_ROWS):
        yield slice(start, stop), padded_rows(stop - start)


def aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    """An empty array that jax reads without a copy, as it does its blocks of rows.

    >>> aligned((3, 2), np.float32).ctypes.data % 64
    0
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.empty(size + ALIGNMENT, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    return room[first : first + size].view(dtype).reshape(shape)


def filled(array: Array, rows: slice, size: int) -> Array:
    """A block of an array, filled up with zero rows."""
    block = array[rows]
    if len(block) == size:
        return block
    out = aligned((size, *array.shape[1:]), array.dtype)
    out[: len(block)] = block
    out[len(block) :] = 0
    return out
