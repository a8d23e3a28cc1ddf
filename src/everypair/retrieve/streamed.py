"""Exact top-k of any scores that come as blocks of rows over all items: s_i for i in [start, stop), then the next.

Memory: one block of rows × items, at most ``memory_mb`` (but at least one row), and whatever its maker needs beside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.hide import rename_items
from everypair.kernels.select import clear_heaps, push_tile, sort_heaps
from everypair.parallel import Chunk, even_chunks, resolve_threads, run_chunks
from everypair.retrieve.filters import make_filters
from everypair.retrieve.topk import checked_n

BLOCK_MB = 128.0
_MOST_ROWS = 1024
_ROWS_AT_ONCE = 16  # of a thread, while they are in the cache

ScoreBlock = Callable[[int, int], NDArray[Any]]


def top_k_of_blocks(
    score_block: ScoreBlock,
    rows: int,
    n_items: int,
    n: int,
    *,
    exclude: Any = None,
    allow: Any = None,
    block: Any = None,
    dtype: Any = np.float32,
    memory_mb: float = BLOCK_MB,
    n_threads: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the n items with the greatest scores for every row: (items, scores), as :func:`everypair.retrieve.top_k`.

    ``score_block(start, stop)`` returns the scores of rows [start, stop) for all items, in C order and of type
    ``dtype``; the array is overwritten. It may use threads itself: blocks are asked for one after the other.

    >>> scores = np.array([[1.0, 3.0, 2.0], [5.0, 4.0, 6.0]])
    >>> take = lambda start, stop: scores[start:stop].copy()
    >>> items, best = top_k_of_blocks(take, rows=2, n_items=3, n=2, dtype=np.float64, block=[2])
    >>> items.tolist(), best.tolist()
    ([[1, 0], [0, 1]], [[3.0, 1.0], [5.0, 4.0]])
    """
    n = checked_n(n)
    threads = resolve_threads(n_threads)
    filters = make_filters(rows, n_items, exclude, allow, block)
    items = np.empty((rows, n), np.int32)
    scores = np.empty((rows, n), dtype)
    for first, beyond in even_chunks(rows, rows_of_block(n_items, scores.itemsize, memory_mb)):
        tile = score_block(first, beyond)
        if filters.columns is not None:
            tile = np.ascontiguousarray(tile[:, filters.columns])

        def work(chunk: Chunk, worker: int, tile: NDArray[Any] = tile, first: int = first) -> None:
            start, stop = first + chunk[0], first + chunk[1]
            own = tile[slice(*chunk)]
            clear_heaps(items, scores, start, stop)
            if own.shape[1]:
                filters.apply(own, 0, start, filters.cursors(start, stop))
                push_tile(own, 0, items, scores, start, stop)
                sort_heaps(items, scores, start, stop)
            if filters.columns is not None:
                rename_items(items, filters.columns, start, stop)

        run_chunks(work, even_chunks(beyond - first, _ROWS_AT_ONCE), threads)
    return items, scores


def rows_of_block(n_items: int, itemsize: int, memory_mb: float = BLOCK_MB) -> int:
    """Return how many rows of scores fit into ``memory_mb``, from 1 to 1024.

    >>> rows_of_block(40_000, 4), rows_of_block(100, 4), rows_of_block(10**9, 4)
    (838, 1024, 1)
    """
    if not memory_mb > 0:
        raise ValueError(f"memory_mb must be a positive number, got {memory_mb!r}.")
    return int(np.clip(memory_mb * 2**20 // (n_items * itemsize), 1, _MOST_ROWS))
