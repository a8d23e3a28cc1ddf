"""A Kronecker-factored preconditioner of the Gauss-Newton matrix, from one random probe R = H^½ ε of the curvature.

On either side, with the traces of the forward pass at hand:

    δ_L = R,   δ_{l−1} = σ'_l ⊙ (δ_l W_lᵀ),   G_l = δ_lᵀδ_l / m = Q γ Qᵀ,   A_l = h_lᵀh_l = P α Pᵀ

    rows of ids    r_i ← Q[(Qᵀr_i) / (c_i γ + λ + μ)]                    c_i = tr H_i over its mean
    of features    the same of row d with c_d = Σ_i c_i x_id²
    matrices       r ← P[(PᵀrQ) / (α γᵀ + λ + μ)]Qᵀ
    biases         r ← Q[(Qᵀr) / (m γ + λ + μ)]

A tower brought along has no layers to look into: each of its arrays is divided by the mean of z² over it plus λ + μ,
where z = JᵀR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from everypair.neural.linear_path import LinearPathAt
from everypair.neural.objective import TowerObjective, TowerPoint
from everypair.neural.penalties import Penalties, Reg
from everypair.neural.towers import Embedded, PerceptronAt
from everypair.neural.trees import Both, Tree, leafwise
from everypair.types import Array

Solve = Callable[[Tree, float], Tree]  # (residual, damping μ) → what the preconditioner makes of it
SMALL = 1e-8  # in place of a ridge and a damping of zero


class Eigen(NamedTuple):
    """A symmetric matrix with no negative eigenvalue as values and vectors."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, matrix: Array, dtype: Any) -> Eigen:
        """Decompose in float64."""
        values, vectors = np.linalg.eigh(matrix.astype(np.float64))
        return cls(np.maximum(values, 0).astype(dtype), vectors.astype(dtype))


def of_rows(residual: Array, scales: Array, below: Eigen, shift: Reg) -> Array:
    """r_i ← Q[(Qᵀr_i) / (c_i γ + shift)]."""
    turned = residual @ below.vectors
    turned /= scales[:, None] * below.values + np.asarray(shift, residual.dtype)
    return np.asarray(turned @ below.vectors.T)


def of_matrix(residual: Array, above: Eigen, below: Eigen, shift: Reg) -> Array:
    """r ← P[(PᵀrQ) / (αγᵀ + shift)]Qᵀ."""
    turned = above.vectors.T @ residual @ below.vectors
    turned /= np.outer(above.values, below.values) + np.asarray(shift, residual.dtype)
    return np.asarray(above.vectors @ turned @ below.vectors.T)


def of_perceptron(at: PerceptronAt, root: Array, curvatures: Array, reg: Penalties) -> Solve:
    """The preconditioner of one side's perceptron; ``curvatures`` are tr H_i of its rows."""
    rows, dtype = len(root), root.dtype
    inner, outer = at.above.second_moments(root)
    A, G = [Eigen.of(one, dtype) for one in inner], [Eigen.of(one / rows, dtype) for one in outer]
    own = (curvatures / curvatures.mean()).astype(dtype)
    features = at.inputs.features
    described = None if features is None else features.squares(own).astype(dtype)

    def solve(residual: Tree, damping: float) -> Tree:
        shifts = Penalties(*(reg_of + damping + SMALL for reg_of in reg))
        found: dict[str, Any] = {
            "matrices": [
                of_matrix(r, above, below, shifts.matrices) for r, above, below in zip(residual["matrices"], A, G[1:])
            ],
            "biases": [
                of_rows(r[None], np.array([rows], dtype), below, shifts.biases)[0]
                for r, below in zip(residual["biases"], G)
            ],
        }
        if "ids" in residual:
            found["ids"] = of_rows(residual["ids"], own, G[0], shifts.ids)
        if described is not None:
            found["features"] = of_rows(residual["features"], described, G[0], shifts.features)
        return {name: found[name] for name in residual}

    return solve


def of_linear_path(at: LinearPathAt, root: Array, curvatures: Array, reg: Penalties) -> Solve:
    """The preconditioners of the linear part and of the network, each by itself."""
    linear = of_perceptron(at.linear, root, curvatures, reg.of_linear())
    network = of_perceptron(at.network, root, curvatures, reg)

    def solve(residual: Tree, damping: float) -> Tree:
        return {"linear": linear(residual["linear"], damping), "network": network(residual["network"], damping)}

    return solve


def of_function(at: Embedded, root: Array, penalties: Tree) -> Solve:
    """The same of a tower brought along: one number for each of its arrays."""
    scales = leafwise(lambda z: float(np.mean(np.square(z, dtype=np.float64))), at.adjoint(root))

    def solve(residual: Tree, damping: float) -> Tree:
        return leafwise(lambda r, v, reg: r / r.dtype.type(v + reg + damping + SMALL), residual, scales, penalties)

    return solve


def preconditioner(
    objective: TowerObjective, point: TowerPoint, random: np.random.Generator
) -> Callable[[Both, float], Both]:
    """Of both sides, at a point."""
    solves: list[Solve] = []
    roots, penalties = objective.curvature_root(point, random), objective.penalties(point.theta)
    for side, (at, root) in enumerate(zip(point.sides, roots)):
        if isinstance(at, PerceptronAt):
            solves.append(of_perceptron(at, root, objective.row_curvatures(point, side), objective.reg[side]))
        elif isinstance(at, LinearPathAt):
            solves.append(of_linear_path(at, root, objective.row_curvatures(point, side), objective.reg[side]))
        else:
            solves.append(of_function(at, root, penalties[side]))

    def solve(residual: Both, damping: float) -> Both:
        left, right = (one(part, damping) for one, part in zip(solves, residual))
        return left, right

    return solve
