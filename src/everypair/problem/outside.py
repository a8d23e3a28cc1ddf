"""What happens outside Ω, as a part of the objective.

Square     ½ Σ_{∉Ω} p_i q_j (ỹ − s)²: moved to all pairs and corrected on Ω, so that it is known through Gram matrices
           and a sum over Ω. Where every p_i q_j is 0 nothing happens outside Ω.
SameLoss   Σ_{∉Ω} p_i q_j ℓ(ỹ, s): the loss itself, at the cost of every pair.

Either tells its sum over pairs at some factors, and the quadratic part that is left, ½⟨PU, UM⟩ − ⟨U, pulled⟩.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.problem.all_pairs import AllPairs
from everypair.problem.gram import Gram
from everypair.problem.rows import RowProblem
from everypair.problem.stored import StoredPairs
from everypair.types import Array


class PairsAt(Protocol):
    """The part of F that is summed over pairs, at some factors, seen from one side."""

    value: float

    def gradient(self) -> Array:
        """R V."""
        ...

    def product(self, direction: Array) -> Array:
        """[t_ij (n_i·v_j)] V."""
        ...

    def column_curvatures(self) -> NDArray[np.float64]:
        """Σ_i t_ij for every row j of V."""
        ...

    def along(self, direction: Array) -> Callable[[float], float]:
        """Value at U + α N."""
        ...


@dataclass(frozen=True)
class Quadratic:
    """½⟨PU, UM⟩ − ⟨U, pulled⟩ of one side's factors; ``matrix`` is M, or its diagonal in its own eigenbasis."""

    weights: Array
    matrix: Array
    pulled: Array

    def curved(self, direction: Array) -> Array:
        """P N M."""
        product = direction * self.matrix if self.matrix.ndim == 1 else direction @ self.matrix
        return np.asarray(self.weights[:, None] * product)

    def slope(self, factors: Array) -> Array:
        """P U M − pulled."""
        return np.asarray(self.curved(factors) - self.pulled)


class Outside(Protocol):
    """What happens outside Ω."""

    by_rows: bool  # whether the half-step, which knows the square, may solve independent rows

    def gram(self, rows: RowProblem, other: Array, n_threads: int) -> Gram:
        """VᵀQV and VᵀQṼ of the quadratic part, as ``rows`` see the other side."""
        ...

    def pairs(self, rows: RowProblem, this: Array, other: Array, n_threads: int) -> PairsAt:
        """The sum over pairs at these factors."""
        ...

    def written_out(self, rows: RowProblem, columns: int) -> RowProblem:
        """The same rows as a problem for the half-step."""
        ...


class Square:
    """A weighted square on every pair outside Ω, at the cost of Ω."""

    by_rows = True

    def gram(self, rows: RowProblem, other: Array, n_threads: int) -> Gram:
        """VᵀQV and VᵀQṼ."""
        return rows.gram_of(other, n_threads)

    def pairs(self, rows: RowProblem, this: Array, other: Array, n_threads: int) -> PairsAt:
        """Σ_Ω [c ℓ − ½ p_i q_j (ỹ − s)²]."""
        return StoredPairs(rows, this, other, n_threads)

    def written_out(self, rows: RowProblem, columns: int) -> RowProblem:
        """As they are."""
        return rows


class SameLoss:
    """The loss itself on every pair outside Ω, at the cost of every pair: there to be compared."""

    by_rows = False

    def gram(self, rows: RowProblem, other: Array, n_threads: int) -> Gram:
        """Zeros: nothing is quadratic."""
        rank, value_rank = other.shape[1], 1 if rows.other_values is None else rows.other_values.shape[1]
        return Gram(np.zeros((rank, rank)), np.zeros((rank, value_rank)))

    def pairs(self, rows: RowProblem, this: Array, other: Array, n_threads: int) -> PairsAt:
        """Σ_Ω c ℓ(y, s) + Σ_{∉Ω} p_i q_j ℓ(ỹ, s)."""
        return AllPairs(rows, this, other, n_threads)

    def written_out(self, rows: RowProblem, columns: int) -> RowProblem:
        """Every pair as a stored one, at O(n) memory for each row."""
        return AllPairs.as_stored(rows, columns)


OUTSIDE: dict[str, Outside] = {"squared": Square(), "same": SameLoss()}
