"""What a regression of items on items is made of: G = XᵀDX over all users, its stored pairs, and its neighbours.

    ½ Σ_i d_i Σ_j w_ij (y_ij − Σ_l x_il B_lj)² + ½ Σ_lj λ_l B_lj²,   λ_l = reg + scale · G_ll,   B_jj = 0

x_il is 1 for a like, −1 for a dislike, 0 for the rest; y_ij is 1 for a like and 0 for everything else; w_ij is the
stored pair's weight c_ij and ρ for every other pair. All pairs that are not stored come in through G alone.

Items are renumbered from the rarest to the most frequent. Of G only the part right of its diagonal is stored, so the
row of a frequent item is short because few items are more frequent, and that of a rare one because it has few users.
Memory: (4 + float) bytes for each of at most min(n²/2, ½ Σ_i |Ω_i|²) pairs of items that share a user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.kernels.item_gram import count_later, fill_later, nearest_items
from everypair.parallel import Chunk, balanced_chunks, even_chunks, run_chunks
from everypair.types import Array

ITEMS_AT_ONCE = 128
DENSE_ROWS = 512


@dataclass(frozen=True)
class ItemColumns:
    """Stored pairs by item: the users of item j are ``users[start[j]:start[j + 1]]``, with x, c and whether y is 1."""

    start: NDArray[np.int64]
    users: Array
    signs: Array
    weights: Array
    likes: NDArray[np.bool_]

    @classmethod
    def of(cls, matrix: Any, dtype: Any) -> ItemColumns:
        """Take signed weights (users × items) apart, in the order of their columns."""
        by_item = sp.csc_array(matrix)
        likes = by_item.data > 0
        return cls(
            by_item.indptr.astype(np.int64), by_item.indices.astype(np.int32, copy=False),
            np.where(likes, 1, -1).astype(dtype), np.abs(by_item.data).astype(dtype), likes,
        )  # fmt: skip


@dataclass(frozen=True)
class ItemGram:
    """The stored pairs both ways, items from rare to frequent, and G right of its diagonal.

    ``order[l]`` is the item that has number l here and ``label[j]`` the number of item j.

    >>> gram = ItemGram.of(sp.csr_array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([1.0, 2.0, 4.0]))
    >>> gram.order.tolist(), gram.dense().tolist()
    ([2, 0, 1], [[3.0, 3.0, 0.0], [3.0, 7.0, 4.0], [0.0, 4.0, 4.0]])
    """

    order: NDArray[np.int64]
    label: NDArray[np.int64]
    row_start: NDArray[np.int64]
    items: Array
    signs: Array
    columns: ItemColumns
    user_weights: Array
    start: NDArray[np.int64]
    later: Array
    values: Array
    diagonal: Array

    @classmethod
    def of(
        cls, matrix: Any, user_weights: Array, dtype: Any = np.float64, memory_mb: float = np.inf, n_threads: int = 1
    ) -> ItemGram:
        """Count and fill G of signed weights (users × items), or refuse to where it is larger than ``memory_mb``."""
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        order = np.argsort(counts, kind="stable")
        label = np.empty_like(order)
        label[order] = np.arange(len(order))
        renumbered = sp.csr_array(
            (matrix.data.copy(), label[matrix.indices].astype(np.int32), matrix.indptr), matrix.shape
        )
        renumbered.sort_indices()
        row_start, items = renumbered.indptr.astype(np.int64), renumbered.indices
        signs = np.sign(renumbered.data).astype(dtype)
        columns = ItemColumns.of(renumbered, dtype)
        weights = user_weights.astype(dtype)
        n_items = len(order)
        chunks = _item_chunks(columns, row_start)
        later_counts = np.zeros(n_items, np.int64)
        marks: dict[int, Array] = {}

        def count(chunk: Chunk, worker: int) -> None:
            mark = marks.setdefault(worker, np.full(n_items, -1, np.int64))
            count_later(*chunk, columns.start, columns.users, row_start, items, later_counts, mark)

        run_chunks(count, chunks, n_threads)
        start = np.concatenate([[0], np.cumsum(later_counts)])
        needed = int(start[-1]) * (4 + np.dtype(dtype).itemsize) / 2**20
        if needed > memory_mb:
            raise MemoryError(
                f"{int(start[-1]):,} pairs of items share a user: their Gram matrix needs {needed:,.0f} MiB and "
                f"memory_mb allows {memory_mb:,.0f}. Leave out items or users with the most or fewest events, or raise "
                "memory_mb."
            )
        later, values = np.empty(start[-1], np.uint32), np.empty(start[-1], dtype)
        diagonal = np.zeros(n_items, dtype)
        scratch: dict[int, tuple[Array, ...]] = {}

        def fill(chunk: Chunk, worker: int) -> None:
            if worker not in scratch:
                scratch[worker] = _row_scratch(n_items)
            fill_later(
                *chunk, columns.start, columns.users, columns.signs, row_start, items, signs, weights, start, later,
                values, diagonal, *scratch[worker],
            )  # fmt: skip

        run_chunks(fill, chunks, n_threads)
        return cls(order, label, row_start, items, signs, columns, weights, start, later, values, diagonal)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.order)

    def nearest(self, width: int, n_threads: int = 1) -> NDArray[np.int32]:
        """The ``width`` items l with the greatest G_lj |Ω_l|^−½ for every j, numbered as here, in ascending order.

        Where fewer share a user with j, −1 fills up.
        """
        return self._nearest(self.columns, 0, width, n_threads)

    def nearest_of(self, columns: ItemColumns, width: int, n_threads: int = 1) -> NDArray[np.int32]:
        """The same for columns of the same users that are not among the items here."""
        return self._nearest(columns, self.n_items, width, n_threads)

    def _nearest(self, columns: ItemColumns, shift: int, width: int, n_threads: int) -> NDArray[np.int32]:
        item_weights = 1 / np.sqrt(np.maximum(np.diff(self.columns.start), 1))
        out = np.empty((len(columns.start) - 1, width), np.int32)
        scratch: dict[int, tuple[Array, ...]] = {}

        def work(chunk: Chunk, worker: int) -> None:
            if worker not in scratch:
                scratch[worker] = (np.empty(self.n_items), *_row_scratch(self.n_items))
            nearest_items(
                *chunk, columns.start, columns.users, columns.signs, self.row_start, self.items, self.signs,
                self.user_weights, item_weights, shift, out[slice(*chunk)], *scratch[worker],
            )  # fmt: skip

        run_chunks(work, _item_chunks(columns, self.row_start), n_threads)
        return out

    def upper(self) -> Any:
        """G right of its diagonal as a csr matrix, items numbered as here; it shares the memory."""
        return sp.csr_array((self.values, self.later, self.start), shape=(self.n_items, self.n_items))

    def dense(self) -> Array:
        """G as a dense matrix, items as they were numbered before: n² numbers."""
        out = np.zeros((self.n_items, self.n_items), self.values.dtype)
        rows = np.repeat(np.arange(self.n_items), np.diff(self.start))
        out[rows, self.later] = out[self.later, rows] = self.values
        np.fill_diagonal(out, self.diagonal)
        return out[np.ix_(self.label, self.label)]


def dense_gram(matrix: Any, user_weights: Array) -> Array:
    """G of likes of weight 1 (users × items) as a dense matrix, by blocks of rows: n² numbers and no more at once.

    >>> dense_gram(sp.csr_array([[1.0, 1.0], [0.0, 1.0]]), np.array([2.0, 3.0])).tolist()
    [[2.0, 2.0], [2.0, 5.0]]
    """
    by_item = sp.csc_array(matrix)
    weighted = sp.csr_array(matrix.multiply(user_weights[:, None]))
    out = np.empty((matrix.shape[1],) * 2, matrix.dtype)
    for start, stop in even_chunks(len(out), DENSE_ROWS):
        out[start:stop] = (by_item[:, start:stop].T @ weighted).toarray()
    return out


def degree_weights(counts: NDArray[Any], exponent: float) -> NDArray[np.float64]:
    """d_i ∝ |Ω_i|^−exponent, of mean 1 over users who have a stored pair.

    >>> degree_weights(np.array([4, 1, 0]), 0.5).round(3).tolist()
    [0.667, 1.333, 1.333]
    """
    weights = np.maximum(counts, 1) ** -float(exponent)
    mean = weights[counts > 0].mean()
    if not np.finfo(float).tiny <= mean < np.inf:
        raise ValueError(f"user_exponent={exponent!r} is too large for these data: ½ or 1 is usual.")
    return np.asarray(weights / mean)


def _row_scratch(n_items: int) -> tuple[Array, Array, Array]:
    """For one row of G: its sums, the items that it met, and marks of the last row that met an item."""
    return np.empty(n_items), np.empty(n_items + 1, np.int32), np.full(n_items, -1, np.int32)


def _item_chunks(columns: ItemColumns, row_start: NDArray[np.int64]) -> list[Chunk]:
    """Runs of at most ITEMS_AT_ONCE items, cut where the work (the events of all their users) is about equal."""
    lengths = np.diff(row_start)[columns.users]
    work = np.concatenate([[0], np.cumsum(lengths)])[columns.start]
    pieces = balanced_chunks(work, pieces=256)
    return [(start + a, start + b) for start, stop in pieces for a, b in even_chunks(stop - start, ITEMS_AT_ONCE)]
