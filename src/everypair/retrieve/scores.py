"""Scores s_i = u_i Vᵀ + a_i of many rows, ranked exactly without ever holding those of all rows.

A chunk of rows is scored for one tile of items after the other; what a function writes of their a_i is added; each tile
is filtered and offered to the rows' running n best while it is still in the cache. Either term may be missing.
:mod:`everypair.retrieve.tiles` says how large the pieces are, :mod:`everypair.retrieve.room` how they are scored. A
row's list has the same bits whatever rows stand beside it, and on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.kernels.hide import rename_items
from everypair.kernels.product_rows import listed_scores
from everypair.kernels.select import clear_heaps, sort_heaps
from everypair.kernels.writable import writable_view
from everypair.parallel import Chunk, even_chunks, resolve_threads, run_chunks
from everypair.retrieve.bounded import search_by_bounds
from everypair.retrieve.filters import FEW_ROWS, make_filters
from everypair.retrieve.index import Index, finite_matrix
from everypair.retrieve.room import EXACT_ROWS, SPARING, Room
from everypair.retrieve.tiles import FACTORS_MB, OFFSETS_MB, Tiles, tiles_of_factors, tiles_with_offsets
from everypair.types import Array

PRODUCT_ROWS = 256  # of a dense product at once


@dataclass(frozen=True)
class Scores:
    """Scores s_i = u_i Vᵀ + a_i of ``rows`` rows for ``n_items`` items.

    ``fill(start, stop, out)`` writes a_i of rows [start, stop) into ``out`` ((stop − start) × n_items); it is called
    from several threads at once and starts none. It is None where there are factors alone; ``left`` (U) and ``index``
    (of V) are None where there are none.

    >>> offsets = np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
    >>> def fill(start, stop, out):
    ...     out[:] = offsets[start:stop]
    >>> index = Index.of(np.array([[1.0], [2.0], [3.0]]))
    >>> scores = Scores(2, 3, np.dtype(float), fill, left=np.ones((2, 1)), index=index)
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
    index: Index | None = None

    @classmethod
    def of_factors(cls, left: Any, right: Any) -> Scores:
        """Check the factors of rows and items, float32 or float64 with one column each per factor."""
        left, right = finite_matrix(left, "left"), finite_matrix(right, "right")
        if left.shape[1] != right.shape[1]:
            raise ValueError(
                f"left and right must have the same number of columns, the rank, "
                f"but left is {left.shape[0]} × {left.shape[1]} and right is {right.shape[0]} × {right.shape[1]}."
            )
        dtype = np.result_type(left, right)
        return cls.of_index(left.astype(dtype, copy=False), Index.of_finite(right.astype(dtype, copy=False)))

    @classmethod
    def of_index(cls, left: Array, index: Index) -> Scores:
        """Scores of rows of the index's dtype that are known to be finite."""
        return cls(len(left), index.shape[0], index.dtype, left=writable_view(np.ascontiguousarray(left)), index=index)

    def write(self, start: int, stop: int, out: Array, apart: bool = False) -> None:
        """Write the scores of rows [start, stop) into ``out``; ``apart``: row by row, to the bit those of lists."""
        if self.fill is not None:
            self.fill(start, stop, out)
        if self.left is not None and self.index is not None:
            product = out if self.fill is None else np.empty_like(out)
            if apart:
                self.index.products(self.left[start:stop], product)
            else:
                np.matmul(self.left[start:stop], self.index.factors.T, out=product)
                if self.index.scale is not None:
                    product *= self.index.scale
            if self.fill is not None:
                out += product

    def dense(self, n_threads: int) -> Array:
        """All scores, rows × items."""
        out = np.empty((self.rows, self.n_items), self.dtype)
        size = PRODUCT_ROWS if self.fill is None else self._tiles(OFFSETS_MB).rows

        def work(chunk: Chunk, worker: int) -> None:
            self.write(*chunk, out[slice(*chunk)])

        run_chunks(work, even_chunks(self.rows, size), n_threads)
        return out

    def pairs(self, rows: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
        """Scores of the pairs (rows[t], items[t]), to the bit those of :meth:`top_k`."""
        out = np.zeros(len(rows), self.dtype)
        if self.left is not None and self.index is not None:
            listed_scores(self.left, rows, self.index.factors, items, out)
            if self.index.scale is not None:
                out *= self.index.scale[items]

        def work(chunk: Chunk, worker: int) -> None:
            own = np.flatnonzero((rows >= chunk[0]) & (rows < chunk[1]))
            offsets = np.empty((chunk[1] - chunk[0], self.n_items), self.dtype)
            assert self.fill is not None
            self.fill(*chunk, offsets)
            out[own] += offsets[rows[own] - chunk[0], items[own]]

        if self.fill is not None:
            run_chunks(work, even_chunks(self.rows, EXACT_ROWS), n_threads)
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
        columns, rounded = filters.columns, None
        n_scored = self.n_items if columns is None else len(columns)
        short = n * SPARING <= n_scored
        items = np.empty((self.rows, n), np.int32)
        scores = np.empty((self.rows, n), self.dtype)
        if short and columns is None and self.index is not None:
            rounded = self.index.rounded_by_now(self.rows)
        if rounded is not None and self.fill is None and self.rows <= FEW_ROWS:
            if search_by_bounds(self, rounded, filters, (0, self.rows), items, scores):
                return items, scores
            rounded = None
        budget = (FACTORS_MB if self.fill is None else OFFSETS_MB) if memory_mb is None else memory_mb
        tiles = self._tiles(budget)
        rooms: dict[int, Room] = {}

        def work(chunk: Chunk, worker: int) -> None:
            start, stop = chunk
            if rounded is not None and search_by_bounds(self, rounded, filters, chunk, items, scores):
                return
            if worker not in rooms:
                rooms[worker] = Room(self, tiles, columns, self.rows > EXACT_ROWS and short)
            room = rooms[worker]
            room.fill(start, stop)
            cursors = filters.cursors(start, stop)
            clear_heaps(items, scores, start, stop)
            for first, beyond in even_chunks(n_scored, tiles.width):
                tile = room.tile(start, stop, first, beyond)
                filters.apply(tile, first, start, cursors)
                room.push(tile, first, items, scores, start, stop)
            sort_heaps(items, scores, start, stop)
            if columns is not None:
                rename_items(items, columns, start, stop)

        chunks = even_chunks(self.rows, tiles.rows)
        if len(chunks) == 1 and self.rows <= EXACT_ROWS:  # nothing here calls BLAS, whose threads need no limit
            work(chunks[0], 0)
        else:
            run_chunks(work, chunks, tiles.threads(threads, budget))
        return items, scores

    def nearest(self, own: NDArray[Any], n: int, **options: Any) -> tuple[NDArray[np.int32], Array]:
        """Return the n items with the greatest cosines, where row t is item ``own[t]`` and is left out itself.

        ``options`` are those of :meth:`top_k`.
        """
        itself = StoredRows(np.arange(len(own) + 1), own, np.ones(len(own), bool), self.n_items)
        items, cosines = self.top_k(n, exclude=itself, **options)
        np.clip(cosines, -1.0, 1.0, out=cosines, where=items >= 0)
        return items, cosines

    def _tiles(self, memory_mb: float) -> Tiles:
        rank = 0 if self.index is None else self.index.shape[1]
        if self.fill is None:
            return tiles_of_factors(self.rows, rank, self.dtype.itemsize, memory_mb)
        return tiles_with_offsets(self.rows, self.n_items, rank, self.dtype.itemsize, memory_mb)


def checked_n(n: int) -> int:
    """Return the number of items per row, or refuse it."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"n must be an integer, the number of items per row, got {n!r}.")
    if n < 1:
        raise ValueError(f"n must be at least 1, the number of items per row, got {n}.")
    return int(n)
