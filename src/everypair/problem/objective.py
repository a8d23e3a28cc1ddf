"""One objective over every pair, at the cost of the stored ones.

    F = Σ_Ω c ℓ(y, s) + ½ Σ_{∉Ω} p_i q_j (ỹ − s)² + ½ Σ_i λ_i ‖u_i‖² + ½ Σ_j λ̄_j ‖v_j‖²,     s_ij = u_i · v_j
      = Σ_Ω [c ℓ(y, s) − ½ p_i q_j (ỹ − s)²] + ½ Σ_{all} p_i q_j (ỹ − s)² + ridge

The last sum depends on the factors only through Gram matrices, ½⟨UᵀPU, VᵀQV⟩ − ⟨ŨᵀPU, ṼᵀQV⟩ + ½⟨ŨᵀPŨ, ṼᵀQṼ⟩, so value,
gradient and Hessian·vector cost O(|Ω|k + (m+n)k²) and nothing is proportional to m·n.

With biases the factors have two more columns: U = [W, b, 1] and V = [H, 1, b̄], so s = w·h + b_i + b̄_j and the identity
holds as it stands; the constant columns are neither learnt nor penalised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.pairs import Compressed, Pairs
from everypair.kernels.pairs import curvature_product, pair_scores, pair_terms, sparse_dense
from everypair.parallel import Chunk, balanced_chunks, run_chunks
from everypair.problem.gram import Gram, gram, weighted_norm
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.problem.rows import RowProblem

Array = NDArray[Any]
LEFT, RIGHT = 0, 1


class Objective:
    """F and its derivatives for ``Table`` embeddings on both sides.

    ``sides[0]`` and ``sides[1]`` are the :class:`RowProblem` of the left and of the right rows.

    >>> pairs = Pairs.from_matrix([[1, 0], [1, 1]], dtype=np.float64)
    >>> negatives = Negatives.from_scheme(pairs, weight=0.5)
    >>> objective = Objective(pairs, "squared", negatives, Ridge.checked(0.1, 0), dtype=np.float64)
    >>> left, right = np.ones((2, 1)), np.array([[1.0], [0.5]])
    >>> float(objective.value(left, right))  # ½·½·0.5² + ½·0.5² + 0.05·(1 + 1 + 1 + 0.25)
    0.35
    >>> objective.gradient(0, left, right).ravel().tolist()
    [0.225, -0.15]
    """

    def __init__(
        self,
        pairs: Pairs,
        loss: str | Loss,
        negatives: Negatives,
        ridge: Ridge,
        *,
        rank: int | None = None,
        biases: bool = False,
        dtype: Any = np.float32,
        n_threads: int = 1,
    ) -> None:
        self.loss = get_loss(loss)
        self.negatives = negatives
        self.n_threads = n_threads
        self.dtype = np.dtype(dtype)
        if biases and rank is None:
            raise ValueError("with biases=True give the rank: the bias columns follow the factors.")
        p, q = negatives.left.astype(dtype), negatives.right.astype(dtype)
        targets = pairs.resolve_targets(self.loss.dislike_target).astype(dtype, copy=False)
        left_values = right_values = None
        values = np.full(1, 0.0, dtype)
        if isinstance(negatives.value, tuple):
            left_values, right_values = (np.ascontiguousarray(part, dtype) for part in negatives.value)
            values = stored_scores(pairs.rows, left_values, right_values, n_threads)
        else:
            values[0] = negatives.value
        self._square_of_values = _square_of_values(values, p, q, left_values, right_values)
        by_column = pairs.order
        self.sides = (
            self._rows(LEFT, pairs.rows, pairs.left_counts, ridge, targets, values, p, q, left_values, right_values,
                       None if not biases or rank is None else rank + 1),
            self._rows(RIGHT, pairs.columns, pairs.right_counts, ridge, targets[by_column],
                       values[by_column] if left_values is not None else values, q, p, right_values, left_values,
                       None if not biases else rank),
        )  # fmt: skip

    def _rows(
        self,
        side: int,
        stored: Compressed,
        counts: Array,
        ridge: Ridge,
        targets: Array,
        values: Array,
        own_weights: Array,
        other_weights: Array,
        own_values: Array | None,
        other_values: Array | None,
        frozen: int | None,
    ) -> RowProblem:
        total = total_weights(stored, own_weights, other_weights)
        return RowProblem(
            loss=self.loss,
            indptr=stored.indptr,
            indices=stored.indices,
            weights=stored.weights.astype(self.dtype, copy=False),
            targets=targets,
            values=values,
            own_weights=own_weights,
            other_weights=other_weights,
            ridge=ridge.rows(side, total, counts).astype(self.dtype),
            own_values=own_values,
            other_values=other_values,
            frozen=frozen,
        )

    def value(self, left: Array, right: Array) -> float:
        """F at the factors ``left`` (m × k) and ``right`` (n × k)."""
        _, values, _, _ = self._stored_terms(LEFT, left, right)
        grams = (
            self.sides[RIGHT].gram_of(left, self.n_threads),
            self.sides[LEFT].gram_of(right, self.n_threads),
        )
        return self.assemble(float(values.sum()), left, right, *grams)

    def assemble(self, stored: float, left: Array, right: Array, left_gram: Gram, right_gram: Gram) -> float:
        """F from its sum over stored pairs and both sides' Gram matrices, at O((m + n)k) for the ridge."""
        cross = float(np.sum(left_gram.pull * right_gram.pull))
        if not self.sides[LEFT].imputed:
            cross *= float(self.sides[LEFT].values[0])
        all_pairs = 0.5 * float(np.sum(left_gram.matrix * right_gram.matrix)) - cross + 0.5 * self._square_of_values
        ridge = sum(
            weighted_norm(factors[:, side.free_columns(factors.shape[1])], side.ridge)
            for side, factors in zip(self.sides, (left, right))
        )
        return stored + all_pairs + 0.5 * ridge

    def gradient(self, side: int, left: Array, right: Array) -> Array:
        """∂F/∂U (side 0) or ∂F/∂V (side 1): R V + P U (VᵀQV) − P Ũ (ṼᵀQV) + D U; zero in constant columns."""
        rows, this, other = self._seen_from(side, left, right)
        _, _, slopes, _ = self._stored_terms(side, left, right)
        gradient = np.empty_like(this)
        self._run(rows, sparse_dense, rows.indices, slopes, other, gradient)
        gram = rows.gram_of(other, self.n_threads)
        gradient += rows.own_weights[:, None] * (this @ gram.matrix - rows.pulls(gram))
        gradient += rows.ridge[:, None] * this
        gradient[:, ~rows.free_columns(this.shape[1])] = 0
        return gradient

    def hessian_vector(self, side: int, direction: Array, left: Array, right: Array) -> Array:
        """H_U·S = [t_ij (s_i·v_j)]_Ω V + P S (VᵀQV) + D S for ``direction`` S; zero in constant columns."""
        rows, this, other = self._seen_from(side, left, right)
        free = rows.free_columns(this.shape[1])
        direction = np.where(free, direction, 0).astype(self.dtype)
        _, _, _, curvatures = self._stored_terms(side, left, right)
        product = np.empty_like(this)
        self._run(rows, curvature_product, rows.indices, curvatures, direction, other, product)
        gram = rows.gram_of(other, self.n_threads)
        product += rows.own_weights[:, None] * (direction @ gram.matrix) + rows.ridge[:, None] * direction
        product[:, ~free] = 0
        return product

    def _seen_from(self, side: int, left: Array, right: Array) -> tuple[RowProblem, Array, Array]:
        m, n = self.sides[LEFT].n_rows, self.sides[RIGHT].n_rows
        if left.ndim != 2 or left.shape[0] != m or right.shape != (n, left.shape[1]):
            raise ValueError(f"factors must have shapes ({m}, k) and ({n}, k), got {left.shape} and {right.shape}.")
        return (self.sides[LEFT], left, right) if side == LEFT else (self.sides[RIGHT], right, left)

    def _stored_terms(self, side: int, left: Array, right: Array) -> tuple[Array, Array, Array, Array]:
        """Scores, the rows' sums over Ω, slopes r and curvatures t of the stored pairs, seen from ``side``."""
        rows, this, other = self._seen_from(side, left, right)
        scores, slopes, curvatures = (np.empty(len(rows.indices), self.dtype) for _ in range(3))
        values = np.empty(rows.n_rows)
        self._run(rows, pair_scores, rows.indices, this, other, scores)
        self._run(
            rows, pair_terms(self.loss.code, rows.imputed, self.loss.custom), rows.indices, rows.weights, rows.targets,
            rows.values, rows.own_weights, rows.other_weights, scores, values, slopes, curvatures,
        )  # fmt: skip
        return scores, values, slopes, curvatures

    def _run(self, rows: RowProblem, kernel: Any, *arguments: Any) -> None:
        def work(chunk: Chunk, worker: int) -> None:
            kernel(*chunk, rows.indptr, *arguments)

        run_chunks(work, balanced_chunks(rows.indptr), self.n_threads)


def stored_scores(stored: Compressed, this: Array, other: Array, n_threads: int = 1) -> Array:
    """Scores u_i · v_j of the stored pairs, in their order."""
    out = np.empty(len(stored.indices), this.dtype)

    def work(chunk: Chunk, worker: int) -> None:
        pair_scores(*chunk, stored.indptr, stored.indices, this, other, out)

    run_chunks(work, balanced_chunks(stored.indptr), n_threads)
    return out


def total_weights(stored: Compressed, own_weights: Array, other_weights: Array) -> NDArray[np.float64]:
    """Σ_{j∈Ω_i} c_ij + p_i Σ_j q_j for every row: the total weight of its sub-problem."""
    sums = np.concatenate([[0.0], np.cumsum(stored.weights, dtype=np.float64)])
    return np.asarray(np.diff(sums[stored.indptr]) + own_weights * other_weights.sum(dtype=np.float64))


def _square_of_values(
    values: Array, p: Array, q: Array, left_values: Array | None, right_values: Array | None
) -> float:
    """Σ_{all} p_i q_j ỹ_ij² = ⟨ŨᵀPŨ, ṼᵀQṼ⟩."""
    if left_values is None or right_values is None:
        return float(values[0]) ** 2 * float(p.sum(dtype=np.float64)) * float(q.sum(dtype=np.float64))
    return float(np.sum(gram(left_values, p).matrix * gram(right_values, q).matrix))
