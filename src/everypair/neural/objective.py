"""What two towers minimise: every pair, at the cost of the stored ones.

    L(θ) = F(U, V) + ½ λ_u ‖θ_u‖² + ½ λ_v ‖θ_v‖²,      U = f(θ_u),   V = g(θ_v)

    ∇L  = [⟨J_u, RV + PU(VᵀQV) − PŨ(ṼᵀQV)⟩ + λ_u θ_u;  the same for V]                              (27)
    G·d = [⟨J_u, ZV + P(W(VᵀQV) + U(HᵀQV))⟩ + λ_u d_u;  ⟨J_v, ZᵀU + Q(H(UᵀPU) + V(WᵀPU))⟩ + λ_v d_v]   (40)

with W = J_u d_u, H = J_v d_v and Z = [t_ij (w_i·v_j + u_i·h_j)]_Ω. F is the library's function in factor space, its
sums over Ω run in compiled kernels, and towers are evaluated in blocks of rows: O(|Ω|k + (m + n)k² + towers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.pairs import Pairs
from everypair.kernels.stored_pairs import pair_scores, sparse_dense
from everypair.neural.towers import Tower
from everypair.neural.trees import Both, leafwise, leaves
from everypair.parallel import Chunk, run_chunks
from everypair.problem.factor_space import FactorObjective
from everypair.problem.gram import Gram
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.outside import OUTSIDE
from everypair.problem.ridge import Ridge
from everypair.problem.stored import StoredPairs

Array = NDArray[Any]


@dataclass(frozen=True)
class Point:
    """Where both towers stand: parameters, factors, the stored pairs and Gram matrices there, and L."""

    theta: Both
    left: Array
    right: Array
    stored: StoredPairs
    grams: tuple[Gram, Gram]
    value: float
    rounding: float


class TowerObjective:
    """L(θ), its gradient and its Gauss-Newton product; ``reg`` are the (left, right) ridges."""

    def __init__(
        self,
        pairs: Pairs,
        loss: Loss,
        negatives: Negatives,
        towers: tuple[Tower, Tower],
        reg: tuple[float, float],
        *,
        dtype: Any = np.float32,
        n_threads: int = 1,
    ) -> None:
        self.stored, self.loss, self.negatives, self.towers, self.reg = pairs, loss, negatives, towers, reg
        self.dtype, self.n_threads = np.dtype(dtype), n_threads
        self.factor_space = FactorObjective(
            pairs, loss, negatives, Ridge.checked(0.0, 0.0), OUTSIDE["squared"], dtype=dtype, n_threads=n_threads
        )

    def at(self, theta: Both, towers: tuple[Tower, Tower] | None = None) -> Point:
        """Evaluate both towers (other ones of the same parameters, if given) and L."""
        left, right = (tower.factors(part) for tower, part in zip(towers or self.towers, theta))
        F = self.factor_space
        stored = StoredPairs(F.rows[LEFT], left, right, self.n_threads)
        grams = F.gram(LEFT, left), F.gram(RIGHT, right)
        value = F.total(stored.value, *grams) + self.penalty(theta)
        return Point(theta, left, right, stored, grams, value, F.rounding(*grams))

    def penalty(self, theta: Both) -> float:
        """½ λ_u ‖θ_u‖² + ½ λ_v ‖θ_v‖²."""
        return 0.5 * sum(
            reg * sum(float(np.sum(np.square(leaf, dtype=np.float64))) for leaf in leaves(part))
            for reg, part in zip(self.reg, theta)
        )

    def gradient(self, point: Point, towers: tuple[Tower, Tower] | None = None) -> Both:
        """∇L."""
        return self.pulled(point.theta, self.factor_gradients(point), point.theta, towers)

    def factor_gradients(self, point: Point) -> tuple[Array, Array]:
        """∂F/∂U and ∂F/∂V."""
        stored, F = point.stored, self.factor_space
        left = stored.gradient() + F.quadratic(LEFT, point.grams[RIGHT]).slope(point.left)
        right = self._by_columns(stored.slopes, point.left)
        right = right + F.quadratic(RIGHT, point.grams[LEFT]).slope(point.right)
        return left.astype(self.dtype, copy=False), right.astype(self.dtype, copy=False)

    def product(self, point: Point, direction: Both) -> Both:
        """G·d."""
        W, H = (tower.tangent(*both) for tower, *both in zip(self.towers, point.theta, direction))
        return self.pulled(point.theta, self.factor_product(point, W, H), direction)

    def factor_product(self, point: Point, W: Array, H: Array) -> tuple[Array, Array]:
        """The Gauss-Newton matrix of F in factor space, by directions W of U and H of V together."""
        F, U, V = self.factor_space, point.left, point.right
        changes = self._scores(W, V)
        changes += self._scores(U, H)
        changes *= point.stored.curvatures
        left = self._sums(LEFT, changes, V) + F.quadratic(LEFT, point.grams[RIGHT]).curved(W)
        right = self._by_columns(changes, U) + F.quadratic(RIGHT, point.grams[LEFT]).curved(H)
        p, q = (rows.this_weights[:, None] for rows in F.rows)
        left += p * (U @ _cross(H, q, V).astype(self.dtype))
        right += q * (V @ _cross(W, p, U).astype(self.dtype))
        return left.astype(self.dtype, copy=False), right.astype(self.dtype, copy=False)

    def pulled(
        self, theta: Both, gradients: tuple[Array, Array], ridged: Both, towers: tuple[Tower, Tower] | None = None
    ) -> Both:
        """[⟨J_u, G_u⟩ + λ_u x_u; ⟨J_v, G_v⟩ + λ_v x_v] for gradients by the factors and ``ridged`` x."""
        both = (
            leafwise(lambda g, x, reg=reg: g + self.dtype.type(reg) * x, tower.adjoint(part, gradient), x)
            for tower, part, gradient, x, reg in zip(towers or self.towers, theta, gradients, ridged, self.reg)
        )
        left, right = both
        return left, right

    def _scores(self, this: Array, other: Array) -> Array:
        rows = self.factor_space.rows[LEFT]
        out = np.empty(len(rows.indices), self.dtype)
        self._run(LEFT, pair_scores, this, other, out)
        return out

    def _by_columns(self, coefficients: Array, other: Array) -> Array:
        return self._sums(RIGHT, coefficients[self.stored.order], other)

    def _sums(self, side: int, coefficients: Array, other: Array) -> Array:
        out = np.empty((self.factor_space.rows[side].n_rows, other.shape[1]), self.dtype)
        self._run(side, sparse_dense, coefficients, other, out)
        return out

    def _run(self, side: int, kernel: Any, *arguments: Any) -> None:
        rows = self.factor_space.rows[side]

        def work(chunk: Chunk, worker: int) -> None:
            kernel(*chunk, rows.indptr, rows.indices, *arguments)

        run_chunks(work, rows.chunks, self.n_threads)


def _cross(direction: Array, weights: Array, factors: Array) -> NDArray[np.float64]:
    """HᵀQV."""
    return np.asarray(direction.astype(np.float64).T @ (weights * factors.astype(np.float64)))
