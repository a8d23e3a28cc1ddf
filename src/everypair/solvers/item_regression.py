"""The exact item–item regression on given neighbours: A b = h for every item, by Cholesky factorization.

    A = ρ G_NN + Σ_{i∈Ω_j} d_i (c_ij − ρ) x_iN x_iNᵀ + diag(λ_N),   h = Σ_{i∈Ω_j, liked} d_i c_ij x_iN

With weights c = ρ = 1 and no dislikes this is (G_NN + diag(λ_N)) b = G_Nj. Without a limit on neighbours it has a
closed form: with P = (G + diag λ)⁻¹, B_lj = −P_lj / P_jj off the diagonal; P comes from the smaller side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.kernels.cholesky import room_for
from everypair.kernels.item_regression import gather_pairs, link_uses, solve_columns
from everypair.parallel import Chunk, even_chunks, run_chunks, single_threaded_blas
from everypair.problem.item_gram import ItemColumns, ItemGram, dense_gram
from everypair.progress import stage
from everypair.types import Array

ROWS_AT_ONCE = 256
SCRATCH_BYTES = 2**26
GENERATIONS = 8
DENSE_COLUMNS = 1024
SINGULAR = 'the regression on neighbours is singular at this precision: raise reg, or use dtype="float64".'


@dataclass(frozen=True)
class ItemRidge:
    """λ_l = ``reg`` + ``scale`` · G_ll, and the weight ρ of a pair that is not stored."""

    reg: float
    scale: float
    negative_weight: float

    def of(self, diagonal: Array) -> Array:
        """λ of every item."""
        return np.asarray(self.reg + self.scale * diagonal, diagonal.dtype)


def regress(
    gram: ItemGram, nearest: NDArray[np.int32], columns: ItemColumns, ridge: ItemRidge, n_threads: int = 1
) -> Any:
    """Return B (items × columns, csr, items numbered as in ``gram``): column t regressed on the items ``nearest[t]``.

    ``nearest`` lists items in ascending order, −1 at the end. ``columns`` are the targets' stored pairs, those of
    ``gram`` itself or of items that came later. Targets are taken together, as many as SCRATCH_BYTES have room for at
    half of width² numbers each, so that a row of G is read once for all that need it; no bit depends on which.
    """
    n_targets, width = nearest.shape
    dtype = gram.values.dtype
    solved = np.zeros((n_targets, width), dtype)
    penalty = ridge.of(gram.diagonal)
    weight = dtype.type(ridge.negative_weight)
    within = columns is gram.columns
    even = within and bool(columns.likes.all()) and bool(np.all(columns.weights == weight))
    sizes = np.count_nonzero(nearest >= 0, axis=1)
    triangle = width * (width - 1) // 2
    together = int(np.clip(SCRATCH_BYTES // ((triangle + width) * dtype.itemsize), 1, max(n_targets, 1)))
    pairs, own = np.empty((together, triangle), dtype), np.empty((together, width), dtype)
    first_use, next_use = np.full(gram.n_items, -1, np.int32), np.empty(together * (width + 1), np.int32)
    rows: dict[int, Array] = {}
    scratch: dict[int, tuple[Array, ...]] = {}
    order = _similar_together(nearest, within)
    for chunk in even_chunks(n_targets, together):
        stage(f"{chunk[0]:,} of {n_targets:,} items")
        targets = order[slice(*chunk)]
        own[:] = 0
        link_uses(targets, nearest, sizes, within, first_use, next_use)

        def gather(chunk: Chunk, worker: int, targets: Array = targets) -> None:
            if worker not in rows:
                rows[worker] = np.zeros(gram.n_items, dtype)
            gather_pairs(
                *chunk, targets, nearest, sizes, within, first_use, next_use, gram.start, gram.later, gram.values,
                pairs, own, rows[worker],
            )  # fmt: skip

        def work(chunk: Chunk, worker: int, targets: Array = targets) -> int:
            if worker not in scratch:
                scratch[worker] = (
                    room_for(width, dtype), np.full(gram.n_items, -1, np.int32), np.empty(width, np.int64),
                )  # fmt: skip
            return solve_columns(
                *chunk, targets, nearest, sizes, columns.start, columns.users, columns.weights, columns.likes,
                gram.row_start, gram.items, gram.signs, gram.user_weights, weight, even, penalty, gram.diagonal, pairs,
                own, solved, *scratch[worker],
            )  # fmt: skip

        run_chunks(gather, even_chunks(gram.n_items, ROWS_AT_ONCE), n_threads)
        if max(run_chunks(work, even_chunks(len(targets), max(1, together // 64)), n_threads)) >= 0:
            raise ValueError(SINGULAR)
    kept = nearest >= 0
    narrow = np.int32 if np.count_nonzero(kept) <= np.iinfo(np.int32).max else np.int64
    start = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(narrow)
    return sp.csc_array((solved[kept], nearest[kept], start), shape=(gram.n_items, n_targets)).tocsr()


def _similar_together(nearest: NDArray[np.int32], within: bool) -> NDArray[np.int64]:
    """Order targets so that those with the same neighbours are near each other.

    A target's most frequent neighbour is its parent, if it is more frequent itself; targets are sorted by their
    ancestors, the last first.
    """
    parents = nearest.max(axis=1).astype(np.int64)
    if not within:
        return np.argsort(parents, kind="stable")
    parents = np.maximum(parents, np.arange(len(parents)))
    ancestors = [parents]
    while len(ancestors) < GENERATIONS:
        ancestors.append(parents[ancestors[-1]])
    return np.lexsort(ancestors)


def imputed(gram: ItemGram, nearest: NDArray[np.int32], shares: Array, ridge: ItemRidge) -> Any:
    """Return B (items × columns) of columns without stored pairs, as if column t were Σ_l share_tl x_l over items N.

        (G_NN + diag λ_N) b = G_NN share

    ``nearest`` is as in :func:`regress`, ``shares`` has the same shape.
    """
    upper = gram.upper()
    penalty = ridge.of(gram.diagonal)
    columns = []
    for found, share in zip(nearest, shares):
        own = found[found >= 0]
        half = upper[own][:, own].toarray().astype(np.float64)
        block = half + half.T + np.diag(gram.diagonal[own])
        solved = np.linalg.solve(block + np.diag(penalty[own]), block @ share[: len(own)])
        columns.append(sp.csc_array((solved, (own, np.zeros(len(own), np.int32))), shape=(gram.n_items, 1)))
    return sp.csr_array(sp.hstack(columns, format="csr")).astype(gram.values.dtype)


def closed_form(gram: Array, penalty: Array) -> Array:
    """Overwrite G (n × n, C order) with B of the regression of every item on all others and return it.

    >>> closed_form(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([2.0, 1.0])).round(6).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    gram[np.diag_indices_from(gram)] += penalty
    inverse = _inverted(gram)
    inverse /= -np.diag(inverse).copy()
    np.fill_diagonal(inverse, 0)
    return inverse


def closed_form_by_users(matrix: Any, user_weights: Array, penalty: Array) -> Array:
    """Return the same B from X (m × n, csr) and λ > 0 with an inverse of m × m: for fewer users than items.

        B_lj = C_lj / λ_l / (1 − C_jj / λ_j),   C = Zᵀ (I + Z diag(1/λ) Zᵀ)⁻¹ Z,   Z = √D X

    Memory: m² + n² numbers. Time: m³ + (m + n) for every stored pair.

    >>> X = sp.csr_array([[1.0, 1.0]])
    >>> closed_form_by_users(X, np.array([2.0]), np.array([1.0, 2.0])).round(6).tolist()
    [[0.0, 0.666667], [0.5, 0.0]]
    """
    rooted = sp.csr_array(matrix.multiply(np.sqrt(user_weights)[:, None])).astype(matrix.dtype)
    by_item = sp.csr_array(rooted.T)
    kernel = dense_gram(by_item, 1 / penalty)
    kernel[np.diag_indices_from(kernel)] += 1
    inverse = _inverted(kernel)
    out = np.empty((len(penalty),) * 2, matrix.dtype)
    for start, stop in even_chunks(len(out), DENSE_COLUMNS):
        block = by_item @ np.ascontiguousarray((by_item[start:stop] @ inverse).T)  # C's columns
        left_over = 1 - np.diag(block[start:stop]) / penalty[start:stop]
        if left_over.min() <= 0:
            raise ValueError(SINGULAR)
        out[:, start:stop] = block / penalty[:, None] / left_over
    np.fill_diagonal(out, 0)
    return out


def _inverted(matrix: Array) -> Array:
    """Overwrite a symmetric positive definite matrix (C order) with its inverse and return it."""
    from scipy.linalg import lapack  # slow to import, and answers do without

    factorize, invert = lapack.get_lapack_funcs(("potrf", "potri"), (matrix,))
    with single_threaded_blas():
        upper, failed = factorize(matrix.T, lower=False, overwrite_a=True)  # the same memory, in LAPACK's order
        if not failed:
            upper, failed = invert(upper, lower=False, overwrite_c=True)
    if failed:
        raise ValueError(SINGULAR)
    inverse = upper.T  # its lower triangle
    for start, stop in even_chunks(len(inverse), DENSE_COLUMNS):
        inverse[:start, start:stop] = inverse[start:stop, :start].T
        block = inverse[start:stop, start:stop]
        block[:] = np.tril(block) + np.tril(block, -1).T
    return inverse
