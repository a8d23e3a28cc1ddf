"""Fold-in: new rows are the training sub-problem, with the other side fixed, solved to its optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.data.pairs import Compressed
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import LEFT, stored_scores, total_weights
from everypair.problem.ridge import Ridge
from everypair.problem.rows import RowProblem
from everypair.solvers.half_step import TO_OPTIMUM, half_step

Array = NDArray[Any]


def new_rows(
    side: int,
    rows: Any,
    loss: Loss,
    negatives: Negatives,
    ridge: Ridge,
    frozen: int | None,
    targets: Array | None = None,
    weights: ArrayLike | None = None,
    values: ArrayLike | None = None,
    centers: Array | None = None,
) -> RowProblem:
    """Describe new rows (canonical CSR of signed weights, in the factors' dtype) of ``side`` as training would.

    Scheme weights use the training normalisers; ``weights`` replaces them. A low-rank ỹ takes ``values`` as the new
    rows of Ũ, the mean training row by default. ``centers`` is what features already say of the rows.
    """
    dtype = rows.dtype
    liked = rows.data > 0
    counts = np.diff(np.concatenate([[0], np.cumsum(liked)])[rows.indptr])
    scheme_weights = negatives.left_weights if side == LEFT else negatives.right_weights
    other_weights = (negatives.right if side == LEFT else negatives.left).astype(dtype)
    own_weights = (scheme_weights(counts) if weights is None else _checked_weights(weights, rows.shape[0])).astype(
        dtype
    )
    stored = Compressed(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), np.abs(rows.data))
    own_values = other_values = None
    if isinstance(negatives.value, tuple):
        trained, other_values = negatives.value if side == LEFT else negatives.value[::-1]
        own_values = _checked_values(values, trained, rows.shape[0]).astype(dtype)
        other_values = np.ascontiguousarray(other_values, dtype)
        on_pairs = stored_scores(stored, own_values, other_values)
    elif values is not None:
        raise ValueError("values are the new rows of a low-rank negative_value; this model has a constant one.")
    else:
        on_pairs = np.full(1, negatives.value, dtype)
    return RowProblem(
        loss=loss,
        indptr=stored.indptr,
        indices=stored.indices,
        weights=stored.weights,
        targets=np.where(liked, 1, loss.dislike_target).astype(dtype) if targets is None else targets,
        values=on_pairs,
        own_weights=own_weights,
        other_weights=other_weights,
        ridge=ridge.rows(side, total_weights(stored, own_weights, other_weights), counts).astype(dtype),
        own_values=own_values,
        other_values=other_values,
        centers=None if centers is None else _without(centers, frozen),
        frozen=frozen,
    )


def solve_to_optimum(problem: RowProblem, other: Array, n_threads: int = 1) -> Array:
    """Return the optimal rows: from zero, by as many Newton steps as the precision of the factors allows."""
    start = np.zeros((problem.n_rows, other.shape[1]), other.dtype)
    if problem.frozen is not None:
        start[:, problem.frozen] = 1
    rows, _ = half_step(problem, start, other, problem.gram_of(other, n_threads), TO_OPTIMUM[other.dtype], n_threads)
    return rows


def _without(centers: Array, frozen: int | None) -> Array:
    """Centers of the learnt columns."""
    if frozen is None:
        return centers
    learnt = centers.copy()
    learnt[:, frozen] = 0
    return learnt


def _checked_weights(weights: ArrayLike, count: int) -> NDArray[np.float64]:
    array = np.asarray(weights, np.float64)
    if array.shape != (count,) or not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"weights must be {count} finite numbers ≥ 0, one per new row.")
    return array


def _checked_values(values: ArrayLike | None, trained: Array, count: int) -> Array:
    if values is None:
        return np.repeat(trained.mean(axis=0, keepdims=True), count, axis=0)
    array = np.asarray(values, np.float64)
    if array.shape != (count, trained.shape[1]) or not np.isfinite(array).all():
        raise ValueError(f"values must be finite and of shape ({count}, {trained.shape[1]}), got {array.shape}.")
    return array
