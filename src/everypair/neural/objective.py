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
from everypair.neural.blocks import aligned
from everypair.neural.towers import Embedded, Tower
from everypair.neural.trees import Both, leafwise, leaves
from everypair.parallel import BLOCK_ROWS, Chunk, even_chunks, run_chunks, sum_blocks
from everypair.problem.factor_space import FactorObjective
from everypair.problem.gram import Gram
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.outside import OUTSIDE
from everypair.problem.ridge import Ridge
from everypair.problem.stored import StoredPairs
from everypair.types import Array


@dataclass(frozen=True)
class TowerPoint:
    """Where both towers stand: parameters, factors, the stored pairs and Gram matrices there, and L."""

    theta: Both
    sides: tuple[Embedded, Embedded]
    stored: StoredPairs
    grams: tuple[Gram, Gram]
    value: float
    rounding: float

    @property
    def left(self) -> Array:
        """U."""
        return self.sides[LEFT].factors

    @property
    def right(self) -> Array:
        """V."""
        return self.sides[RIGHT].factors


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

    def at(self, theta: Both, towers: tuple[Tower, Tower] | None = None) -> TowerPoint:
        """Evaluate both towers (other ones of the same parameters, if given) and L."""
        left, right = (tower.at(part) for tower, part in zip(towers or self.towers, theta))
        F = self.factor_space
        stored = StoredPairs(F.rows[LEFT], left.factors, right.factors, self.n_threads)
        grams = F.gram(LEFT, left.factors), F.gram(RIGHT, right.factors)
        value = F.total(stored.value, *grams) + self.penalty(theta)
        return TowerPoint(theta, (left, right), stored, grams, value, F.rounding(*grams))

    def penalty(self, theta: Both) -> float:
        """½ λ_u ‖θ_u‖² + ½ λ_v ‖θ_v‖²."""
        return 0.5 * sum(
            reg * sum(float(np.sum(np.square(leaf, dtype=np.float64))) for leaf in leaves(part))
            for reg, part in zip(self.reg, theta)
        )

    def gradient(self, point: TowerPoint) -> Both:
        """∇L."""
        return self._pulled(point, self.factor_gradients(point), point.theta)

    def factor_gradients(self, point: TowerPoint) -> tuple[Array, Array]:
        """∂F/∂U and ∂F/∂V."""
        slopes = point.stored.slopes
        left, right = self._sums(LEFT, slopes, point.right), self._by_columns(slopes, point.left)
        for side, gradient, factors in ((LEFT, left, point.left), (RIGHT, right, point.right)):
            gram, rows = point.grams[1 - side], self.factor_space.rows[side]
            self._add_products(side, gradient, [(factors, gram.matrix)])
            gradient -= rows.this_weights[:, None] * rows.pulls(gram).astype(self.dtype)
        return left, right

    def product(self, point: TowerPoint, direction: Both) -> Both:
        """G·d."""
        W, H = (side.tangent(part) for side, part in zip(point.sides, direction))
        return self._pulled(point, self.factor_product(point, W, H), direction)

    def factor_product(self, point: TowerPoint, W: Array, H: Array) -> tuple[Array, Array]:
        """The Gauss-Newton matrix of F in factor space, by directions W of U and H of V together."""
        U, V = point.left, point.right
        changes = self._scores(W, V)
        changes += self._scores(U, H)
        changes *= point.stored.curvatures
        left, right = self._sums(LEFT, changes, V), self._by_columns(changes, U)
        self._add_products(LEFT, left, [(W, point.grams[RIGHT].matrix), (U, self._cross(RIGHT, H, V))])
        self._add_products(RIGHT, right, [(H, point.grams[LEFT].matrix), (V, self._cross(LEFT, W, U))])
        return left, right

    def curvature_root(self, point: TowerPoint, random: np.random.Generator) -> Both:
        """Jᵀ H^½ ε for random signs ε: squared, it is diag(JᵀHJ) in the mean.

        H is what all pairs and, besides, c ℓ'' of the stored ones give, a little more than the curvature of L.
        """
        rows = self.factor_space.rows[LEFT]
        weights = np.repeat(rows.this_weights, np.diff(rows.indptr)) * rows.other_weights[rows.indices]
        curvatures = np.sqrt(np.maximum(point.stored.curvatures + weights, 0)) * self._signs(random, len(weights))
        left, right = self._sums(LEFT, curvatures, point.right), self._by_columns(curvatures, point.left)
        for side, root in ((LEFT, left), (RIGHT, right)):
            values, vectors = np.linalg.eigh(point.grams[1 - side].matrix)
            weights = self.factor_space.rows[side].this_weights[:, None]
            signs = np.divide(self._signs(random, root.shape), np.sqrt(weights), where=weights > 0,
                              out=np.zeros_like(root))  # fmt: skip
            self._add_products(side, root, [(signs, (vectors * np.sqrt(np.maximum(values, 0))).T)])
        left, right = (side.adjoint(root) for side, root in zip(point.sides, (left, right)))
        return left, right

    def _signs(self, random: np.random.Generator, shape: Any) -> Array:
        return (2 * random.integers(0, 2, shape, np.int8) - 1).astype(self.dtype)

    def _pulled(self, point: TowerPoint, gradients: tuple[Array, Array], ridged: Both) -> Both:
        """[⟨J_u, G_u⟩ + λ_u x_u; ⟨J_v, G_v⟩ + λ_v x_v] for gradients by the factors and ``ridged`` x."""
        left, right = (
            leafwise(lambda g, x, reg=reg: g + self.dtype.type(reg) * x, side.adjoint(gradient), x)
            for side, gradient, x, reg in zip(point.sides, gradients, ridged, self.reg)
        )
        return left, right

    def _scores(self, this: Array, other: Array) -> Array:
        rows = self.factor_space.rows[LEFT]
        out = np.empty(len(rows.indices), self.dtype)
        self._run(LEFT, pair_scores, this, other, out)
        return out

    def _by_columns(self, coefficients: Array, other: Array) -> Array:
        return self._sums(RIGHT, coefficients[self.stored.order], other)

    def _sums(self, side: int, coefficients: Array, other: Array) -> Array:
        out = aligned((self.factor_space.rows[side].n_rows, other.shape[1]), self.dtype)
        self._run(side, sparse_dense, coefficients, other, out)
        return out

    def _add_products(self, side: int, out: Array, terms: list[tuple[Array, Array]]) -> None:
        """out ← out + P Σ A M for pairs (A, M) of a tall matrix and a small one, in blocks of rows."""
        weights = self.factor_space.rows[side].this_weights[:, None]
        small = [(tall, matrix.astype(self.dtype)) for tall, matrix in terms]

        def work(chunk: Chunk, worker: int) -> None:
            rows = slice(*chunk)
            for tall, matrix in small:
                out[rows] += weights[rows] * (tall[rows] @ matrix)

        run_chunks(work, even_chunks(len(out), BLOCK_ROWS), self.n_threads)

    def _cross(self, side: int, direction: Array, factors: Array) -> NDArray[np.float64]:
        """HᵀQV: blocks of rows in the model's precision, their sum in float64."""
        weights = self.factor_space.rows[side].this_weights[:, None]

        def block(chunk: Chunk, worker: int) -> NDArray[np.float64]:
            rows = slice(*chunk)
            return np.asarray(direction[rows].T @ (weights[rows] * factors[rows]), np.float64)

        return np.asarray(sum_blocks(block, len(factors), self.n_threads))

    def _run(self, side: int, kernel: Any, *arguments: Any) -> None:
        rows = self.factor_space.rows[side]

        def work(chunk: Chunk, worker: int) -> None:
            kernel(*chunk, rows.indptr, rows.indices, *arguments)

        run_chunks(work, rows.chunks, self.n_threads)
