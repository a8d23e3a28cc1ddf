"""F in factor space: a function of U and V alone, whatever they come from and whatever is paid for that.

    F(U, V) = Σ_Ω c ℓ(y, s) + ½ Σ_{∉Ω} p_i q_j (ỹ − s)²,                                    s_ij = u_i · v_j
            = Σ_Ω [c ℓ(y, s) − ½ p_i q_j (ỹ − s)²] + ½⟨UᵀPU, VᵀQV⟩ − ⟨ŨᵀPU, ṼᵀQV⟩ + ½⟨ŨᵀPŨ, ṼᵀQṼ⟩

    ∂F/∂U = R V + P U (VᵀQV) − P Ũ (ṼᵀQV),      H_U·N = [t_ij (n_i·v_j)]_Ω V + P N (VᵀQV)

with r = c ℓ' − p_i q_j (s − ỹ) and t = c ℓ'' − p_i q_j on Ω: value, gradient and products cost O(|Ω|k + (m+n)k²).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from everypair.check import within
from everypair.data.pairs import Pairs
from everypair.problem.gram import Gram
from everypair.problem.gram_square import GramSquare
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.outside import Outside, PairsAt, Quadratic
from everypair.problem.ridge import Ridge
from everypair.problem.rows import RowProblem, stored_scores
from everypair.types import Array


class FactorObjective:
    """F(U, V) and its derivatives by the factors of either side; ``rows`` describe the (left, right) rows.

    >>> from everypair.problem.losses import get_loss
    >>> from everypair.problem.outside import OUTSIDE
    >>> pairs = Pairs.from_matrix([[1, 0], [1, 1]], dtype=np.float64)
    >>> negatives = Negatives.from_scheme(pairs, weight=0.5)
    >>> squared, ridge = get_loss("squared"), Ridge.checked(0, 0)
    >>> F = FactorObjective(pairs, squared, negatives, ridge, OUTSIDE["squared"], dtype=np.float64)
    >>> left, right = np.ones((2, 1)), np.array([[1.0], [0.5]])
    >>> F.value(left, right)  # ½·½·0.5² + ½·0.5²
    0.1875
    >>> F.gradient(LEFT, left, right).ravel().tolist()
    [0.125, -0.25]
    """

    def __init__(
        self,
        pairs: Pairs,
        loss: Loss,
        negatives: Negatives,
        ridge: Ridge,
        outside: Outside,
        *,
        constants: tuple[int | None, int | None] = (None, None),
        dtype: Any = np.float32,
        n_threads: int = 1,
    ) -> None:
        self.outside, self.n_threads = outside, n_threads
        p, q = (within("the weight of negatives", part, dtype) for part in (negatives.left, negatives.right))
        targets = pairs.resolve_targets(loss.dislike_target).astype(dtype, copy=False)
        value: Any = negatives.value
        values = None
        if isinstance(value, tuple):
            value = tuple(np.ascontiguousarray(within("negative_value", part, dtype)) for part in value)
            values = stored_scores(pairs.rows, value[LEFT], value[RIGHT], n_threads)
        left = RowProblem.of(
            LEFT, pairs.rows, pairs.left_counts, targets, loss, ridge, (p, q), value,
            dtype=dtype, values=values, constant=constants[LEFT],
        )  # fmt: skip
        right = RowProblem.of(
            RIGHT, pairs.columns, pairs.right_counts, pairs.by_columns(targets, n_threads), loss, ridge, (q, p),
            value[::-1] if isinstance(value, tuple) else value,
            dtype=dtype, values=None if values is None else pairs.by_columns(values, n_threads),
            constant=constants[RIGHT],
        )  # fmt: skip
        self.rows = left, right
        square = GramSquare.of(negatives, left.stored_weight, dtype)
        self.square = square if outside.by_rows else replace(square, square_of_values=0.0)

    def value(self, left: Array, right: Array) -> float:
        """F."""
        return self.total(self.pairs(LEFT, left, right).value, self.gram(LEFT, left), self.gram(RIGHT, right))

    def gradient(self, side: int, left: Array, right: Array) -> Array:
        """∂F/∂U (side 0) or ∂F/∂V (side 1)."""
        this, other = (left, right) if side == LEFT else (right, left)
        slope = self.quadratic(side, self.gram(1 - side, other)).slope(this)
        return np.asarray(self.pairs(side, this, other).gradient() + slope)

    def product(self, side: int, direction: Array, left: Array, right: Array) -> Array:
        """H·N for a direction N of one side's factors."""
        this, other = (left, right) if side == LEFT else (right, left)
        curved = self.quadratic(side, self.gram(1 - side, other)).curved(direction)
        return np.asarray(self.pairs(side, this, other).product(direction) + curved)

    def pairs(self, side: int, this: Array, other: Array) -> PairsAt:
        """The sum over pairs at these factors, seen from ``side``, whose factors are ``this``."""
        return self.outside.pairs(self.rows[side], this, other, self.n_threads)

    def gram(self, side: int, factors: Array) -> Gram:
        """Gram matrices of a side's factors, weighted as the other side's rows see them."""
        return self.outside.gram(self.rows[1 - side], factors, self.n_threads)

    def quadratic(self, side: int, other: Gram) -> Quadratic:
        """What is left of F as a function of ``side``'s factors besides its sum over pairs."""
        rows = self.rows[side]
        return Quadratic(rows.this_weights, other.matrix, rows.this_weights[:, None] * rows.pulls(other))

    def total(self, pairs: float, left: Gram, right: Gram) -> float:
        """F from its sum over pairs and both sides' Gram matrices, at O(k²)."""
        return pairs + self.square(left, right)

    def rounding(self, left: Gram, right: Gram) -> float:
        """How far rounding may take F."""
        return self.square.rounding(left, right)
