"""The ridge of a kernel regression by generalised cross-validation, every λ at once from two Krylov spaces.

    GCV(λ) = N ‖a(λ)‖² / τ(λ)²,   a(λ) = (K + λI)⁻¹ y,   τ(λ) = zᵀ(K + λI)⁻¹ z

N is the number of targets, z has random signs, so that τ is the trace of (K + λI)⁻¹ on average (Golub, Heath and Wahba,
1979; Girard, 1989). K enters by products alone: k steps of Lanczos from b give a tridiagonal T (k × k) with

    bᵀ f(K) b ≈ ‖b‖² e₁ᵀ f(T) e₁,      f(t) = (t + λ)⁻² for y,  (t + λ)⁻¹ for z

exactly so once k is the number of different eigenvalues (Golub and von Matt, 1997): 2k products for all λ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy.linalg

from everypair.problem.gram import inner
from everypair.solvers.kernel_ridge.products import Matrix
from everypair.types import Array64

Product = Callable[[Matrix], Matrix]
STEPS = 60
EVERY = 10  # steps after which the quadratures are looked at,
ENOUGH = 1e-2  # and the relative change of all of them that ends the walk


def random_signs(size: int, seed: int = 0) -> Array64:
    """z.

    >>> random_signs(4).tolist()
    [1.0, -1.0, -1.0, -1.0]
    """
    return np.where(np.random.default_rng(seed).random(size) < 0.5, -1.0, 1.0)


def gcv_scores(
    product: Product, targets: Matrix, probe: Matrix, ridges: Sequence[float], steps: int = STEPS
) -> Array64:
    """Return GCV(λ) of every λ in ``ridges``; ``product`` multiplies by K, without a ridge.

    >>> K = np.diag([4.0, 1.0, 0.0])
    >>> gcv_scores(lambda x: K @ x, np.array([2.0, 1.0, 1.0]), np.ones(3), [1.0]).round(3).tolist()
    [1.464]
    """
    square = quadratures(product, targets, ridges, 2, steps)
    trace = quadratures(product, probe, ridges, 1, steps)
    return np.asarray(len(targets) * square / trace**2)


def quadratures(product: Product, b: Matrix, ridges: Sequence[float], power: int, steps: int = STEPS) -> Array64:
    """bᵀ(K + λI)^−power b for every λ.

    >>> quadratures(lambda x: np.array([4.0, 1.0]) * x, np.ones(2), [1.0], power=1).round(3).tolist()
    [0.7]
    """
    size = inner(b[:, None], b[:, None])
    if size == 0:
        return np.zeros(len(ridges))
    now, before = b / math.sqrt(size), np.zeros_like(b)
    alphas: list[float] = []
    betas: list[float] = []
    values = np.zeros(len(ridges))
    for step in range(1, min(steps, len(b)) + 1):
        image = product(now)
        alphas.append(inner(now[:, None], image[:, None]))
        image = image - alphas[-1] * now - (betas[-1] if betas else 0.0) * before
        length = math.sqrt(inner(image[:, None], image[:, None]))
        ended = length <= 1e-12 * max(map(abs, alphas)) or step == min(steps, len(b))
        if ended or step % EVERY == 0:
            last, values = values, size * _first_entries(alphas, betas, ridges, power)
            if ended or np.all(np.abs(values - last) <= ENOUGH * np.abs(values)):
                break
        betas.append(length)
        before, now = now, image / length
    return values


def _first_entries(alphas: list[float], betas: list[float], ridges: Sequence[float], power: int) -> Array64:
    """e₁ᵀ(T + λI)^−power e₁ for every λ."""
    eigenvalues, vectors = scipy.linalg.eigh_tridiagonal(np.array(alphas), np.array(betas))
    shares = vectors[0] ** 2
    shifted = np.maximum(eigenvalues, 0.0) + np.asarray(ridges, np.float64)[:, None]
    return np.asarray((shares / shifted**power).sum(axis=1))
