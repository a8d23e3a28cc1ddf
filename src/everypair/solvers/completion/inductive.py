"""IMC (Natarajan & Dhillon): inductive matrix completion, factored weights of side information.

    min ½ Σ_Ω (a_iᵀ W Hᵀ c_j − y_ij)² + ½ λ (‖W‖² + ‖H‖²),      W a × k,  H c × k

Each of W and H is a ridge regression while the other is fixed, improved by conjugate gradients from where it stands;
then the two share the singular values of W Hᵀ evenly. No step raises F. A product with the Hessian costs
O(|Ω|k + nak).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from everypair.parallel import single_threaded_blas
from everypair.problem.completion.low_rank import entries_of, sparse_product
from everypair.problem.completion.masked import MaskedProblem
from everypair.types import Array64

CG_STEPS = 10
CG_TOL = 1e-2


@dataclass(frozen=True)
class InductiveState:
    """W, H and F there."""

    left: Array64
    right: Array64
    objective: float | None = None

    @property
    def weights(self) -> Array64:
        """N = W Hᵀ."""
        return np.asarray(self.left @ self.right.T)

    def fresh(self) -> InductiveState:
        """The same place as a start."""
        return InductiveState(self.left, self.right)

    @classmethod
    def leading(cls, problem: MaskedProblem, rank: int) -> InductiveState:
        """The leading singular vectors of AᵀP_Ω(Y)C, at the length that fits Y best."""
        with single_threaded_blas():
            U, s, Vt = scipy.linalg.svd(problem.slope(problem.target), full_matrices=False, check_finite=False)
            k = min(rank, len(s))
            W, H = U[:, :k] * np.sqrt(s[:k]), Vt[:k].T * np.sqrt(s[:k])
            values = problem.residual(None, W @ H.T) + problem.target
        # the length t with the least ‖t · values − Y‖ on Ω, shared by both factors
        fit = float(values @ values)
        size = np.sqrt(max(float(values @ problem.target), 0.0) / fit) if fit > 0 else 1.0
        return cls(W * size, H * size)


class Inductive:
    """One improvement of W and one of H per step."""

    descends = True

    def __init__(self, problem: MaskedProblem, reg: float) -> None:
        self.problem, self.reg = problem, reg
        self.transposed = problem.transposed

    def step(self, state: InductiveState) -> InductiveState:
        """W, then H."""
        side = self.problem.side
        with single_threaded_blas():
            # two ridge regressions, each from where it stands
            W = improved(self.problem, side.left, state.left, _times(side.features, state.right), self.reg)
            H = improved(self.transposed, side.features, state.right, _times(side.left, W), self.reg)
            # the same product at the least norms, and F there
            W, H = balanced(W, H)
            values = entries_of(
                self.problem.observed, _times(side.left, W), _times(side.features, H), self.problem.n_threads
            )
            residual = self.problem.centred(values) - self.problem.target
            value = 0.5 * float(residual @ residual) + 0.5 * self.reg * float(np.sum(W * W) + np.sum(H * H))
        return InductiveState(W, H, value)


def balanced(W: Array64, H: Array64) -> tuple[Array64, Array64]:
    """The factors of W Hᵀ with the least ‖W‖² + ‖H‖², twice its nuclear norm: alternation finds them slowly."""
    (Q, R), (P, S) = (scipy.linalg.qr(factor, mode="economic", check_finite=False) for factor in (W, H))
    U, values, Vt = scipy.linalg.svd(R @ S.T, check_finite=False, full_matrices=False)
    roots = np.sqrt(values)
    return np.asarray(Q @ (U * roots)), np.asarray(P @ (Vt.T * roots))


def improved(problem: MaskedProblem, features: Array64 | None, start: Array64, other: Array64, reg: float) -> Array64:
    """Conjugate gradients on ½‖Π(a_iᵀ W f_j − y)‖² + ½ λ‖W‖² in W, f = ``other``; rows are those of the problem."""
    observed, threads = problem.observed, problem.n_threads

    def adjoint(values: Array64) -> Array64:
        return _transposed_times(features, sparse_product(observed, values, other, threads))

    def product(W: Array64) -> Array64:
        return adjoint(problem.centred(entries_of(observed, _times(features, W), other, threads))) + reg * W

    return _conjugate(product, adjoint(problem.target), start)


def _conjugate(product: Callable[[Array64], Array64], right: Array64, start: Array64) -> Array64:
    W = start
    residual = right - product(W)
    direction, square = residual, float(np.sum(residual * residual))
    enough = CG_TOL**2 * square
    for _ in range(CG_STEPS):
        if square <= enough or square == 0:
            break
        # exact line search along the direction
        image = product(direction)
        length = square / float(np.sum(direction * image))
        W = W + length * direction
        residual = residual - length * image
        # the next direction is conjugate to all before
        square, before = float(np.sum(residual * residual)), square
        direction = residual + (square / before) * direction
    return W


def _times(features: Array64 | None, weights: Array64) -> Array64:
    return weights if features is None else np.asarray(features @ weights)


def _transposed_times(features: Array64 | None, matrix: Array64) -> Array64:
    return matrix if features is None else np.asarray(features.T @ matrix)
