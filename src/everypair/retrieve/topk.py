"""Exact top-k: the n items j with the greatest u_i · v_j, for many rows i, in bounded memory.

Scores are never held for all items. A chunk of rows is multiplied with one tile of items after the other;
each tile is filtered and offered to the rows' running n best while it is still in the cache.

Scratch memory of one thread, with R rows, W items per tile and rank k:

    bytes(R, W) = itemsize · W · (R + k) + 24 · R

(the scores, the tile's item factors where they have to be gathered, and three reading positions per row).
R and W follow from the number of rows and ``memory_mb`` alone, never from the number of threads, so that
every number of threads multiplies the same blocks and gives the same bits; where ``threads · bytes(R, W)``
would exceed the budget, fewer threads work. BLAS's own workspace is not counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.hide import rename_items
from everypair.kernels.select import clear_heaps, push_tile, sort_heaps
from everypair.parallel import Chunk, even_chunks, resolve_threads, run_chunks
from everypair.retrieve.filters import make_filters

MEMORY_MB = 64.0

# Measured at rank 64 in float32: flat within a few percent from 256 × 256 to 256 × 2048, slower outside.
_MOST_ROWS, _FEWEST_ROWS, _PIECES = 256, 32, 16
_TILE_SCORES, _MOST_WIDTH, _FEWEST_WIDTH = 256 * 1024, 8192, 64


def top_k(
    left: NDArray[Any],
    right: NDArray[Any],
    n: int,
    *,
    exclude: Any = None,
    allow: Any = None,
    block: Any = None,
    memory_mb: float = MEMORY_MB,
    n_threads: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the n items with the greatest ``left[i] @ right[j]`` for every row i: (items, scores).

    Both are rows × n in descending order of score, ties by ascending item; where fewer than n items remain
    for a row the rest is −1 and −inf.

    Parameters
    ----------
    left, right
        Factors, rows × k and items × k, float32 or float64.
    n
        How many items per row.
    exclude
        Sparse rows × items: every stored entry is hidden from its row (the items it has seen).
    allow
        Only these items: indices or a boolean array of length items (for every row; only these are scored),
        or a sparse matrix of rows × items (row by row, nonzero = allowed).
    block
        Hide these items: the same three forms.
    memory_mb
        Scratch memory of all threads together, in units of 2²⁰ bytes; the two results are not part of it.
    n_threads
        Number of threads, ``None`` for all cores. The result does not depend on it.

    Examples
    --------
    >>> left = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> right = np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
    >>> items, scores = top_k(left, right, 2)
    >>> items
    array([[0, 1],
           [2, 1]], dtype=int32)
    >>> top_k(left, right, 2, block=[1])[0]
    array([[0, 2],
           [2, 0]], dtype=int32)
    """
    left, right = _checked_factors(left, right)
    n = checked_n(n)
    threads = resolve_threads(n_threads)
    rows, n_items = len(left), len(right)
    filters = make_filters(rows, n_items, exclude, allow, block)
    columns = filters.columns
    chunk_rows, width = tile_shape(rows, left.shape[1], left.itemsize, memory_mb)
    tile_memory = tile_bytes(chunk_rows, width, left.shape[1], left.itemsize)
    threads = min(threads, int(memory_mb * 2**20 / tile_memory))

    items = np.empty((rows, n), dtype=np.int32)
    scores = np.empty((rows, n), dtype=left.dtype)
    n_scored = n_items if columns is None else len(columns)
    scratch: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}

    def work(chunk: Chunk, worker: int) -> None:
        start, stop = chunk
        if worker not in scratch:
            gathered = np.empty((0 if columns is None else width, left.shape[1]), dtype=left.dtype)
            scratch[worker] = np.empty(chunk_rows * width, dtype=left.dtype), gathered
        room, gathered = scratch[worker]
        cursors = filters.cursors(start, stop)
        clear_heaps(items, scores, start, stop)
        for first, beyond in even_chunks(n_scored, width):
            tile = room[: (stop - start) * (beyond - first)].reshape(stop - start, beyond - first)
            if columns is None:
                factors = right[first:beyond]
            else:
                factors = gathered[: beyond - first]
                np.take(right, columns[first:beyond], axis=0, out=factors, mode="clip")
            np.matmul(left[start:stop], factors.T, out=tile)
            filters.apply(tile, first, start, cursors)
            push_tile(tile, first, items, scores, start, stop)
        sort_heaps(items, scores, start, stop)
        if columns is not None:
            rename_items(items, columns, start, stop)

    run_chunks(work, even_chunks(rows, chunk_rows), threads)
    return items, scores


def tile_bytes(rows: int, width: int, rank: int, itemsize: int) -> int:
    """Return the scratch memory of one thread: itemsize · width · (rows + rank) + 24 · rows.

    >>> tile_bytes(256, 1024, 64, 4)
    1316864
    """
    return itemsize * width * (rows + rank) + 24 * rows


def tile_shape(rows: int, rank: int, itemsize: int, memory_mb: float) -> tuple[int, int]:
    """Return (rows per chunk, items per tile) that one thread can hold in ``memory_mb``.

    >>> tile_shape(70_000, rank=64, itemsize=4, memory_mb=64)
    (256, 1024)
    >>> tile_shape(1, rank=64, itemsize=4, memory_mb=64)
    (1, 8192)
    """
    if not memory_mb > 0:
        raise ValueError(f"memory_mb must be a positive number, got {memory_mb!r}.")
    size = min(max(-(-rows // _PIECES), _FEWEST_ROWS), _MOST_ROWS, max(rows, 1))
    width = min(_TILE_SCORES // size, _MOST_WIDTH)
    while tile_bytes(size, width, rank, itemsize) > memory_mb * 2**20:
        if width > _FEWEST_WIDTH:
            width //= 2
        elif size > 1:
            size //= 2
        else:
            needed = tile_bytes(size, width, rank, itemsize) / 2**20
            raise ValueError(f"memory_mb={memory_mb} is too small: one row at a time needs {needed:.4f}.")
    return size, width


def checked_n(n: int) -> int:
    """Return the number of items per row, or refuse it."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"n must be an integer, the number of items per row, got {n!r}.")
    if n < 1:
        raise ValueError(f"n must be at least 1, the number of items per row, got {n}.")
    return int(n)


def _checked_factors(left: Any, right: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    left, right = checked_matrix(left, "left"), checked_matrix(right, "right")
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"left and right must have the same number of columns, the rank, "
            f"but left is {left.shape[0]} × {left.shape[1]} and right is {right.shape[0]} × {right.shape[1]}."
        )
    dtype = np.result_type(left, right)
    return left.astype(dtype, copy=False), right.astype(dtype, copy=False)


def checked_matrix(factors: Any, name: str) -> NDArray[Any]:
    """Return the factors as a C-ordered float32 or float64 matrix; refuse anything else and NaN.

    >>> checked_matrix(np.eye(2), "left").flags.c_contiguous
    True
    """
    matrix = np.ascontiguousarray(factors)
    if matrix.ndim != 2 or np.ndim(factors) != 2 or matrix.shape[1] == 0:
        raise ValueError(f"{name} must be a matrix of factors, one row each, got shape {np.shape(factors)}.")
    if matrix.dtype not in (np.float32, np.float64):
        raise TypeError(f"{name} must be float32 or float64, got {matrix.dtype}; convert it with astype.")
    if len(matrix) > np.iinfo(np.int32).max:
        raise ValueError(f"{name} has {len(matrix)} rows; at most {np.iinfo(np.int32).max} can be numbered.")
    for start, stop in even_chunks(len(matrix), 4096):
        if not np.isfinite(matrix[start:stop]).all():
            raise ValueError(f"{name} holds NaN or infinite factors; fit the model again with a larger reg.")
    return matrix
