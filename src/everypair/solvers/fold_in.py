"""Fold-in: new rows are the training sub-problem, with the other side fixed, solved to its optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.data.pairs import Compressed, kept_pointers
from everypair.problem.layout import LEFT
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.problem.rows import RowProblem, check_stored_slopes
from everypair.solvers.half_step import TO_OPTIMUM, half_step
from everypair.types import Array


def new_rows(
    side: int,
    rows: Any,
    loss: Loss,
    negatives: Negatives,
    ridge: Ridge,
    constant: int | None,
    targets: Array | None = None,
    weights: ArrayLike | None = None,
    values: ArrayLike | None = None,
    centers: Array | None = None,
) -> RowProblem:
    """Describe new rows (canonical CSR of signed weights, in the factors' dtype) of ``side`` as training would.

    Scheme weights use the training normalisers; ``weights`` replaces them. A low-rank ỹ takes ``values`` as the new
    rows of Ũ, the mean training row by default. ``centers`` is what features already say of the rows.
    """
    liked = rows.data > 0
    counts = np.diff(kept_pointers(rows.indptr, liked))
    if weights is not None:
        this_weights = _checked_weights(weights, rows.shape[0])
    else:
        this_weights = negatives.left_weights(counts) if side == LEFT else negatives.right_weights(counts)
    value: Any = negatives.value
    if isinstance(value, tuple):
        trained, others = value if side == LEFT else value[::-1]
        value = _checked_values(values, trained, rows.shape[0]), others
    elif values is not None:
        raise ValueError("values are the new rows of a low-rank negative_value; this model has a constant one.")
    return RowProblem.of(
        side,
        Compressed(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), np.abs(rows.data)),
        counts,
        np.where(liked, 1, loss.dislike_target) if targets is None else targets,
        loss,
        ridge,
        (this_weights, negatives.right if side == LEFT else negatives.left),
        value,
        dtype=rows.dtype,
        centers=None if centers is None else _without(centers, constant),
        constant=constant,
    )


def solve_to_optimum(problem: RowProblem, other: Array, n_threads: int = 1) -> Array:
    """Return the optimal rows: from zero, by as many Newton steps as the precision of the factors allows."""
    start = np.zeros((problem.n_rows, other.shape[1]), other.dtype)
    if problem.constant is not None:
        start[:, problem.constant] = 1
    rows, _ = half_step(problem, start, other, problem.gram_of(other, n_threads), TO_OPTIMUM[other.dtype], n_threads)
    check_stored_slopes(problem, rows, other, n_threads)
    return rows


def _without(centers: Array, constant: int | None) -> Array:
    """Centers of the learnt columns."""
    if constant is None:
        return centers
    learnt = centers.copy()
    learnt[:, constant] = 0
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
