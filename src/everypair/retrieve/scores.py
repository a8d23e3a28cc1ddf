"""Scores s_i = u_i Vᵀ + a_i of many rows, ranked exactly without ever holding those of all rows.

A chunk of rows is multiplied with one tile of items after the other; what a function writes of their a_i is added; each
tile is filtered and offered to the rows' running n best while it is still in the cache. Either term may be missing.
:mod:`everypair.retrieve.tiles` says how large the pieces are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.kernels.hide import rename_items
from everypair.kernels.select import clear_heaps, push_tile, sort_heaps
from everypair.parallel import Chunk, blocked_product, even_chunks, resolve_threads, run_chunks
from everypair.retrieve.filters import make_filters
from everypair.retrieve.tiles import FACTORS_MB, OFFSETS_MB, Tiles, tiles_of_factors, tiles_with_offsets
from everypair.types import Array

PRODUCT_ROWS = 256  # of a dense product at once


@dataclass(frozen=True)
class Scores:
    """Scores s_i = u_i Vᵀ + a_i of ``rows`` rows for ``n_items`` items.

    ``fill(start, stop, out)`` writes a_i of rows [start, stop) into ``out`` ((stop − start) × n_items); it is called
    from several threads at once and starts none. It is None where there are factors alone, ``left`` and ``right`` are
    None where there are none.

    >>> offsets = np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
    >>> def fill(start, stop, out):
    ...     out[:] = offsets[start:stop]
    >>> scores = Scores(2, 3, np.dtype(float), fill, left=np.ones((2, 1)), right=np.array([[1.0], [2.0], [3.0]]))
    >>> scores.dense(n_threads=1).tolist()
    [[1.0, 7.0, 3.0], [1.0, 2.0, 3.0]]
    >>> scores.top_k(2)[0].tolist()
    [[1, 2], [2, 1]]
    """

    rows: int
    n_items: int
    dtype: np.dtype[Any]
    fill: Callable[[int, int, Array], None] | None = None
    left: Array | None = None
    right: Array | None = None

    @classmethod
    def of_factors(cls, left: Any, right: Any) -> Scores:
        """Check the factors of rows and items, float32 or float64 with one column each per factor."""
        left, right = checked_matrix(left, "left"), checked_matrix(right, "right")
        if left.shape[1] != right.shape[1]:
            raise ValueError(
                f"left and right must have the same number of columns, the rank, "
                f"but left is {left.shape[0]} × {left.shape[1]} and right is {right.shape[0]} × {right.shape[1]}."
            )
        dtype = np.result_type(left, right)
        return cls(
            len(left), len(right), dtype, left=left.astype(dtype, copy=False), right=right.astype(dtype, copy=False)
        )

    def write(self, start: int, stop: int, out: Array) -> None:
        """Write the scores of rows [start, stop) into ``out``."""
        if self.fill is None:
            assert self.left is not None
            assert self.right is not None
            np.matmul(self.left[start:stop], self.right.T, out=out)
            return
        self.fill(start, stop, out)
        if self.left is not None and self.right is not None:
            out += self.left[start:stop] @ self.right.T

    def dense(self, n_threads: int) -> Array:
        """All scores, rows × items."""
        if self.fill is None:
            assert self.left is not None
            assert self.right is not None
            return blocked_product(self.left, self.right.T, PRODUCT_ROWS, n_threads)
        out = np.empty((self.rows, self.n_items), self.dtype)

        def work(chunk: Chunk, worker: int) -> None:
            self.write(*chunk, out[slice(*chunk)])

        run_chunks(work, even_chunks(self.rows, self._tiles(OFFSETS_MB).rows), n_threads)
        return out

    def top_k(
        self,
        n: int,
        *,
        exclude: Any = None,
        allow: Any = None,
        block: Any = None,
        memory_mb: float | None = None,
        n_threads: int | None = None,
    ) -> tuple[NDArray[np.int32], Array]:
        """Return the n items with the greatest scores for every row, see :func:`everypair.retrieve.top_k`."""
        n = checked_n(n)
        threads = resolve_threads(n_threads)
        filters = make_filters(self.rows, self.n_items, exclude, allow, block)
        columns = filters.columns
        budget = (FACTORS_MB if self.fill is None else OFFSETS_MB) if memory_mb is None else memory_mb
        tiles = self._tiles(budget)
        items = np.empty((self.rows, n), np.int32)
        scores = np.empty((self.rows, n), self.dtype)
        n_scored = self.n_items if columns is None else len(columns)
        rooms: dict[int, _Room] = {}

        def work(chunk: Chunk, worker: int) -> None:
            start, stop = chunk
            if worker not in rooms:
                rooms[worker] = _Room(self, tiles, gathers=columns is not None)
            room = rooms[worker]
            if self.fill is not None:
                self.fill(start, stop, room.offsets[: stop - start])
            cursors = filters.cursors(start, stop)
            clear_heaps(items, scores, start, stop)
            for first, beyond in even_chunks(n_scored, tiles.width):
                named = slice(first, beyond) if columns is None else columns[first:beyond]
                tile = room.tile(start, stop, named, beyond - first)
                filters.apply(tile, first, start, cursors)
                push_tile(tile, first, items, scores, start, stop)
            sort_heaps(items, scores, start, stop)
            if columns is not None:
                rename_items(items, columns, start, stop)

        run_chunks(work, even_chunks(self.rows, tiles.rows), tiles.threads(threads, budget))
        return items, scores

    def nearest(self, own: NDArray[Any], n: int, **options: Any) -> tuple[NDArray[np.int32], Array]:
        """Return the n items with the greatest cosines, where row t is item ``own[t]`` and is left out itself.

        ``options`` are those of :meth:`top_k`.
        """
        itself = sp.csr_array((np.ones(len(own), bool), own, np.arange(len(own) + 1)), shape=(len(own), self.n_items))
        items, cosines = self.top_k(n, exclude=itself, **options)
        np.clip(cosines, -1.0, 1.0, out=cosines, where=items >= 0)
        return items, cosines

    def _tiles(self, memory_mb: float) -> Tiles:
        rank = 0 if self.left is None else self.left.shape[1]
        if self.fill is None:
            return tiles_of_factors(self.rows, rank, self.dtype.itemsize, memory_mb)
        return tiles_with_offsets(self.rows, self.n_items, rank, self.dtype.itemsize, memory_mb)


class _Room:
    """Scratch memory of one thread: a tile of scores, gathered item factors, the offsets of a chunk's rows."""

    def __init__(self, scores: Scores, tiles: Tiles, gathers: bool) -> None:
        self.scores = scores
        self.flat = np.empty(tiles.rows * tiles.width, scores.dtype)
        self.offsets = np.empty((0 if scores.fill is None else tiles.rows, scores.n_items), scores.dtype)
        rank = 0 if scores.right is None else scores.right.shape[1]
        self.gathered = np.empty((tiles.width if gathers else 0, rank), scores.dtype)

    def tile(self, start: int, stop: int, items: Any, width: int) -> Array:
        """Scores of rows [start, stop) for the items of a tile, a run or a list of them."""
        left, right = self.scores.left, self.scores.right
        tile = self.flat[: (stop - start) * width].reshape(stop - start, width)
        if left is None or right is None:
            tile[:] = self.offsets[: stop - start, items]
            return tile
        factors = right[items] if isinstance(items, slice) else self.gathered[:width]
        if not isinstance(items, slice):
            np.take(right, items, axis=0, out=factors, mode="clip")
        np.matmul(left[start:stop], factors.T, out=tile)
        if self.scores.fill is not None:
            tile += self.offsets[: stop - start, items]
        return tile


def checked_n(n: int) -> int:
    """Return the number of items per row, or refuse it."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"n must be an integer, the number of items per row, got {n!r}.")
    if n < 1:
        raise ValueError(f"n must be at least 1, the number of items per row, got {n}.")
    return int(n)


def checked_matrix(factors: Any, name: str) -> Array:
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
