"""One side's problem as a function of all its parameters θ at once, the other side fixed.

    g(θ) = Σ_Ω [c ℓ − ½ p_i q_j (ỹ − s)²] + ½⟨PU, UM⟩ − ⟨PU, pulls⟩ + R(θ),   U = Eθ,  M = VᵀQV

Both sides are rotated into the eigenbasis of M first: scores, ridge and graph do not change, and M becomes diag(σ), so
that the all-pairs term of a Hessian·vector product costs O(mk). Where d² < m and there are no own vectors, even that
is replaced by (XᵀPX) S σ (the paper's small-d order of products).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import tree_sum
from everypair.problem.embedding import Embedding
from everypair.problem.gram import Gram, inner
from everypair.problem.outside import Outside, Quadratic
from everypair.problem.rotation import Axes, column_sizes, rotate, unspanned
from everypair.problem.rows import RowProblem
from everypair.types import Array


class SideProblem:
    """g in rotated coordinates: ``enter`` takes parameters there, ``leave`` takes them back.

    ``rotated`` is the other side in its ``axes`` already and may be changed. It needs the rows that the pairs of
    ``rows`` name and no others; ``sizes``, the sums of the squares of its columns, and ``gram`` are those of all.
    """

    def __init__(
        self,
        rows: RowProblem,
        embedding: Embedding,
        outside: Outside,
        rotated: Array,
        sizes: NDArray[np.float64],
        gram: Gram,
        axes: Axes,
        n_threads: int = 1,
        feature_gram: Array | None = None,
    ) -> None:
        self.rows, self.embedding, self.outside, self.n_threads = rows, embedding, outside, n_threads
        dtype, columns = rotated.dtype, rotated.shape[1]
        self.free, self.other = axes.free, rotated
        self.sigma = axes.sigma.astype(dtype)
        self.basis = axes.basis.astype(dtype)
        fixed = np.zeros(columns) if rows.constant is None else gram.matrix[rows.constant] * self.free
        pulls = (rows.pulls(gram) - fixed) @ axes.basis
        pulled = (rows.this_weights[:, None] * pulls).astype(dtype)
        nothing = unspanned(sizes, self.free, dtype)
        self.other[:, nothing] = pulled[:, nothing] = self.sigma[nothing] = 0
        self.quadratic = Quadratic(rows.this_weights, self.sigma, pulled)
        self.feature_gram = feature_gram

    @classmethod
    def of(
        cls,
        rows: RowProblem,
        embedding: Embedding,
        outside: Outside,
        other: Array,
        gram: Gram,
        n_threads: int = 1,
        feature_gram: Array | None = None,
    ) -> SideProblem:
        """Rotate the other side first."""
        axes = Axes.of(gram, rows.free_columns(other.shape[1]))
        rotated = axes.rotate(other, n_threads)
        sizes = tree_sum(column_sizes(rotated))
        return cls(rows, embedding, outside, rotated, sizes, gram, axes, n_threads, feature_gram)

    def enter(self, theta: Array) -> Array:
        """θ in the eigenbasis."""
        return rotate(theta, self.basis, self.n_threads)

    def leave(self, theta: Array) -> Array:
        """θ back from the eigenbasis."""
        return rotate(theta, np.ascontiguousarray(self.basis.T), self.n_threads)

    def at(self, theta: Array) -> SidePoint:
        """g near θ (rotated)."""
        return SidePoint(self, theta, self.embedding.factors(theta, self.n_threads))


class Line(Protocol):
    """A direction S of θ and its image ES among the factors."""

    @property
    def step(self) -> Array:
        """S."""
        ...

    @property
    def image(self) -> Array:
        """ES."""
        ...


class SidePoint:
    """g at θ: gradient, products with the Hessian, and g along a line."""

    def __init__(self, problem: SideProblem, theta: Array, factors: Array) -> None:
        self.problem, self.theta, self.factors = problem, theta, factors
        self.pairs = problem.outside.pairs(problem.rows, factors, problem.other, problem.n_threads)

    @cached_property
    def quadratic_slope(self) -> tuple[Array, Array]:
        """Gradient of the quadratic part: by the factors, P U σ − P pulls + λ_g L U, and by θ, D θ."""
        problem, embedding = self.problem, self.problem.embedding
        by_factors = problem.quadratic.slope(self.factors)
        if embedding.graph is not None:
            by_factors += embedding.smooth(self.factors, problem.n_threads)
        return by_factors, embedding.ridge[:, None] * self.theta

    @cached_property
    def gradient(self) -> Array:
        """∇g."""
        by_factors, by_theta = self.quadratic_slope
        gradient = self.problem.embedding.adjoint(self.pairs.gradient() + by_factors, self.problem.n_threads) + by_theta
        gradient[:, ~self.problem.free] = 0
        return gradient

    def product(self, direction: Array) -> tuple[Array, Array]:
        """(HS, ES) for a direction S that is zero in constant columns."""
        problem, embedding = self.problem, self.problem.embedding
        lifted = embedding.lift(direction, problem.n_threads)
        product = self.pairs.product(lifted)
        if problem.feature_gram is None:
            product += problem.quadratic.curved(lifted)
        if embedding.graph is not None:
            product += embedding.smooth(lifted, problem.n_threads)
        curved = embedding.adjoint(product, problem.n_threads) + embedding.ridge[:, None] * direction
        if problem.feature_gram is not None:
            curved += (problem.feature_gram @ direction) * problem.sigma
        curved[:, ~problem.free] = 0
        return curved, lifted

    def along(self, step: Array, image: Array) -> Callable[[float], float]:
        """g(θ + αS) − g(θ) as a function of α, with ``image`` = ES: the quadratic parts are two numbers."""
        problem, embedding = self.problem, self.problem.embedding
        by_factors, by_theta = self.quadratic_slope
        slope = inner(by_factors, image) + inner(by_theta, step)
        curved = problem.quadratic.curved(image)
        if embedding.graph is not None:
            curved += embedding.smooth(image, problem.n_threads)
        curvature = inner(curved, image) + inner(embedding.ridge[:, None] * step, step)
        pairs, here = self.pairs.along(image), self.pairs.value

        def change(length: float) -> float:
            return pairs(length) - here + length * slope + 0.5 * length * length * curvature

        return change

    def change(self, line: Line) -> float:
        """g(θ + S) − g(θ)."""
        return self.along(line.step, line.image)(1.0)

    def after(self, line: Line) -> SidePoint:
        """The point θ + S."""
        return self.moved(line.step, line.image)

    def moved(self, step: Array, image: Array, length: float = 1.0) -> SidePoint:
        """The point θ + αS, whose factors are U + αES."""
        weight = self.theta.dtype.type(length)
        return SidePoint(self.problem, self.theta + weight * step, self.factors + weight * image)
