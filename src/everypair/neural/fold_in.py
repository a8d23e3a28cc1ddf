"""Fold-in of entities that come later: the row e that training would have given them, everything else as it is.

    min_e  Σ_{j∈Ω_i} [c ℓ(y, s) − ½ p q_j (ỹ − s)²] + ½ Σ_j p q_j (ỹ_j − s_j)² + ½ ρ_i ‖u‖² + ½ λ ‖e‖²

with u = f(z + e) and s = u · v_j, where z is what features say (0 without them). Rows are independent: Gauss-Newton
directions by conjugate gradients, lengths by backtracking, each with numbers of its own for every row. From e = 0 the
result is a local optimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.neural.towers import Above, Perceptron
from everypair.neural.trees import Tree, zeros_like
from everypair.problem.outside import Quadratic
from everypair.problem.rows import RowProblem
from everypair.problem.stored import StoredPairs
from everypair.types import Array

STEPS, CG_STEPS, TRIALS = 30, 8, 12
SUFFICIENT = 1e-4
TOL = 1e-7  # relative decrease at which a row has arrived


class RowsAt(NamedTuple):
    """Rows e at some point: the layers on them, their stored pairs, the value of each."""

    own: Array
    above: Above
    stored: StoredPairs
    values: Array


class NewRows:
    """Rows e of new entities under a tower: value, gradient and Gauss-Newton product, row by row."""

    def __init__(
        self, tower: Perceptron, theta: Tree, base: Array, problem: RowProblem, other: Array, reg: float, n_threads: int
    ) -> None:
        self.tower, self.base, self.problem, self.other = tower, base, problem, other
        self.upper = {"matrices": theta["matrices"], "biases": theta["biases"]}
        self.still = zeros_like(self.upper)
        self.reg, self.n_threads = tower.dtype.type(reg), n_threads
        gram = problem.gram_of(other, n_threads)
        p = problem.this_weights[:, None]
        self.quadratic = Quadratic(problem.this_weights, gram.matrix, p * problem.pulls(gram))

    def at(self, own: Array) -> RowsAt:
        """Evaluate the rows."""
        above = self.tower.above(self.upper, self.base + own)
        stored = StoredPairs(self.problem, above.factors, self.other, self.n_threads)
        wide = above.factors.astype(np.float64)
        quadratic = 0.5 * np.einsum("ik,ik->i", wide, self.quadratic.curved(wide))
        linear = np.einsum("ik,ik->i", wide, np.broadcast_to(self.quadratic.pulled, wide.shape))
        ridge = 0.5 * float(self.reg) * np.einsum("ik,ik->i", own, own, dtype=np.float64)
        ridge += 0.5 * self.problem.ridge * np.einsum("ik,ik->i", wide, wide)
        return RowsAt(own, above, stored, stored.row_values + quadratic - linear + ridge)

    def gradient(self, rows: RowsAt) -> Array:
        """∂/∂e of every row."""
        by_factors = (rows.stored.gradient() + self.quadratic.slope(rows.above.factors)).astype(rows.own.dtype)
        by_factors += self.problem.ridge[:, None] * rows.above.factors
        return rows.above.adjoint(by_factors)[1] + self.reg * rows.own

    def product(self, rows: RowsAt, direction: Array) -> Array:
        """The Gauss-Newton matrix of every row times its direction."""
        N = rows.above.tangent(self.still, direction)
        bent = (rows.stored.product(N) + self.quadratic.curved(N)).astype(direction.dtype)
        bent += self.problem.ridge[:, None] * N
        return rows.above.adjoint(bent)[1] + self.reg * direction


def folded_rows(
    tower: Perceptron, theta: Tree, base: Array, problem: RowProblem, other: Array, reg: float, n_threads: int = 1
) -> Array:
    """Factors of new entities with these pairs, of whom features say ``base``, the first product without ids."""
    new = NewRows(tower, theta, base, problem, other, reg, n_threads)
    rows = new.at(np.zeros_like(base))
    for _ in range(STEPS):
        gradient = new.gradient(rows)
        direction = _directions(new, rows, gradient)
        slopes = _dots(gradient, direction)
        lengths = np.ones(len(base), base.dtype)
        for _ in range(TRIALS):
            trial = new.at(rows.own + lengths[:, None] * direction)
            enough = trial.values <= rows.values + SUFFICIENT * lengths * slopes
            if enough.all():
                break
            lengths[~enough] /= 2
        lengths[~enough] = 0
        before, rows = rows, new.at(rows.own + lengths[:, None] * direction)
        if (before.values - rows.values <= TOL * np.maximum(np.abs(before.values), 1)).all():
            break
    return rows.above.factors


def _directions(problem: NewRows, rows: RowsAt, gradient: Array) -> Array:
    """Conjugate gradients, every row by itself."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, size = residual, _dots(residual, residual)
    for _ in range(CG_STEPS):
        curved = problem.product(rows, direction)
        lengths = _ratio(size, _dots(direction, curved))[:, None].astype(gradient.dtype)
        step = step + lengths * direction
        residual = residual - lengths * curved
        before, size = size, _dots(residual, residual)
        direction = residual + _ratio(size, before)[:, None].astype(gradient.dtype) * direction
    return step


def _dots(one: Array, other: Array) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ik,ik->i", one, other, dtype=np.float64))


def _ratio(above: Array, below: Array) -> Array:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
