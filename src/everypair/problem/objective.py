"""The objective that solvers minimise: F in factor space, composed with where the factors come from.

    F(θ, θ̄) = F(U, V) + R(θ) + R̄(θ̄),      U = Eθ,  V = Ēθ̄

Solvers ask for one side's problem with the other side fixed, as independent rows (``rows``) or as a function of all its
parameters (``side``), and for the total; value, gradient and Hessian·vector by parameters are made of the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.data.pairs import Pairs
from everypair.parallel import single_threaded_blas
from everypair.problem.embedding import Embedding, SideInformation
from everypair.problem.factor_space import FactorObjective
from everypair.problem.gram import Gram
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives
from everypair.problem.outside import OUTSIDE
from everypair.problem.ridge import Ridge
from everypair.problem.rows import RowProblem
from everypair.problem.side import SideProblem
from everypair.types import Array

BothSides = tuple[SideInformation | None, SideInformation | None]


class Objective:
    """F and its derivatives by the parameters of either side.

    ``embeddings`` say how the (left, right) factors come from parameters, and are made of the ``side_information``.
    ``negative_loss="same"`` puts the loss itself outside Ω, at the cost of every pair.

    >>> pairs = Pairs.from_matrix([[1, 0], [1, 1]], dtype=np.float64)
    >>> negatives = Negatives.from_scheme(pairs, weight=0.5)
    >>> objective = Objective(pairs, "squared", negatives, Ridge.checked(0.1, 0), dtype=np.float64)
    >>> left, right = np.ones((2, 1)), np.array([[1.0], [0.5]])
    >>> float(objective.value(left, right))  # ½·½·0.5² + ½·0.5² + 0.05·(1 + 1 + 1 + 0.25)
    0.35
    >>> objective.gradient(0, left, right).ravel().round(12).tolist()
    [0.225, -0.15]
    """

    def __init__(
        self,
        pairs: Pairs,
        loss: str | Loss,
        negatives: Negatives,
        ridge: Ridge,
        *,
        layout: Layout | None = None,
        dtype: Any = np.float32,
        n_threads: int = 1,
        side_information: BothSides = (None, None),
        negative_loss: str = "squared",
    ) -> None:
        self.loss = get_loss(loss)
        self.negatives, self.negative_loss, self.side_information = negatives, negative_loss, side_information
        self.n_threads = n_threads
        self.dtype = np.dtype(dtype)
        constants = (None, None) if layout is None else (layout.constant(LEFT), layout.constant(RIGHT))
        self.factor_space = FactorObjective(
            pairs, self.loss, negatives, ridge, OUTSIDE[negative_loss],
            constants=constants, dtype=self.dtype, n_threads=n_threads,
        )  # fmt: skip
        self.embeddings = tuple(
            Embedding.of(rows.ridge, info, rows.constant)
            for rows, info in zip(self.factor_space.rows, side_information)
        )
        self._feature_grams: dict[int, Array | None] = {}

    @property
    def rows(self) -> tuple[RowProblem, RowProblem]:
        """The sub-problems of the (left, right) rows, each with the other side fixed."""
        return self.factor_space.rows

    def by_rows(self, side: int) -> bool:
        """Whether every row of a side is a parameter of its own and may be solved by the half-step."""
        return self.embeddings[side].independent and self.factor_space.outside.by_rows

    def factors(self, side: int, theta: Array) -> Array:
        """U (side 0) or V (side 1) at its parameters; without features they are the same."""
        return self.embeddings[side].factors(theta, self.n_threads)

    def gram(self, side: int, factors: Array) -> Gram:
        """Gram matrices of a side's factors, weighted as the other side's rows see them."""
        return self.factor_space.gram(side, factors)

    def side(self, side: int, other: Array, gram: Gram) -> SideProblem:
        """F as a function of one side's parameters, where the other side has these factors and that ``gram``."""
        return SideProblem.of(
            self.rows[side], self.embeddings[side], self.factor_space.outside, other, gram, self.n_threads,
            self._feature_gram(side),
        )  # fmt: skip

    def value(self, left: Array, right: Array) -> float:
        """F at the parameters ``left`` and ``right`` of both sides (without features: m × k and n × k factors)."""
        factors = self._factors(left, right)
        pairs = self.factor_space.pairs(LEFT, *factors).value
        return self.total(pairs, left, right, self.gram(LEFT, factors[LEFT]), self.gram(RIGHT, factors[RIGHT]))

    def total(self, pairs: float, left: Array, right: Array, left_gram: Gram, right_gram: Gram) -> float:
        """F from its sum over pairs and both sides' Gram matrices, at O((m + n)k) and a graph's product."""
        return self.factor_space.total(pairs, left_gram, right_gram) + sum(
            embedding.penalty(theta, theta if embedding.graph is None else self.factors(side, theta), self.n_threads)
            for side, (embedding, theta) in enumerate(zip(self.embeddings, (left, right)))
        )

    def rounding(self, left_gram: Gram, right_gram: Gram) -> float:
        """How far rounding may take F where both sides have these Gram matrices."""
        return self.factor_space.rounding(left_gram, right_gram)

    def gradient(self, side: int, left: Array, right: Array) -> Array:
        """∂F/∂θ of a side; zero in constant columns."""
        problem, theta = self._side_at(side, left, right)
        return problem.leave(problem.at(problem.enter(theta)).gradient)

    def hessian_vector(self, side: int, direction: Array, left: Array, right: Array) -> Array:
        """H·S for a direction S of a side's parameters; zero in constant columns."""
        problem, theta = self._side_at(side, left, right)
        direction = np.where(problem.free, direction, 0).astype(self.dtype)
        return problem.leave(problem.at(problem.enter(theta)).product(problem.enter(direction))[0])

    def _side_at(self, side: int, left: Array, right: Array) -> tuple[SideProblem, Array]:
        other = self._factors(left, right)[1 - side]
        return self.side(side, other, self.gram(1 - side, other)), (left, right)[side]

    def _factors(self, left: Array, right: Array) -> tuple[Array, Array]:
        sizes = [len(embedding.ridge) for embedding in self.embeddings]
        if left.ndim != 2 or left.shape[0] != sizes[LEFT] or right.shape != (sizes[RIGHT], left.shape[1]):
            raise ValueError(
                f"parameters must have shapes ({sizes[LEFT]}, k) and ({sizes[RIGHT]}, k), got {left.shape} and "
                f"{right.shape}."
            )
        return self.factors(LEFT, left), self.factors(RIGHT, right)

    def _feature_gram(self, side: int) -> Array | None:
        """XᵀPX where the all-pairs part of a product is cheaper with it: O(d²k) instead of O(mk)."""
        if side not in self._feature_grams:
            embedding = self.embeddings[side]
            features, gram = embedding.features, None
            if features is not None and not embedding.own and features.shape[1] ** 2 < embedding.n_rows:
                with single_threaded_blas():
                    gram = features.gram(self.rows[side].this_weights).astype(self.dtype)
            self._feature_grams[side] = gram
        return self._feature_grams[side]
