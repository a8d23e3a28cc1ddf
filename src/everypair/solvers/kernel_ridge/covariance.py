"""The covariance of the columns of a matrix with holes, learnt where they have no features: EM with one simulation.

    Y_Ω = (F + E)_Ω,   F ~ N(0, K_r ⊗ K_c),   E ~ N(0, λI),   a = (K_Ω + λI)⁻¹ y
    K_c ← K_c + η K_c (AᵀK_rA − ZᵀK_rZ) K_c / n

Z solves the same system for values simulated from the model: what AᵀK_rA is on average where K_c is right, so that the
difference is the slope of the likelihood (η = 1 is EM's step). After each step K_c is made positive and shrunk to I by
as little as keeps rare columns steady.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from everypair.parallel import single_threaded_blas
from everypair.solvers.kernel_ridge.masked import MaskedKernelRidge, Watch
from everypair.solvers.kernel_ridge.products import DenseKernel, Matrix

STEPS = 4
LENGTH = 2.0  # η
SHRINK = 0.02
LEAST = 1e-3  # eigenvalue
TOL = 1e-2  # of the solutions on the way


def learn_covariance(
    system: MaskedKernelRidge, targets: Matrix, seed: int = 0, watch: Watch | None = None
) -> tuple[DenseKernel, Matrix]:
    """Return K_c and the a of the last step but one, from which to solve with it; ``system.right`` is the start."""
    random, (n, m), pattern = np.random.default_rng(seed), system.pattern.shape, system.pattern
    covariance = DenseKernel(system.right.times(np.eye(m), system.n_threads))
    a = np.zeros_like(targets)
    for _ in range(STEPS):
        system = replace(system, right=covariance)
        # values of the model's own
        rows = system.left.drawn(random, m, system.n_threads)
        simulated = rows @ _root(covariance.matrix).T
        noise = math.sqrt(system.ridge) * random.standard_normal(pattern.nnz)
        z = simulated[pattern.rows, pattern.indices] + noise
        # both solutions, and how far their second moments are apart
        a = system.solve(targets[:, None], a[:, None], TOL, watch=watch).values[:, 0]
        own = system.solve(z[:, None], tol=TOL, watch=watch).values[:, 0]
        gap = _moments(system, a) - _moments(system, own)
        with single_threaded_blas():
            K = covariance.matrix
            moved = K + LENGTH / n * (K @ gap @ K)
            eigenvalues, vectors = np.linalg.eigh((moved + moved.T) / 2)
            moved = (vectors * np.maximum(eigenvalues, LEAST)) @ vectors.T
        covariance = DenseKernel((moved + SHRINK * np.eye(m)) / (1 + SHRINK))
    return covariance, a


def _moments(system: MaskedKernelRidge, a: Matrix) -> Matrix:
    """AᵀK_rA."""
    A = np.zeros(system.pattern.shape)
    A[system.pattern.rows, system.pattern.indices] = a
    with single_threaded_blas():
        return np.asarray(A.T @ system.left.times(A, system.n_threads))


def _root(K: Matrix) -> Matrix:
    with single_threaded_blas():
        return np.linalg.cholesky(K)
