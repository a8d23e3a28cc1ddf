"""Kernel ridge regression of the observed entries of a matrix, over the Kronecker product of both sides' kernels.

    A = argmin ½‖P_Ω(Y − K_r A K_c)‖² + ½ λ tr(AᵀK_r A K_c),   A = 0 off Ω
    (K_Ω + λI) a = y,      K_Ω = P_Ω (K_r ⊗ K_c) P_Ω,  a and y: the entries of Ω, row-major
    F = K_r A K_c          the completed matrix

K_Ω is never formed: a product scatters a into an n × m matrix, multiplies it by K_r and K_c and gathers Ω again,
2nm(n + m) floating-point operations (4nm(p + q) where the kernels have factors). Conjugate gradients need some twenty
to a hundred of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from everypair.data.observed import Observed
from everypair.parallel import single_threaded_blas
from everypair.problem.gram import inner
from everypair.solvers.conjugate import ConjugateGradient
from everypair.solvers.kernel_ridge.products import Matrix, SideKernel

Watch = Callable[[int], None]  # is told the number of products so far


@dataclass(frozen=True)
class Coefficients:
    """a for every right-hand side (Ω × s), and how many products it took."""

    values: Matrix
    products: int


@dataclass(frozen=True)
class MaskedKernelRidge:
    """The system (K_Ω + λI) a = y of the entries of ``pattern``.

    >>> from everypair.solvers.kernel_ridge.products import DenseKernel, IdentityKernel
    >>> pattern = Observed.from_matrix([[1.0, np.nan], [0.0, 2.0]])
    >>> alike = DenseKernel(np.array([[1.0, 0.5], [0.5, 1.0]]))  # both rows are alike by half
    >>> system = MaskedKernelRidge(pattern, alike, IdentityKernel(2), ridge=1.0, n_threads=1)
    >>> a = system.solve(pattern.values[:, None], tol=1e-12).values
    >>> system.completed(a[:, 0]).round(3).tolist()
    [[0.467, 0.5], [0.133, 1.0]]
    """

    pattern: Observed
    left: SideKernel
    right: SideKernel
    ridge: float
    n_threads: int

    def completed(self, a: Matrix) -> Matrix:
        """K_r A K_c, n × m numbers."""
        spread = np.zeros(self.pattern.shape, a.dtype)
        spread[self.pattern.rows, self.pattern.indices] = a
        return self.right.after(self.left.times(spread, self.n_threads), self.n_threads)

    def product(self, a: Matrix) -> Matrix:
        """(K_Ω + λI) a."""
        return np.asarray(self.completed(a)[self.pattern.rows, self.pattern.indices] + self.ridge * a)

    def solve(
        self,
        targets: Matrix,
        start: Matrix | None = None,
        tol: float = 1e-3,
        max_products: int = 1000,
        watch: Watch | None = None,
    ) -> Coefficients:
        """Solve for every column of ``targets`` (Ω × s) until ‖residual‖ ≤ tol ‖column‖, from ``start`` or zero."""
        products = 0
        out = np.zeros_like(targets) if start is None else start.copy()
        with single_threaded_blas():
            for column in range(targets.shape[1]):
                a, goal = out[:, [column]], targets[:, [column]]
                gradient = -goal if start is None else self.product(a[:, 0])[:, None] - goal
                first, size = math.sqrt(inner(gradient, gradient)), math.sqrt(inner(goal, goal))
                method = ConjugateGradient(gradient, _as_it_is, tol=tol * size / first if first > 0 else 1.0)
                while method.wants_more(max_products):
                    method.advance(self.product(method.direction[:, 0])[:, None], _as_it_is)
                    products += 1
                    if watch is not None:
                        watch(products)
                out[:, [column]] = a + method.step
        return Coefficients(out, products)


def _as_it_is(residual: Matrix) -> Matrix:
    return residual
