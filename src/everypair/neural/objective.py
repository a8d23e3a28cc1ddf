"""What two towers minimise: every pair, at the cost of the stored ones.

    L(θ) = F(U, V) + ½ Σ_i ρ_i ‖u_i‖² + ½ Σ_j ρ̄_j ‖v_j‖² + ½ Σ_a λ_a ‖θ_a‖²,      U = f(θ_u),   V = g(θ_v)

    ∇L  = [⟨J_u, RV + PU(VᵀQV) − PŨ(ṼᵀQV) + ρU⟩ + λ θ_u;  the same for V]                            (27)
    G·d = [⟨J_u, ZV + P(W(VᵀQV) + U(HᵀQV)) + ρW⟩ + λ d_u;  ⟨J_v, ZᵀU + Q(H(UᵀPU) + V(WᵀPU)) + ρ̄H⟩ + λ d_v]   (40)

with W = J_u d_u, H = J_v d_v, Z = [t_ij (w_i·v_j + u_i·h_j)]_Ω and a λ_a for every array of θ. F is the library's
function in factor space, its sums over Ω run in compiled kernels, and towers are evaluated in blocks of rows:
O(|Ω|k + (m + n)k² + towers).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.pairs import Pairs
from everypair.kernels.stored_pairs import sparse_dense
from everypair.kernels.tower_pairs import joint_product
from everypair.neural.penalties import Penalties
from everypair.neural.towers import Embedded, Tower
from everypair.neural.trees import Both, leaves, ridged, squared
from everypair.parallel import BLOCK_ROWS, Chunk, even_chunks, run_chunks, sum_blocks
from everypair.problem.factor_space import FactorObjective
from everypair.problem.gram import Gram, weighted_norm
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.outside import OUTSIDE
from everypair.problem.ridge import Ridge
from everypair.problem.stored import StoredPairs
from everypair.types import Array

NO_RIDGE = Ridge.checked(0.0, 0.0)
LEAST_SHARE = 1e-3  # of the mean: the least curvature of a row in a preconditioner


@dataclass(frozen=True)
class TowerPoint:
    """Where both towers stand: parameters, factors, the stored pairs and Gram matrices there."""

    objective: TowerObjective
    theta: Both
    sides: tuple[Embedded, Embedded]
    stored: StoredPairs
    grams: tuple[Gram, Gram]

    @property
    def left(self) -> Array:
        """U."""
        return self.sides[LEFT].factors

    @property
    def right(self) -> Array:
        """V."""
        return self.sides[RIGHT].factors

    @cached_property
    def value(self) -> float:
        """L."""
        objective = self.objective
        total = objective.factor_space.total(self.stored.value, *self.grams)
        for rows, factors in zip(objective.factor_space.rows, (self.left, self.right)):
            if rows.ridge.any():
                total += 0.5 * weighted_norm(factors, rows.ridge, n_threads=objective.n_threads)
        return total + objective.penalty(self.theta)

    @property
    def rounding(self) -> float:
        """How far rounding may take L."""
        return self.objective.factor_space.rounding(*self.grams)


class TowerObjective:
    """L(θ), its gradient and its Gauss-Newton product; ``reg`` are the (left, right) ridges of parameters, ``ridge``
    is that of the factors.
    """

    def __init__(
        self,
        pairs: Pairs,
        loss: Loss,
        negatives: Negatives,
        towers: tuple[Tower, Tower],
        reg: tuple[Penalties, Penalties],
        *,
        ridge: Ridge = NO_RIDGE,
        dtype: Any = np.float32,
        n_threads: int = 1,
    ) -> None:
        self.stored, self.loss, self.negatives, self.towers, self.reg = pairs, loss, negatives, towers, reg
        self.ridge = ridge
        self.dtype, self.n_threads = np.dtype(dtype), n_threads
        self.factor_space = FactorObjective(
            pairs, loss, negatives, ridge, OUTSIDE["squared"], dtype=dtype, n_threads=n_threads
        )

    def at(self, theta: Both) -> TowerPoint:
        """Evaluate both towers."""
        left, right = (tower.at(part) for tower, part in zip(self.towers, theta))
        F = self.factor_space
        stored = StoredPairs(F.rows[LEFT], left.factors, right.factors, self.n_threads)
        grams = F.gram(LEFT, left.factors), F.gram(RIGHT, right.factors)
        return TowerPoint(self, theta, (left, right), stored, grams)

    def penalties(self, theta: Both) -> Both:
        """λ_a of every array of θ."""
        left, right = (tower.penalties(part, reg) for tower, part, reg in zip(self.towers, theta, self.reg))
        return left, right

    def penalty(self, theta: Both) -> float:
        """½ Σ_a λ_a ‖θ_a‖²."""
        total = 0.0
        for reg, leaf in zip(leaves(self.penalties(theta)), leaves(theta), strict=True):
            if isinstance(reg, np.ndarray):
                total += weighted_norm(leaf, reg[:, 0], n_threads=self.n_threads)
            elif reg:
                total += reg * squared(leaf)
        return 0.5 * total

    def paces(self, theta: Both) -> Both:
        """How fast every array of θ moves where an optimiser has a rate."""
        left, right = (tower.paces(part) for tower, part in zip(self.towers, theta))
        return left, right

    def thinned(self, share: float, random: np.random.Generator) -> TowerObjective:
        """The same with a random share of the ids left out of the towers; itself, where the share is zero."""
        if not share:
            return self
        left, right = (tower.thinned(share, random) for tower in self.towers)
        thin = copy(self)
        thin.towers = left, right
        return thin

    def gradient(self, point: TowerPoint) -> Both:
        """∇L."""
        return self.pulled(point, self.factor_gradients(point), point.theta)

    def factor_gradients(self, point: TowerPoint) -> tuple[Array, Array]:
        """What L says of U and of V."""
        slopes = point.stored.slopes
        left, right = self._sums(LEFT, slopes, point.right), self._by_columns(slopes, point.left)
        for side, gradient, factors in ((LEFT, left, point.left), (RIGHT, right, point.right)):
            gram, rows = point.grams[1 - side], self.factor_space.rows[side]
            self._add_products(side, gradient, [(factors, gram.matrix)], factors)
            gradient -= rows.this_weights[:, None] * rows.pulls(gram).astype(self.dtype)
        return left, right

    def product(self, point: TowerPoint, direction: Both) -> Both:
        """G·d."""
        W, H = (side.tangent(part) for side, part in zip(point.sides, direction))
        return self.pulled(point, self.factor_product(point, W, H), direction)

    def factor_product(self, point: TowerPoint, W: Array, H: Array) -> tuple[Array, Array]:
        """The Gauss-Newton matrix of F in factor space, by directions W of U and H of V together."""
        U, V, rows = point.left, point.right, self.factor_space.rows[LEFT]
        changes, left = np.empty(rows.n_pairs, self.dtype), np.empty_like(U)
        rows.run(joint_product, self.n_threads, point.stored.curvatures, W, H, U, V, changes, left)
        right = self._by_columns(changes, U)
        self._add_products(LEFT, left, [(W, point.grams[RIGHT].matrix), (U, self._cross(RIGHT, H, V))], W)
        self._add_products(RIGHT, right, [(H, point.grams[LEFT].matrix), (V, self._cross(LEFT, W, U))], H)
        return left, right

    def curvature_root(self, point: TowerPoint, random: np.random.Generator) -> tuple[Array, Array]:
        """H^½ ε for random signs ε, by U and by V: its products with itself are H's blocks in the mean.

        H is what all pairs, the ridges of the factors and, besides, c ℓ'' of the stored pairs give, a little more than
        the curvature of L: [√P E Lᵀ + [ε √(c ℓ'')]_Ω V] for U, with VᵀQV = LLᵀ, and the same for V.
        """
        rows = self.factor_space.rows[LEFT]
        weights = np.repeat(rows.this_weights, np.diff(rows.indptr)) * rows.other_weights[rows.indices]
        curvatures = np.sqrt(np.maximum(point.stored.curvatures + weights, 0)) * self._signs(random, len(weights))
        left, right = self._sums(LEFT, curvatures, point.right), self._by_columns(curvatures, point.left)
        for side, root in ((LEFT, left), (RIGHT, right)):
            values, vectors = np.linalg.eigh(point.grams[1 - side].matrix)
            rows = self.factor_space.rows[side]
            signs = self._signs(random, root.shape) * np.sqrt(rows.this_weights)[:, None]
            root += signs @ (vectors * np.sqrt(np.maximum(values, 0))).T.astype(self.dtype)
            if rows.ridge.any():
                root += self._signs(random, root.shape) * np.sqrt(rows.ridge)[:, None]
        return left, right

    def row_curvatures(self, point: TowerPoint, side: int) -> NDArray[np.float64]:
        """tr H_i of every row of a side: p_i tr VᵀQV + Σ_{j∈Ω_i} t_ij ‖v_j‖² + k ρ_i, at least a thousandth of their
        mean.
        """
        rows, other = self.factor_space.rows[side], (point.right, point.left)[side]
        curvatures = point.stored.curvatures if side == LEFT else point.stored.curvatures[self.stored.order]
        squares = np.einsum("jk,jk->j", other, other, dtype=np.float64)
        stored = sp.csr_array((curvatures, rows.indices, rows.indptr), shape=(rows.n_rows, len(other)))
        traces = np.asarray(stored @ squares + rows.this_weights * np.trace(point.grams[1 - side].matrix))
        traces += other.shape[1] * rows.ridge
        return np.asarray(np.maximum(traces, LEAST_SHARE * traces.mean() + np.finfo(np.float32).tiny))

    def _signs(self, random: np.random.Generator, shape: Any) -> Array:
        return (2 * random.integers(0, 2, shape, np.int8) - 1).astype(self.dtype)

    def pulled(self, point: TowerPoint, gradients: tuple[Array, Array], theta: Both) -> Both:
        """[⟨J_u, G_u⟩ + λ x_u; ⟨J_v, G_v⟩ + λ x_v] for gradients by the factors and ``theta`` x."""
        left, right = (
            ridged(side.adjoint(gradient), regs, x)
            for side, gradient, x, regs in zip(point.sides, gradients, theta, self.penalties(theta))
        )
        return left, right

    def _by_columns(self, coefficients: Array, other: Array) -> Array:
        return self._sums(RIGHT, coefficients[self.stored.order], other)

    def _sums(self, side: int, coefficients: Array, other: Array) -> Array:
        rows = self.factor_space.rows[side]
        out = np.empty((rows.n_rows, other.shape[1]), self.dtype)
        rows.run(sparse_dense, self.n_threads, coefficients, other, out)
        return out

    def _add_products(self, side: int, out: Array, terms: list[tuple[Array, Array]], ridged: Array) -> None:
        """out ← out + P Σ A M + ρ X for pairs (A, M) of a tall matrix and a small one and ``ridged`` X, in blocks."""
        rows = self.factor_space.rows[side]
        weights, ridge = rows.this_weights[:, None], rows.ridge[:, None] if rows.ridge.any() else None
        uniform = self._uniform(side)
        small = [(tall, ((uniform or 1.0) * matrix).astype(self.dtype)) for tall, matrix in terms]

        def work(chunk: Chunk, worker: int) -> None:
            block = slice(*chunk)
            for tall, matrix in small:
                found = tall[block] @ matrix
                if uniform is None:
                    found *= weights[block]
                out[block] += found
            if ridge is not None:
                out[block] += ridge[block] * ridged[block]

        run_chunks(work, even_chunks(len(out), BLOCK_ROWS), self.n_threads)

    def _cross(self, side: int, direction: Array, factors: Array) -> NDArray[np.float64]:
        """HᵀQV: blocks of rows in the model's precision, their sum in float64."""
        weights, uniform = self.factor_space.rows[side].this_weights[:, None], self._uniform(side)

        def block(chunk: Chunk, worker: int) -> NDArray[np.float64]:
            rows = slice(*chunk)
            weighted = factors[rows] if uniform is not None else weights[rows] * factors[rows]
            return np.asarray(direction[rows].T @ weighted, np.float64)

        found = np.asarray(sum_blocks(block, len(factors), self.n_threads))
        return found if uniform is None else uniform * found

    def _uniform(self, side: int) -> float | None:
        """The weight of a side's rows where all have the same."""
        weights = self.factor_space.rows[side].this_weights
        return float(weights[0]) if (weights == weights[:1]).all() else None
