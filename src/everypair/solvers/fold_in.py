"""Fold-in: new rows are the training sub-problem, with the other side fixed, solved to its optimum.

What belongs to the fixed side and not to the new rows, VᵀQV = E Σ Eᵀ and the like, is a :class:`FixedSide`, made once:
k² numbers. A new row then costs the rotation of the rows of V that it names and its own half-step. Rotations go row by
row, so that a new row has the same bits whatever rows are folded in beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.data.pairs import Compressed, kept_pointers
from everypair.data.rows import StoredRows
from everypair.kernels.writable import writable_view
from everypair.parallel import Chunk, run_chunks, tree_sum
from everypair.problem.gram import Gram
from everypair.problem.layout import LEFT
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.problem.rotation import Axes, column_sizes, row_products
from everypair.problem.rows import OtherWeights, RowProblem, check_stored_slopes
from everypair.solvers.half_step import TO_OPTIMUM, Directions, Stepping
from everypair.types import Array

FEW_PAIRS = 2**12  # that are not worth a thread


@dataclass(frozen=True, eq=False)
class FixedSide:
    """The side that fold-in keeps: its factors, and what all rows that are folded in see of them.

    ``axes`` is the eigenbasis of its Gram matrix, ``gram`` what is in those axes, ``sizes`` the sums of squares of its
    columns there.
    """

    factors: Array
    axes: Axes
    gram: Gram
    sizes: NDArray[np.float64]

    @classmethod
    def of(cls, problem: RowProblem, factors: Array, n_threads: int = 1) -> FixedSide:
        """What rows like those of ``problem`` see of the other side's factors; it is read once."""
        factors = writable_view(np.ascontiguousarray(factors))
        gram = problem.gram_of(factors, n_threads)
        axes = Axes.of(gram, problem.free_columns(factors.shape[1]))
        sizes = tree_sum(column_sizes(axes.rotate(factors, n_threads)))
        inside = Gram(axes.basis.T @ gram.matrix @ axes.basis, axes.basis.T @ gram.pull)
        return cls(factors, axes, inside, sizes)

    @cached_property
    def directions(self) -> Directions:
        """Its axes as steps see them."""
        return Directions.of(self.sizes, self.axes.sigma, self.axes.free, self.factors.dtype)

    @cached_property
    def rotation(self) -> Array:
        """E in the factors' precision."""
        return self.axes.basis.astype(self.factors.dtype)

    @cached_property
    def back(self) -> Array:
        """Eᵀ in the factors' precision, row after row."""
        return np.ascontiguousarray(self.rotation.T)


def new_rows(
    side: int,
    rows: StoredRows,
    loss: Loss,
    negatives: Negatives,
    ridge: Ridge,
    constant: int | None,
    targets: Array | None = None,
    weights: ArrayLike | None = None,
    values: ArrayLike | None = None,
    centers: Array | None = None,
    other_weights: OtherWeights | None = None,
) -> RowProblem:
    """Describe new rows (of signed weights, in the factors' dtype) of ``side`` as training would.

    Scheme weights use the training normalisers; ``weights`` replaces them. A low-rank ỹ takes ``values`` as the new
    rows of Ũ, the mean training row by default. ``centers`` is what features already say of the rows,
    ``other_weights`` are the other side's where they were looked at before.
    """
    liked = rows.data > 0
    all_liked = bool(liked.all())
    ends = rows.indptr if all_liked else kept_pointers(rows.indptr, liked)
    counts = ends[1:] - ends[:-1]
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
    if targets is None:
        targets = np.ones(len(liked), rows.dtype) if all_liked else np.where(liked, 1, loss.dislike_target)
    return RowProblem.of(
        side,
        Compressed(
            rows.indptr, rows.indices.astype(np.int32, copy=False), rows.data if all_liked else np.abs(rows.data)
        ),
        counts,
        targets,
        loss,
        ridge,
        (this_weights, other_weights or (negatives.right if side == LEFT else negatives.left)),
        value,
        dtype=rows.dtype,
        centers=None if centers is None else _without(centers, constant),
        constant=constant,
    )


def solve_to_optimum(problem: RowProblem, other: Array | FixedSide, n_threads: int = 1) -> Array:
    """Return the optimal rows: from zero, by as many Newton steps as the precision of the factors allows."""
    fixed = other if isinstance(other, FixedSide) else FixedSide.of(problem, other, n_threads)
    axes, rank, dtype = fixed.axes, fixed.factors.shape[1], fixed.factors.dtype
    named, indices = problem.indices, np.arange(problem.n_pairs, dtype=np.int32)
    if problem.n_rows != 1:
        named, inverse = np.unique(problem.indices, return_inverse=True)
        indices = inverse.astype(np.int32)
    every = np.arange(problem.n_rows)
    if problem.this_values is None:
        pulls = float(problem.values[0]) * fixed.gram.pull.T
    else:
        pulls = row_products(problem.this_values.astype(np.float64), every, fixed.gram.pull.T, n_threads)
    centers = problem.centers
    if centers is not None:
        centers = row_products(centers.astype(np.float64), every, axes.basis, n_threads)
    rows = np.zeros((problem.n_rows, rank), dtype)
    if problem.constant is not None:
        rows[:, problem.constant] = 1
        pulls = pulls - fixed.gram.matrix[problem.constant] * axes.free
    inside = replace(problem, indices=indices, other_weights=problem.other_weights[named])
    rotated = row_products(fixed.factors, named, fixed.rotation, n_threads)
    stepping = Stepping(inside, rotated, fixed.directions, TO_OPTIMUM[dtype], n_threads)

    def work(chunk: Chunk, worker: int) -> None:
        own = slice(*chunk)
        pull, center = pulls if len(pulls) == 1 else pulls[own], None if centers is None else centers[own]
        stepping.take(chunk, worker, rows[own], pull, center)

    if inside.n_pairs <= FEW_PAIRS and inside.n_rows <= FEW_PAIRS:
        work((0, inside.n_rows), 0)
    else:
        run_chunks(work, inside.chunks, n_threads)
    solved = row_products(rows, every, fixed.back, n_threads)
    check_stored_slopes(problem, solved, fixed.factors, n_threads)
    return solved


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
