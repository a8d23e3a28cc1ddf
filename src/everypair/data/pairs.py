"""The stored pairs Ω: y_ij with weight c_ij for every (i, j) that was observed, row-major and column-major.

In a matrix of interactions a positive stored value is the weight of a positive, a negative value −w is a dislike
of weight w. Everything that is not stored is unknown; the objective treats it as a weighted negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from everypair.check import Canonical, as_csr, as_dtype, canonical_csr
from everypair.data.transpose import Transposition, index_dtype
from everypair.parallel import even_chunks
from everypair.types import Array

CHECKED_PAIRS = 2**20  # at a time, so that no array of all pairs is made on the way


@dataclass(frozen=True)
class Compressed:
    """One orientation of the stored pairs: the entries of row i are ``indptr[i]:indptr[i + 1]``, sorted by index.

    ``weights`` holds one number per entry, or a single one for all.
    """

    indptr: NDArray[np.int64]
    indices: Array
    weights: Array


class Counted(Protocol):
    """What rules for weights and ridges need to know of stored pairs, wherever these are."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        ...

    @property
    def n_positives(self) -> int:
        """Number of positives |Ω⁺|."""
        ...

    @property
    def n_active(self) -> int:
        """Number of rows and columns that have stored pairs."""
        ...

    @property
    def left_counts(self) -> NDArray[np.int64]:
        """|Ω_i⁺| for every row."""
        ...

    @property
    def right_counts(self) -> NDArray[np.int64]:
        """|Ω_j⁺| for every column."""
        ...


@dataclass(frozen=True)
class Pairs:
    """The stored pairs of an m × n problem, kept row-major (``rows``) and column-major (``columns``).

    Build one with :meth:`from_matrix` or :meth:`from_coo`. ``disliked`` marks dislikes and ``targets`` holds explicit
    targets, both in row-major order and ``None`` where there are none. ``duplicates`` counts the stored entries that
    were summed into another one.

    Weights that are all 1 are stored once. Arrays of a matrix that cannot be written to (a memory map) are shared with
    it, others are copied. Memory: 2·index for a pair, 2·float for weights that differ, float for explicit targets, one
    byte for dislikes.

    >>> pairs = Pairs.from_matrix([[1, 0, 2], [0, -3, 0]])
    >>> pairs.shape, pairs.nnz, pairs.left_counts.tolist(), pairs.right_counts.tolist()
    ((2, 3), 3, [2, 0], [1, 0, 1])
    >>> pairs.rows.weights.tolist(), pairs.disliked.tolist()
    ([1.0, 2.0, 3.0], [False, False, True])
    >>> Pairs.from_matrix([[1, 0, 1], [0, 1, 0]]).rows.weights.tolist()
    [1.0]
    """

    shape: tuple[int, int]
    rows: Compressed
    columns: Compressed
    disliked: NDArray[np.bool_] | None
    targets: Array | None
    duplicates: int

    @classmethod
    def from_matrix(
        cls,
        interactions: Any,
        targets: Any = None,
        dtype: Any = np.float32,
        name: str = "interactions",
        n_threads: int = 1,
    ) -> Pairs:
        """Check a matrix of interactions (any scipy sparse format or a dense array) and store its pairs.

        >>> import scipy.sparse as sp
        >>> Pairs.from_matrix(sp.coo_array(([1.0, 1.0], ([0, 0], [1, 1])), shape=(2, 2))).duplicates
        1
        """
        given = canonical_csr(interactions, dtype, name)
        matrix, disliked = given.matrix, None
        if matrix.nnz and _all_one(matrix.data):
            weights = np.ones(1, dtype)
        else:
            matrix = as_dtype(matrix, dtype)
            if _any(matrix.data, lambda part: ~np.isfinite(part)):
                raise ValueError(
                    f"{name} has NaN or infinite values as {np.dtype(dtype)}: a stored value is the weight of a pair; "
                    "drop, fill or rescale them."
                )
            if _any(matrix.data, lambda part: part == 0):
                _explain_zeros(interactions, dtype, name)
            if not _any(matrix.data, lambda part: part > 0):
                raise ValueError(
                    f"{name} has no positive entry: there is nothing to learn from. Is it the right matrix?"
                )
            if _any(matrix.data, lambda part: part < 0):
                disliked, weights = matrix.data < 0, np.abs(matrix.data)
            else:
                weights = _kept(matrix.data, given)
        indices = matrix.indices.astype(index_dtype(max(matrix.shape)), copy=False)
        rows = Compressed(matrix.indptr.astype(np.int64), _kept(indices, given), weights)
        return cls(
            shape=(int(matrix.shape[0]), int(matrix.shape[1])),
            duplicates=given.stored - matrix.nnz,
            disliked=disliked,
            targets=None if targets is None else aligned_targets(targets, matrix),
            rows=rows,
            columns=_columns(rows, matrix.shape[1], n_threads),
        )

    @classmethod
    def from_coo(
        cls,
        left: ArrayLike,
        right: ArrayLike,
        values: ArrayLike | None = None,
        shape: tuple[int, int] | None = None,
        dtype: Any = np.float32,
    ) -> Pairs:
        """Store pairs given as index arrays; ``values`` defaults to 1, ``shape`` to the largest indices + 1.

        >>> Pairs.from_coo([0, 1, 1], [2, 0, 2]).shape
        (2, 3)
        """
        i, j = np.asarray(left), np.asarray(right)
        if i.ndim != 1 or i.shape != j.shape:
            raise ValueError(f"left and right must be 1-D arrays of one length, got shapes {i.shape} and {j.shape}.")
        if i.size and (i.dtype.kind not in "iu" or j.dtype.kind not in "iu"):
            raise TypeError("left and right must hold integer positions; use read_events for other ids.")
        if i.size and (i.min() < 0 or j.min() < 0):
            raise ValueError("left and right hold negative positions: count from 0.")
        data = np.ones(i.size, dtype) if values is None else np.asarray(values, dtype)
        if data.shape != i.shape:
            raise ValueError(f"values must have one entry per pair, got {data.shape} for {i.size} pairs.")
        if shape is None and i.size:
            shape = (int(i.max()) + 1, int(j.max()) + 1)
        return cls.from_matrix(sp.coo_array((data, (i, j)), shape=shape or (0, 0)), dtype=dtype)

    @property
    def nnz(self) -> int:
        """Number of stored pairs |Ω|, dislikes included."""
        return len(self.rows.indices)

    @property
    def n_positives(self) -> int:
        """Number of positives |Ω⁺|."""
        return self.nnz - (0 if self.disliked is None else int(self.disliked.sum()))

    @property
    def n_active(self) -> int:
        """Number of rows and columns that have stored pairs."""
        return int(sum(np.count_nonzero(np.diff(stored.indptr)) for stored in (self.rows, self.columns)))

    @property
    def left_counts(self) -> NDArray[np.int64]:
        """|Ω_i⁺| for every row."""
        if self.disliked is None:
            return np.diff(self.rows.indptr)
        return np.diff(self.rows.indptr - np.searchsorted(np.flatnonzero(self.disliked), self.rows.indptr))

    @property
    def right_counts(self) -> NDArray[np.int64]:
        """|Ω_j⁺| for every column."""
        if self.disliked is None:
            return np.diff(self.columns.indptr)
        return np.diff(self.columns.indptr) - np.bincount(self.rows.indices[self.disliked], minlength=self.shape[1])

    @cached_property
    def order(self) -> Array:
        """The row-major positions in column-major order; made when it is first asked for, and kept."""
        return self._transposition().order()

    def by_columns(self, numbers: Array, n_threads: int = 1) -> Array:
        """Numbers of the stored pairs, given row-major, in column-major order; a single one for all stays one.

        >>> Pairs.from_matrix([[1, 1], [1, 0]]).by_columns(np.array([0.1, 0.2, 0.3])).tolist()
        [0.1, 0.3, 0.2]
        """
        return numbers if len(numbers) != self.nnz else self._transposition(n_threads).numbers(numbers)

    def resolve_targets(self, dislike_target: float) -> Array:
        """Row-major targets: the explicit ones, or 1 for a positive and ``dislike_target`` for a dislike.

        A single 1 where nothing is disliked.
        """
        if self.targets is not None:
            return self.targets
        if self.disliked is None:
            return np.ones(1, self.rows.weights.dtype)
        targets = np.ones(self.nnz, self.rows.weights.dtype)
        targets[self.disliked] = dislike_target
        return targets

    def to_csr(self) -> Any:
        """Stored pairs as a scipy CSR array of signed weights; what is not written anew is shared."""
        weights = self.rows.weights
        if len(weights) != self.nnz:
            weights = np.full(self.nnz, weights[0])
        if self.disliked is not None:
            weights = np.negative(weights, out=weights.copy(), where=self.disliked)
        indptr = self.rows.indptr.astype(index_dtype(self.nnz))  # int64 would make scipy widen the indices too
        return sp.csr_array((weights, self.rows.indices, indptr), shape=self.shape)

    def _transposition(self, n_threads: int = 1) -> Transposition:
        return Transposition(self.rows.indptr, self.rows.indices, self.shape[1], n_threads)


def kept_pointers(indptr: Array, kept: Array) -> NDArray[np.int64]:
    """Row pointers of the entries that are ``kept``; their differences count them per row.

    >>> kept_pointers(np.array([0, 2, 3]), np.array([True, False, True])).tolist()
    [0, 1, 2]
    """
    return np.concatenate([[0], np.cumsum(kept)])[indptr]


def _explain_zeros(interactions: Any, dtype: Any, name: str) -> NoReturn:
    """Say where stored zeros come from: values too small, duplicates that cancel, or zeros that were stored."""
    stored = interactions.tocoo().data if sp.issparse(interactions) else np.asarray(interactions)
    if np.any((stored != 0) & (stored.astype(dtype) == 0)):
        raise ValueError(f"{name} has values that are 0 as {np.dtype(dtype)}: rescale them.")
    if np.all(stored != 0):
        raise ValueError(
            f"{name} stores pairs several times whose values cancel: they would be explicit zeros, which say nothing; "
            "call sum_duplicates() and then eliminate_zeros(), or keep one value of each."
        )
    raise ValueError(
        f"{name} stores explicit zeros, which are neither positives nor dislikes: call "
        "eliminate_zeros() first (store a negative value −w for a dislike of weight w)."
    )


def aligned_targets(targets: Any, matrix: Any) -> Array:
    """Explicit targets in the row-major order of ``matrix`` and its dtype; their pattern must be the same."""
    csr, _ = as_csr(targets, matrix.dtype, "targets")
    if csr.shape != matrix.shape:
        raise ValueError(f"targets have shape {csr.shape}, interactions {matrix.shape}: they must be the same.")
    if csr.nnz and not np.isfinite(csr.data).all():
        raise ValueError("targets have NaN or infinite values.")
    if not (np.array_equal(csr.indptr, matrix.indptr) and np.array_equal(csr.indices, matrix.indices)):
        raise ValueError(
            "targets must store a value (zero included, as an explicit entry) for exactly the pairs that "
            f"interactions stores: {csr.nnz} entries against {matrix.nnz}, or other positions."
        )
    return np.asarray(csr.data)


def _columns(rows: Compressed, n_columns: int, n_threads: int) -> Compressed:
    """The same pairs column-major."""
    to_columns = Transposition(rows.indptr, rows.indices, n_columns, n_threads)
    each = len(rows.weights) == len(rows.indices)
    weights = to_columns.numbers(rows.weights) if each else rows.weights
    return Compressed(to_columns.indptr, to_columns.rows(), weights)


def _kept(array: Array, given: Canonical) -> Array:
    """An array of the checked matrix, copied where it is the caller's, who could write to it."""
    return array.copy() if given.shared and array.flags.writeable and _is_in(array, given.matrix) else array


def _is_in(array: Array, matrix: Any) -> bool:
    return array is matrix.data or array is matrix.indices


def _any(data: Array, test: Callable[[Array], Array]) -> bool:
    """Whether the test holds anywhere."""
    return any(bool(test(data[start:stop]).any()) for start, stop in even_chunks(len(data), CHECKED_PAIRS))


def _all_one(data: Array) -> bool:
    return not _any(data, lambda part: part != 1)
