"""Exact Newton steps on blocks of a row's coordinates, in the eigenbasis of the other side's Gram matrix.

Row i has the objective of :mod:`everypair.kernels.row_newton`. For one block B of its coordinates after the other,

    (Σ_Ω τ_j v_B v_Bᵀ + D_B) step = −(Σ_Ω r_j v_B + D_B u_B − p_i b_B),     D = diag(p_i Σ + λ_i)

is solved by Cholesky's factorization, at O(|Ω_i| |B|² + |B|³) a block, and the step is cut until the row's objective
does not rise. One block of all coordinates is alternating least squares (for the squared loss: the exact optimum);
smaller blocks are a subspace method that costs O(|Ω_i| k |B|) a sweep and serves every loss.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.indexed import FAST, INLINED, dots
from everypair.kernels.row_newton import ARMIJO, MAX_HALVINGS, VALUE_ROUNDING, Kernel
from everypair.kernels.terms import row_terms, row_value

PIVOT_FLOOR = 1e-12  # of the largest diagonal entry: below it a direction counts as without curvature and stays


@njit(**INLINED)
def solve_spd(size: Any, matrix: Any, vector: Any, largest: Any) -> None:
    """Overwrite ``vector`` by matrix⁻¹ vector and the lower triangle of ``matrix`` by its Cholesky factor."""
    for l in range(size):
        for a in range(l):
            factor = matrix[l, a]
            for e in range(a):
                factor -= matrix[l, e] * matrix[a, e]
            matrix[l, a] = factor * matrix[a, a]
        pivot = matrix[l, l]
        for e in range(l):
            pivot -= matrix[l, e] * matrix[l, e]
        matrix[l, l] = 1.0 / np.sqrt(pivot) if pivot > PIVOT_FLOOR * largest else 0.0
    for l in range(size):
        total = vector[l]
        for e in range(l):
            total -= matrix[l, e] * vector[e]
        vector[l] = total * matrix[l, l]
    for l in range(size - 1, -1, -1):
        total = vector[l]
        for e in range(l + 1, size):
            total -= matrix[e, l] * vector[e]
        vector[l] = total * matrix[l, l]


@njit(**INLINED)
def normal_matrix(
    size: Any,
    begin: Any,
    V: Any,
    indices: Any,
    first: Any,
    count: Any,
    slope: Any,
    curve: Any,
    pulled: Any,
    matrix: Any,
) -> None:
    """Add Σ_t r_t v_B to ``pulled`` and Σ_t τ_t v_B v_Bᵀ to ``matrix``, four pairs at a time."""
    whole = count - count % 4
    for t in range(0, whole, 4):
        j0, j1 = np.uint64(indices[first + t]), np.uint64(indices[first + t + 1])
        j2, j3 = np.uint64(indices[first + t + 2]), np.uint64(indices[first + t + 3])
        for l in range(size):
            a0, a1, a2, a3 = V[j0, begin + l], V[j1, begin + l], V[j2, begin + l], V[j3, begin + l]
            pulled[l] += (slope[t] * a0 + slope[t + 1] * a1) + (slope[t + 2] * a2 + slope[t + 3] * a3)
            a0, a1, a2, a3 = curve[t] * a0, curve[t + 1] * a1, curve[t + 2] * a2, curve[t + 3] * a3
            for e in range(size):
                matrix[l, e] += (a0 * V[j0, begin + e] + a1 * V[j1, begin + e]) + (
                    a2 * V[j2, begin + e] + a3 * V[j3, begin + e]
                )
    for t in range(whole, count):
        j0 = np.uint64(indices[first + t])
        for l in range(size):
            a0 = V[j0, begin + l]
            pulled[l] += slope[t] * a0
            a0 *= curve[t]
            for e in range(size):
                matrix[l, e] += a0 * V[j0, begin + e]


@cache
def block_solver(block: int) -> Kernel:
    """Return the kernel for blocks of ``block`` coordinates, which divides the rank; its arguments are those of
    :func:`everypair.kernels.row_newton.solve_rows`.

    The size of a block is a constant: known at run time only, it costs 2 to 3 times as much. The ``newton_steps`` are
    sweeps over all blocks; ``cg_steps`` and ``cg_tol`` are of no use here.
    """
    B = block

    @njit(nogil=True, error_model="numpy", fastmath=FAST, cache=True)
    def solve_row_blocks(  # type: ignore[no-untyped-def]
        loss, start, stop, indptr, indices, c, y, z, V, q, p, lam, sigma, free, b, U, values, moved,
        newton_steps, cg_steps, newton_tol, cg_tol, rounding, scratch,
    ):  # fmt: skip
        K = V.shape[1]
        score, delta, slope, curve, weight = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
        matrix = np.empty((B, B), np.float64)
        step = np.empty(B, np.float64)
        accumulated = np.empty((B, B), V.dtype)
        pulled = np.empty(B, V.dtype)
        u = np.empty(K, V.dtype)
        for i in range(start, stop):
            first = indptr[i]
            d = indptr[i + 1] - first
            steepest = 0.0
            for l in range(K):
                u[l] = U[i - start, l]
                steepest = max(steepest, np.float64(p[i]) * sigma[l] + lam[i])
            for t in range(d):
                weight[t] = p[i] * q[indices[first + t]]
            dots(V, indices, first, 0, d, u, score)
            value = 0.0
            first_norm = 0.0
            moved[i - start] = False
            for sweep in range(newton_steps):
                norm = 0.0
                for begin in range(0, K, B):
                    # the block's gradient and Hessian, in float64 and without the columns that are not free
                    value = row_terms(loss[0], len(indices), first, 0, d, c, y, z, weight, score, slope, curve)
                    for l in range(B):
                        pulled[l] = 0.0
                        for e in range(B):
                            accumulated[l, e] = 0.0
                    normal_matrix(B, begin, V, indices, first, d, slope, curve, pulled, accumulated)
                    largest = 0.0
                    for l in range(B):
                        for e in range(l):
                            matrix[l, e] = accumulated[l, e] * free[begin + l] * free[begin + e]
                        diagonal = np.float64(p[i]) * sigma[begin + l] + lam[i]
                        slant = diagonal * u[begin + l] - np.float64(b[i - start, begin + l])
                        matrix[l, l] = accumulated[l, l] + diagonal if free[begin + l] > 0 else 1.0
                        step[l] = -(pulled[l] + slant) * free[begin + l]
                        largest = max(largest, matrix[l, l])
                    # Newton's step, and what it promises
                    descent = 0.0
                    for l in range(B):
                        pulled[l] = -step[l]
                    solve_spd(B, matrix, step, largest)
                    linear, square, doubt, u_norm, step_norm = 0.0, 0.0, 0.0, 0.0, 0.0
                    for l in range(B):
                        diagonal = np.float64(p[i]) * sigma[begin + l] + lam[i]
                        rise = (diagonal * u[begin + l] - np.float64(b[i - start, begin + l])) * step[l]
                        descent += pulled[l] * step[l]
                        linear += rise
                        doubt += abs(rise)
                        square += diagonal * step[l] * step[l]
                        u_norm += u[begin + l] * u[begin + l]
                        step_norm += step[l] * step[l]
                    norm -= descent
                    # what rounding may hide, as in everypair.kernels.row_newton
                    doubt += steepest * np.sqrt(u_norm * step_norm)
                    square_doubt = square + steepest * step_norm
                    for t in range(d):
                        j = np.uint64(indices[first + t])
                        shift = 0.0
                        for l in range(B):
                            shift += V[j, begin + l] * step[l]
                        delta[t] = shift
                        doubt += abs(slope[t] * shift)
                        square_doubt += weight[t] * shift * shift
                    if not -descent > 4 * rounding * doubt:
                        continue
                    # line search: halve the step until the row's value falls by more than that
                    length = 1.0
                    for _ in range(MAX_HALVINGS):
                        new_value = row_value(loss[1], len(indices), first, 0, d, c, y, z, weight, score, delta, length)
                        change = new_value - value + length * linear + 0.5 * length * length * square
                        change += rounding * length * (doubt + length * square_doubt)
                        if change <= ARMIJO * length * descent + VALUE_ROUNDING * abs(value):
                            value = new_value
                            moved[i - start] = True
                            for l in range(B):
                                u[begin + l] += length * step[l]
                            for t in range(d):
                                score[t] += length * delta[t]
                            break
                        length *= 0.5
                if sweep == 0:
                    first_norm = norm
                if not norm > newton_tol * newton_tol * first_norm:
                    break
            for l in range(K):
                U[i - start, l] = u[l]
            values[i - start] = value

    return solve_row_blocks
