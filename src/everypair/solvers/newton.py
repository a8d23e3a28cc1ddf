"""Alternating row-wise Newton–CG: all left rows, then all right rows, each by the half-step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from everypair.problem.gram import Gram
from everypair.problem.objective import LEFT, RIGHT, Objective
from everypair.solvers.half_step import RowSteps, half_step

Array = NDArray[Any]


@dataclass(frozen=True)
class Factors:
    """Where a solver stands: both sides' factors and F there (``None`` before the first sweep)."""

    left: Array
    right: Array
    objective: float | None = None
    right_gram: Gram | None = None


class RowNewton:
    """Minimise an :class:`Objective` by alternating half-steps; each sweep returns F at no extra pass over Ω."""

    def __init__(self, objective: Objective, steps: RowSteps, n_threads: int = 1) -> None:
        self.objective = objective
        self.steps = steps
        self.n_threads = n_threads

    def step(self, state: Factors) -> Factors:
        """One sweep over both sides."""
        left_rows, right_rows = self.objective.sides[LEFT], self.objective.sides[RIGHT]
        right_gram = state.right_gram or left_rows.gram_of(state.right, self.n_threads)
        left, _ = half_step(left_rows, state.left, state.right, right_gram, self.steps, self.n_threads)
        left_gram = right_rows.gram_of(left, self.n_threads)
        right, stored = half_step(right_rows, state.right, left, left_gram, self.steps, self.n_threads)
        right_gram = left_rows.gram_of(right, self.n_threads)
        value = self.objective.assemble(stored, left, right, left_gram, right_gram)
        return Factors(left, right, value, right_gram)
