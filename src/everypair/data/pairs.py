"""The stored pairs Ω: y_ij with weight c_ij for every (i, j) that was observed, row-major and column-major.

In a matrix of interactions a positive stored value is the weight of a positive, a negative value −w is a dislike
of weight w. Everything that is not stored is unknown; the objective treats it as a weighted negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from everypair.check import as_csr

Array = NDArray[Any]


@dataclass(frozen=True)
class Compressed:
    """One orientation of the stored pairs: the entries of row i are ``indptr[i]:indptr[i + 1]``, sorted by index."""

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
    targets, both in row-major order and ``None`` where there are none; ``order`` lists the row-major positions in
    column-major order. ``duplicates`` counts the stored entries that were summed into another one.

    Memory: |Ω|·(2·(index + float) + order), plus |Ω|·float for explicit targets and |Ω| bytes for dislikes.

    >>> pairs = Pairs.from_matrix([[1, 0, 2], [0, -3, 0]])
    >>> pairs.shape, pairs.nnz, pairs.left_counts.tolist(), pairs.right_counts.tolist()
    ((2, 3), 3, [2, 0], [1, 0, 1])
    >>> pairs.rows.weights.tolist(), pairs.disliked.tolist()
    ([1.0, 2.0, 3.0], [False, False, True])
    """

    shape: tuple[int, int]
    rows: Compressed
    columns: Compressed
    order: Array
    disliked: NDArray[np.bool_] | None
    targets: Array | None
    duplicates: int

    @classmethod
    def from_matrix(
        cls, interactions: Any, targets: Any = None, dtype: Any = np.float32, name: str = "interactions"
    ) -> Pairs:
        """Check a matrix of interactions (any scipy sparse format or a dense array) and store its pairs.

        >>> import scipy.sparse as sp
        >>> Pairs.from_matrix(sp.coo_array(([1.0, 1.0], ([0, 0], [1, 1])), shape=(2, 2))).duplicates
        1
        """
        matrix, stored = as_csr(interactions, dtype, name)
        if matrix.nnz and not np.isfinite(matrix.data).all():
            raise ValueError(
                f"{name} has NaN or infinite values as {np.dtype(dtype)}: a stored value is the weight of a pair; "
                "drop, fill or rescale them."
            )
        if np.any(matrix.data == 0):
            _explain_zeros(interactions, dtype, name)
        if not np.any(matrix.data > 0):
            raise ValueError(f"{name} has no positive entry: there is nothing to learn from. Is it the right matrix?")
        disliked = matrix.data < 0
        return cls(
            shape=(int(matrix.shape[0]), int(matrix.shape[1])),
            duplicates=stored - matrix.nnz,
            disliked=disliked if disliked.any() else None,
            targets=None if targets is None else aligned_targets(targets, matrix),
            **_both_orientations(matrix),
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
    def left_counts(self) -> NDArray[np.int64]:
        """|Ω_i⁺| for every row."""
        if self.disliked is None:
            return np.diff(self.rows.indptr)
        return np.diff(kept_pointers(self.rows.indptr, ~self.disliked))

    @property
    def right_counts(self) -> NDArray[np.int64]:
        """|Ω_j⁺| for every column."""
        if self.disliked is None:
            return np.diff(self.columns.indptr)
        return np.bincount(self.rows.indices[~self.disliked], minlength=self.shape[1]).astype(np.int64)

    def resolve_targets(self, dislike_target: float) -> Array:
        """Row-major targets: the explicit ones, or 1 for a positive and ``dislike_target`` for a dislike."""
        if self.targets is not None:
            return self.targets
        targets = np.ones(self.nnz, self.rows.weights.dtype)
        if self.disliked is not None:
            targets[self.disliked] = dislike_target
        return targets

    def to_csr(self) -> Any:
        """Stored pairs as a scipy CSR array of signed weights (a copy of nothing but dislikes' signs)."""
        weights = self.rows.weights
        if self.disliked is not None:
            weights = np.where(self.disliked, -weights, weights)
        indptr = self.rows.indptr.astype(self.order.dtype)  # int64 here would make scipy widen the indices too
        return sp.csr_array((weights, self.rows.indices, indptr), shape=self.shape)


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


def _both_orientations(matrix: Any) -> dict[str, Any]:
    index = np.int32 if max(matrix.shape) <= np.iinfo(np.int32).max else np.int64
    position = np.int32 if matrix.nnz <= np.iinfo(np.int32).max else np.int64
    order = sp.csr_array((np.arange(matrix.nnz, dtype=position), matrix.indices, matrix.indptr), matrix.shape).tocsc()
    weights = np.abs(matrix.data)
    rows = Compressed(matrix.indptr.astype(np.int64), matrix.indices.astype(index), weights)
    columns = Compressed(order.indptr.astype(np.int64), order.indices.astype(index, copy=False), weights[order.data])
    return {"rows": rows, "columns": columns, "order": order.data}
