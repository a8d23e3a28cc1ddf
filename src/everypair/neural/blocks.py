"""Rows in blocks: what a tower computes of one block at a time bounds its memory and is shared out among threads.

A block has at most 1024 rows; a shorter one is filled up with zero rows to a multiple of 256, or to a power of two, so
that products (and what jax compiles) have few shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from everypair.parallel import BLOCK_ROWS, Chunk, even_chunks, run_chunks
from everypair.types import Array

STEP = 256


def padded_rows(count: int) -> int:
    """The number of rows that a block of ``count`` rows is filled up to.

    >>> [padded_rows(count) for count in (1, 3, 200, 300, 1024)]
    [1, 4, 256, 512, 1024]
    """
    return 1 << (count - 1).bit_length() if count <= STEP else -(-count // STEP) * STEP


def filled(array: Array, block: Chunk) -> Array:
    """A block of rows of an array, filled up with zero rows."""
    count, size = block[1] - block[0], padded_rows(block[1] - block[0])
    if count == size:
        return array[slice(*block)]
    out = np.zeros((size, *array.shape[1:]), array.dtype)
    out[:count] = array[slice(*block)]
    return out


def by_blocks(rows: int, columns: int, dtype: Any, of_block: Callable[[Chunk], Array], n_threads: int) -> Array:
    """A matrix of rows that are made block by block; what fills a block up is cut off.

    >>> by_blocks(3, 1, np.float64, lambda block: np.arange(4.0)[:, None], 1).ravel().tolist()
    [0.0, 1.0, 2.0]
    """
    out = np.empty((rows, columns), dtype)

    def work(block: Chunk, worker: int) -> None:
        out[slice(*block)] = np.asarray(of_block(block))[: block[1] - block[0]]

    run_chunks(work, even_chunks(rows, BLOCK_ROWS), n_threads)
    return out
