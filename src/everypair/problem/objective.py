"""One objective over every pair, at the cost of the stored ones.

    F = Σ_Ω c ℓ(y, s) + ½ Σ_{∉Ω} p_i q_j (ỹ − s)² + R(θ) + R̄(θ̄),     s_ij = u_i · v_j,  U = Eθ,  V = Ēθ̄
      = Σ_Ω [c ℓ(y, s) − ½ p_i q_j (ỹ − s)²] + ½ Σ_{all} p_i q_j (ỹ − s)² + R(θ) + R̄(θ̄)

The last sum depends on the factors only through Gram matrices, ½⟨UᵀPU, VᵀQV⟩ − ⟨ŨᵀPU, ṼᵀQV⟩ + ½⟨ŨᵀPŨ, ṼᵀQṼ⟩, so value,
gradient and Hessian·vector cost O(|Ω|k + nnz(X)k + nnz(L)k + (m+n)k²) and nothing is proportional to m·n. What θ is and
what R costs is told by each side's :class:`Embedding`.

With biases the factors have two more columns: U = [W, b, 1] and V = [H, 1, b̄], so s = w·h + b_i + b̄_j and the identity
holds as it stands; the constant columns are neither learnt nor penalised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.pairs import Compressed, Pairs
from everypair.kernels.stored_pairs import pair_scores
from everypair.parallel import Chunk, balanced_chunks, run_chunks
from everypair.problem.embedding import Embedding, SideInformation
from everypair.problem.gram import Gram, gram
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge
from everypair.problem.rows import PairsAt, PairsOf, RowProblem
from everypair.problem.stored import StoredPairs

Array = NDArray[Any]
LEFT, RIGHT = 0, 1


class Objective:
    """F and its derivatives by the parameters of either side.

    ``sides[0]`` and ``sides[1]`` are the :class:`RowProblem` of the left and of the right rows, ``embeddings`` say how
    their factors come from parameters; ``known`` is the side information of the (left, right) side.

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
        known: tuple[SideInformation | None, SideInformation | None] = (None, None),
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
        self.known = known
        self.embeddings = tuple(Embedding.of(rows.ridge, info, rows.frozen) for rows, info in zip(self.sides, known))

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

    pairs_of: PairsOf = StoredPairs
    row_wise = True  # whether independent rows may be solved by the half-step, which knows the quadratic negatives

    def factors(self, side: int, theta: Array) -> Array:
        """U (side 0) or V (side 1) at its parameters; without features they are the same."""
        return self.embeddings[side].factors(theta, self.n_threads)

    def value(self, left: Array, right: Array) -> float:
        """F at the parameters ``left`` and ``right`` of both sides (without features: m × k and n × k factors)."""
        factors = self._factors(left, right)
        stored = self._pairs(LEFT, *factors).value
        grams = (
            self.sides[RIGHT].gram_of(factors[LEFT], self.n_threads),
            self.sides[LEFT].gram_of(factors[RIGHT], self.n_threads),
        )
        return self.assemble(stored, left, right, *grams)

    def assemble(self, stored: float, left: Array, right: Array, left_gram: Gram, right_gram: Gram) -> float:
        """F from its sum over pairs and both sides' Gram matrices, at O((m + n)k) and a graph's product."""
        cross = float(np.sum(left_gram.pull * right_gram.pull))
        if not self.sides[LEFT].imputed:
            cross *= float(self.sides[LEFT].values[0])
        all_pairs = 0.5 * float(np.sum(left_gram.matrix * right_gram.matrix)) - cross + 0.5 * self._square_of_values
        return (
            stored
            + all_pairs
            + sum(
                embedding.penalty(
                    theta, theta if embedding.graph is None else self.factors(side, theta), self.n_threads
                )
                for side, (embedding, theta) in enumerate(zip(self.embeddings, (left, right)))
            )
        )

    def gradient(self, side: int, left: Array, right: Array) -> Array:
        """∂F/∂θ of a side, Eᵀ(R V + P U (VᵀQV) − P Ũ (ṼᵀQV) + λ_g L U) + D θ; zero in constant columns."""
        rows, embedding = self.sides[side], self.embeddings[side]
        factors = self._factors(left, right)
        this, other = factors[side], factors[1 - side]
        gradient = self._pairs(side, *factors).gradient()
        gram = rows.gram_of(other, self.n_threads)
        gradient += rows.own_weights[:, None] * (this @ gram.matrix - rows.pulls(gram))
        gradient += embedding.smooth(this, self.n_threads)
        theta = (left, right)[side]
        gradient = embedding.adjoint(gradient, self.n_threads) + embedding.ridge[:, None] * theta
        gradient[:, ~rows.free_columns(this.shape[1])] = 0
        return gradient

    def hessian_vector(self, side: int, direction: Array, left: Array, right: Array) -> Array:
        """H·S = Eᵀ([t_ij (n_i·v_j)]_Ω V + P N (VᵀQV) + λ_g L N) + D S, N = ES; zero in constant columns."""
        rows, embedding = self.sides[side], self.embeddings[side]
        factors = self._factors(left, right)
        free = rows.free_columns(factors[side].shape[1])
        direction = np.where(free, direction, 0).astype(self.dtype)
        lifted = embedding.lift(direction, self.n_threads)
        product = self._pairs(side, *factors).product(lifted)
        gram = rows.gram_of(factors[1 - side], self.n_threads)
        product += rows.own_weights[:, None] * (lifted @ gram.matrix) + embedding.smooth(lifted, self.n_threads)
        product = embedding.adjoint(product, self.n_threads) + embedding.ridge[:, None] * direction
        product[:, ~free] = 0
        return product.astype(self.dtype, copy=False)

    def _factors(self, left: Array, right: Array) -> tuple[Array, Array]:
        sizes = [len(embedding.ridge) for embedding in self.embeddings]
        if left.ndim != 2 or left.shape[0] != sizes[LEFT] or right.shape != (sizes[RIGHT], left.shape[1]):
            raise ValueError(
                f"parameters must have shapes ({sizes[LEFT]}, k) and ({sizes[RIGHT]}, k), got {left.shape} and "
                f"{right.shape}."
            )
        return self.factors(LEFT, left), self.factors(RIGHT, right)

    def _pairs(self, side: int, left: Array, right: Array) -> PairsAt:
        this, other = (left, right) if side == LEFT else (right, left)
        return type(self).pairs_of(self.sides[side], this, other, self.n_threads)


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
