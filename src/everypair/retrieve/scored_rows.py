"""Scores that are more than a product of factors: s_i = u_i Vᵀ + a_i, where a function writes the a_i of a few rows.

Exact top-k, as of factors, without ever holding the scores of all rows: a chunk of rows is written over all items, then
one tile of items after the other gets its products added, is filtered and offered to the rows' running n best.

Scratch memory of one thread, with R rows, n items, W items per tile and rank k:

    bytes(R, W) = itemsize · (R · n + W · (R + k)) + 24 · R

R follows from n and ``memory_mb`` alone, so that any number of threads gives the same bits; where all of them would
need more than ``memory_mb``, fewer work. What the function itself needs is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.hide import rename_items
from everypair.kernels.select import clear_heaps, push_tile, sort_heaps
from everypair.parallel import Chunk, even_chunks, resolve_threads, run_chunks
from everypair.retrieve.filters import make_filters
from everypair.retrieve.topk import checked_n
from everypair.types import Array

MEMORY_MB = 128.0
_MOST_ROWS, _WIDTH = 128, 1024


@dataclass(frozen=True)
class ScoredRows:
    """Scores s_i = u_i Vᵀ + a_i of ``rows`` rows for ``n_items`` items.

    ``fill(start, stop, out)`` writes a_i of rows [start, stop) into ``out`` ((stop − start) × n_items); it is called
    from several threads at once and starts none. ``left`` and ``right`` are None where there are no factors.

    >>> offsets = np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
    >>> def fill(start, stop, out):
    ...     out[:] = offsets[start:stop]
    >>> scores = ScoredRows(2, 3, np.dtype(float), fill, left=np.ones((2, 1)), right=np.array([[1.0], [2.0], [3.0]]))
    >>> scores.dense(n_threads=1).tolist()
    [[1.0, 7.0, 3.0], [1.0, 2.0, 3.0]]
    >>> scores.top_k(2)[0].tolist()
    [[1, 2], [2, 1]]
    """

    rows: int
    n_items: int
    dtype: np.dtype[Any]
    fill: Callable[[int, int, Array], None]
    left: Array | None = None
    right: Array | None = None

    def write(self, start: int, stop: int, out: Array) -> None:
        """Write the scores of rows [start, stop) into ``out``."""
        self.fill(start, stop, out)
        if self.left is not None and self.right is not None:
            out += self.left[start:stop] @ self.right.T

    def dense(self, n_threads: int) -> Array:
        """All scores, rows × items."""
        out = np.empty((self.rows, self.n_items), self.dtype)

        def work(chunk: Chunk, worker: int) -> None:
            self.write(*chunk, out[slice(*chunk)])

        run_chunks(work, even_chunks(self.rows, self._chunk_rows(MEMORY_MB)), n_threads)
        return out

    def top_k(
        self,
        n: int,
        *,
        exclude: Any = None,
        allow: Any = None,
        block: Any = None,
        memory_mb: float = MEMORY_MB,
        n_threads: int | None = None,
    ) -> tuple[NDArray[np.int32], Array]:
        """Return the n items with the greatest scores for every row: (items, scores), as :func:`top_k`."""
        n = checked_n(n)
        threads = resolve_threads(n_threads)
        filters = make_filters(self.rows, self.n_items, exclude, allow, block)
        columns = filters.columns
        chunk_rows = self._chunk_rows(memory_mb)
        threads = max(1, min(threads, int(memory_mb * 2**20 / self._bytes(chunk_rows))))
        items = np.empty((self.rows, n), np.int32)
        scores = np.empty((self.rows, n), self.dtype)
        n_scored = self.n_items if columns is None else len(columns)
        rooms: dict[int, tuple[Array, Array]] = {}

        def work(chunk: Chunk, worker: int) -> None:
            start, stop = chunk
            if worker not in rooms:
                rooms[worker] = (
                    np.empty((chunk_rows, self.n_items), self.dtype),
                    np.empty(chunk_rows * _WIDTH, self.dtype),
                )
            whole, room = rooms[worker]
            self.fill(start, stop, whole[: stop - start])
            cursors = filters.cursors(start, stop)
            clear_heaps(items, scores, start, stop)
            for first, beyond in even_chunks(n_scored, _WIDTH):
                tile = room[: (stop - start) * (beyond - first)].reshape(stop - start, beyond - first)
                named = slice(first, beyond) if columns is None else columns[first:beyond]
                if self.left is None or self.right is None:
                    tile[:] = whole[: stop - start, named]
                else:
                    np.matmul(self.left[start:stop], self.right[named].T, out=tile)
                    tile += whole[: stop - start, named]
                filters.apply(tile, first, start, cursors)
                push_tile(tile, first, items, scores, start, stop)
            sort_heaps(items, scores, start, stop)
            if columns is not None:
                rename_items(items, columns, start, stop)

        run_chunks(work, even_chunks(self.rows, chunk_rows), threads)
        return items, scores

    def _bytes(self, rows: int) -> int:
        rank = 0 if self.left is None else self.left.shape[1]
        return self.dtype.itemsize * (rows * self.n_items + _WIDTH * (rows + rank)) + 24 * rows

    def _chunk_rows(self, memory_mb: float) -> int:
        """Rows of a chunk: as many as fit into half of the memory, from 1 to 128, and a sixteenth of all."""
        if not memory_mb > 0:
            raise ValueError(f"memory_mb must be a positive number, got {memory_mb!r}.")
        rows = min(_MOST_ROWS, max(1, -(-self.rows // 16)))
        while rows > 1 and self._bytes(rows) > memory_mb * 2**19:
            rows //= 2
        return rows
