"""Stored pairs of two towers that move together, and Adam's step: inner loops over rows and over parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.indexed import FAST, accumulate, dots

PAIRS = 64  # at a time: their rows v_j are still in the cache when they are added up


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def joint_product(
    start: Any, stop: Any, indptr: Any, indices: Any, t: Any, W: Any, H: Any, U: Any, V: Any, z: Any, out: Any
) -> None:
    """z_e = t_e (w_i · v_j + u_i · h_j) of every stored pair, and out_i = Σ_{j∈Ω_i} z_e v_j."""
    rank = V.shape[1]
    w, u, total = np.empty(rank, V.dtype), np.empty(rank, V.dtype), np.empty(rank, V.dtype)
    other = np.empty(PAIRS, V.dtype)
    for i in range(start, stop):
        for l in range(rank):
            w[l] = W[i, l]
            u[l] = U[i, l]
            total[l] = 0.0
        for first in range(indptr[i], indptr[i + 1], PAIRS):
            count = min(PAIRS, indptr[i + 1] - first)
            own = z[first : first + count]
            dots(V, indices, first, 0, count, w, own)
            dots(H, indices, first, 0, count, u, other)
            for e in range(count):
                own[e] = t[first + e] * (own[e] + other[e])
            accumulate(V, indices, first, 0, count, own, total)
        for l in range(rank):
            out[i, l] = total[l]


@njit(cache=True, nogil=True, error_model="numpy")
def adam_step(
    x: Any, gradient: Any, means: Any, squares: Any, average: Any, b1: Any, b2: Any, rate: Any, root: Any, small: Any,
    share: Any,
) -> None:  # fmt: skip
    """m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², x ← x − δ m / (√v/root + ε), θ ← θ + share (x − θ), in place.

    δ holds the correction of m already, and ``root`` is √(1 − β₂^t). All are vectors of one dtype, all numbers too.
    """
    one = x.dtype.type(1)
    for e in range(len(x)):
        g = gradient[e]
        m = b1 * means[e] + (one - b1) * g
        v = b2 * squares[e] + (one - b2) * g * g
        moved = x[e] - rate * m / (np.sqrt(v) / root + small)
        means[e], squares[e], x[e] = m, v, moved
        average[e] += share * (moved - average[e])
