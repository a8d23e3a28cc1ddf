"""Row-major pairs in column-major order, by a counting sort on several threads: the same arrays on any number of them.

Every thread counts and places the pairs of its own run of rows. Memory besides the result: 8 bytes a column for each
thread, and fewer threads work where that would be more than the pairs themselves take.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.kernels.transpose import count_columns, place_numbers, place_positions, place_rows
from everypair.kernels.writable import writable_view
from everypair.parallel import Chunk, balanced_chunks, run_chunks
from everypair.types import Array

LEAST_PAIRS = 2**16  # of a thread's rows
LARGEST = np.iinfo(np.int32).max


def index_dtype(largest: int) -> Any:
    """int32 where it holds ``largest``, else int64.

    >>> index_dtype(10) is np.int32, index_dtype(2**31) is np.int64
    (True, True)
    """
    return np.int32 if largest <= LARGEST else np.int64


class Transposition:
    """Where the pairs of a row-major pattern with ``n_columns`` columns stand in column-major order.

    >>> to_columns = Transposition(np.array([0, 2, 3]), np.array([0, 2, 0]), 3)
    >>> to_columns.indptr.tolist(), to_columns.rows().tolist(), to_columns.order().tolist()
    ([0, 2, 2, 3], [0, 1, 0], [0, 2, 1])
    >>> to_columns.numbers(np.array([0.5, 1.5, 2.5])).tolist()
    [0.5, 2.5, 1.5]
    """

    def __init__(self, indptr: Array, indices: Array, n_columns: int, n_threads: int = 1) -> None:
        self._pattern = writable_view(indptr), writable_view(indices)
        pieces = max(1, min(n_threads, len(indices) // max(n_columns, LEAST_PAIRS)))
        self._chunks = balanced_chunks(indptr, 0, pieces)
        counts = np.zeros((len(self._chunks), n_columns), np.int64)
        self._run(count_columns, counts)
        self.indptr = np.zeros(n_columns + 1, np.int64)
        np.cumsum(counts.sum(axis=0), out=self.indptr[1:])
        self._places = np.cumsum(counts, axis=0) - counts + self.indptr[:-1]  # where each run of rows begins

    def rows(self) -> Array:
        """The row of every pair: the indices of the transposed pattern."""
        return self._placed(place_rows, index_dtype(len(self._pattern[0]) - 2))

    def order(self) -> Array:
        """The row-major position of every pair."""
        return self._placed(place_positions, index_dtype(len(self._pattern[1])))

    def numbers(self, numbers: Array) -> Array:
        """One number for every pair, given row-major."""
        return self._placed(place_numbers, numbers.dtype, writable_view(numbers))

    def _placed(self, kernel: Any, dtype: Any, *given: Array) -> Array:
        out = np.empty(len(self._pattern[1]), dtype)
        self._run(kernel, self._places.copy(), *given, out)
        return out

    def _run(self, kernel: Any, parts: Array, *arguments: Array) -> None:
        def work(chunk: Chunk, worker: int) -> None:
            kernel(*chunk, *self._pattern, parts[numbered[chunk]], *arguments)

        numbered = {chunk: number for number, chunk in enumerate(self._chunks)}
        run_chunks(work, self._chunks, len(self._chunks))
