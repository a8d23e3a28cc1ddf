"""What workers do for a side with features, U = XW or T + XW: sums over shards of what W needs to know.

    ∂g/∂W = Σ_s X_sᵀ ∂g/∂U_s + λ_f W,     H D = Σ_s X_sᵀ H_s X_s D + λ_f D,     H_s as for one machine

Every shard has its rows X_s and the side's problem at its own factors U_s; own vectors T stay as they are meanwhile. W
and everything of its size is at home, on one worker, where conjugate gradients take one step at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from everypair.distribute.pieces import Sized
from everypair.distribute.solving.work import (
    Rows,
    Shard,
    Sums,
    Turned,
    gram_nodes,
    gram_of,
    joined,
    own_sums,
    total,
    worker_threads,
)
from everypair.parallel import block_parts, single_threaded_blas, tree_nodes
from everypair.problem.embedding import Embedding
from everypair.problem.outside import OUTSIDE
from everypair.problem.rotation import Axes
from everypair.problem.side import SidePoint, SideProblem
from everypair.problem.stored import StoredPairs
from everypair.solvers.conjugate import ConjugateGradient
from everypair.solvers.preconditioner import (
    EXACT_FEATURES,
    LEADING,
    Spectrum,
    by_diagonal,
    by_spectrum,
    column_form,
    feature_ridge,
    in_effective_basis,
)
from everypair.types import Array

Solve = Callable[[Array], Array]


@dataclass(frozen=True)
class Open(Sized):
    """A shard's side problem at its factors."""

    point: SidePoint

    def __sizeof__(self) -> int:
        return 2 * self.point.factors.nbytes + self.point.problem.other.nbytes


@dataclass(frozen=True)
class Slope(Sized):
    """A shard's part of ∂g/∂W, of Vᵀ diag(τ) V, and of g's sum over pairs; parts add up."""

    gradient: Array
    form: NDArray[np.float64]
    pairs: float

    def __add__(self, other: Slope) -> Slope:
        return Slope(self.gradient + other.gradient, self.form + other.form, self.pairs + other.pairs)


@dataclass(frozen=True)
class Prepared(Sized):
    """What is decomposed once: XᵀPX of all rows as a preconditioner, σ ↦ (R ↦ P⁻¹R)."""

    solver: Callable[[Array], Solve]
    columns: int = 0

    def __sizeof__(self) -> int:
        return 16 * self.columns * min(self.columns, LEADING)


@dataclass(frozen=True)
class RidgeFactor(Sized):
    """The Cholesky factor of XᵀΛX + λ_f I."""

    factor: NDArray[np.float64]


@dataclass(frozen=True)
class Weights(Sized):
    """W in the axes of a half-step, and these."""

    theta: Array
    axes: Axes


@dataclass(frozen=True)
class Search(Sized):
    """Conjugate gradients under way."""

    method: ConjugateGradient
    solve: Solve
    pairs: float

    def __sizeof__(self) -> int:
        return 4 * self.method.gradient.nbytes


@dataclass(frozen=True)
class SearchReport:
    """What the client has to know of a search: whether it goes on, its step's model and length, and what λ_f adds."""

    more: bool
    model: float
    length: float
    at_boundary: bool
    pairs: float
    ridge_change: float


def feature_gram(shard: Shard, counted: bool) -> Array:
    """XᵀPX of a shard's rows, or its diagonal where features are many; P = I unless negatives are ``counted``."""
    assert shard.features is not None
    weights = shard.problem.this_weights if counted else np.ones_like(shard.problem.this_weights)
    with single_threaded_blas():
        if shard.features.shape[1] > EXACT_FEATURES:
            return shard.features.squares(weights)
        return shard.features.gram(weights)


def prepare(gram: Array, ridge: float, dtype: Any) -> Prepared:
    """Decompose the sum of all shards' XᵀPX."""
    if gram.ndim == 1:
        return Prepared(by_diagonal(ridge, gram, np.dtype(dtype)), 1)
    with single_threaded_blas():
        spectrum = Spectrum.of_gram(gram, dtype)
        return Prepared(by_spectrum(spectrum, ridge, np.diag(gram), np.dtype(dtype)), len(gram))


def ridge_form(shard: Shard) -> Array:
    """XᵀΛX of a shard's rows, Λ the ridge of their own vectors."""
    assert shard.features is not None
    with single_threaded_blas():
        return shard.features.gram(shard.problem.ridge)


def factorised(form: Array, ridge: float) -> RidgeFactor:
    """XᵀΛX + λ_f I of all rows, ready to be solved with."""
    with single_threaded_blas():
        lowest = feature_ridge(ridge, np.diag(form))
        return RidgeFactor(scipy.linalg.cho_factor(form + lowest * np.eye(len(form)))[0])


def explained(shard: Shard, this: Rows) -> Array:
    """A shard's part of XᵀΛU, in float64: collinear features divide its rounding by next to nothing."""
    assert shard.features is not None
    return shard.features.adjoint(shard.problem.ridge[:, None] * this.factors.astype(np.float64), worker_threads())


def regressed(regression: RidgeFactor, parts: Array, free: NDArray[np.bool_], dtype: Any) -> Array:
    """The W that costs least while all factors stay: (XᵀΛX + λ_f I)⁻¹ XᵀΛU."""
    with single_threaded_blas():
        weights = scipy.linalg.cho_solve((regression.factor, False), parts)
    return np.where(free, weights, 0).astype(dtype)


def open_side(shard: Shard, this: Rows, weights: Array, others: list[Turned], blocks: int) -> Open:
    """The side's problem at a shard's factors; ``others`` are what was gathered from the other side."""
    gram, axes = others[0].gram, others[0].axes
    rotated, sizes = joined(others), total([other.sizes for other in others], blocks)
    embedding = Embedding(
        shard.problem.n_rows, np.zeros(len(weights), weights.dtype), shard.features, False,
        constant=shard.problem.constant,
    )  # fmt: skip
    with single_threaded_blas():
        problem = SideProblem(
            shard.problem, embedding, OUTSIDE["squared"], rotated, sizes, gram, axes, worker_threads()
        )
        theta = problem.enter(weights)
        if not shard.own:
            return Open(problem.at(theta))
        return Open(SidePoint(problem, theta, problem.enter(this.factors)))


def slope(opened: Open, total_weight: float) -> Slope:
    """A shard's part of what a Newton step begins with."""
    point = opened.point
    with single_threaded_blas():
        form = column_form(point.problem.other, point.pairs.column_curvatures() / total_weight)
        return Slope(point.gradient, form, point.pairs.value)


def curved(opened: Open, direction: Array) -> Array:
    """A shard's part of H D."""
    with single_threaded_blas():
        return opened.point.product(direction)[0]


def changed(opened: Open, step: Array) -> float:
    """By how much a step of W changes a shard's part of g."""
    point = opened.point
    with single_threaded_blas():
        return float(point.along(step, point.problem.embedding.lift(step, point.problem.n_threads))(1.0))


def moved(opened: Open, step: Array) -> Open:
    """The same shard after a step of W."""
    point = opened.point
    with single_threaded_blas():
        return Open(point.moved(step, point.problem.embedding.lift(step, point.problem.n_threads)))


def close_side(shard: Shard, opened: Open, weights: Array, ridge_gram: bool) -> Rows:
    """A shard's new factors and what all machines have to know of them; ``weights`` are the new ones."""
    point = opened.point
    assert isinstance(point.pairs, StoredPairs)
    with single_threaded_blas():
        factors = point.problem.leave(point.factors)
        penalty, gram = own_sums(shard, factors, weights, ridge_gram)
        pairs = tree_nodes(block_parts(point.pairs.row_values), shard.first_block)
        return Rows(factors, Sums(penalty, gram_nodes(shard, factors), pairs, gram))


def enter(weights: Array, sums: Sequence[Sums], blocks: int, free: NDArray[np.bool_]) -> Weights:
    """W in the axes of the other side's Gram matrix, whose ``sums`` are given."""
    axes = Axes.of(gram_of(sums, blocks), free)
    with single_threaded_blas():
        return Weights(axes.rotate(weights), axes)


def leave(weights: Weights) -> Array:
    """W itself."""
    with single_threaded_blas():
        back = np.ascontiguousarray(weights.axes.basis.T.astype(weights.theta.dtype))
        return np.asarray(weights.theta @ back)


def search(weights: Weights, slope: Slope, prepared: Prepared, ridge: float, radius: float, tol: float) -> Search:
    """Begin conjugate gradients at W, from the sum of all shards' slopes."""
    theta, axes = weights.theta, weights.axes
    gradient = np.where(axes.free, slope.gradient + theta.dtype.type(ridge) * theta, 0).astype(theta.dtype)
    with single_threaded_blas():
        solve = in_effective_basis(prepared.solver, axes.sigma.astype(theta.dtype), slope.form, axes.free, 1)
        return Search(ConjugateGradient(gradient, solve, radius, tol), solve, slope.pairs)


def direction(search: Search) -> Array:
    """Where the next product is needed."""
    return search.method.direction


def advance(search: Search, parts: Array, weights: Weights, ridge: float) -> Search:
    """One more step, with the sum of all shards' products."""
    method = deepcopy(search.method)
    along = method.direction.dtype.type(ridge) * method.direction
    with single_threaded_blas():
        method.advance(np.where(weights.axes.free, parts + along, 0).astype(along.dtype), search.solve)
    return Search(method, search.solve, search.pairs)


def step_of(search: Search) -> Array:
    """The step that was found."""
    return search.method.step


def report(search: Search, weights: Weights, ridge: float, max_steps: int) -> SearchReport:
    """What the client has to know."""
    method = search.method
    theta, step = weights.theta.astype(np.float64), method.step.astype(np.float64)
    change = ridge * float(np.vdot(theta, step) + 0.5 * np.vdot(step, step))
    return SearchReport(
        method.wants_more(max_steps), method.model, method.length, method.at_boundary, search.pairs, change
    )


def stepped(weights: Weights, search: Search) -> Weights:
    """W after the step."""
    return Weights(weights.theta + search.method.step, weights.axes)


def add(one: Any, other: Any) -> Any:
    """Two parts of a sum."""
    return one + other
