"""Newton–CG on many independent rows, in the eigenbasis of the other side's Gram matrix.

Row i minimises, with s_j = u·v_j over its stored pairs Ω_i and w_j = p_i q_j,

    f(u) = Σ_{j∈Ω_i} [ c_j ℓ(y_j, s_j) − ½ w_j (z_j − s_j)² ] + ½ p_i uᵀΣu − p_i b_i·u + ½ λ_i ‖u‖²

where Σ = diag(sigma) is VᵀQV in its eigenbasis, so the all-pairs term and the ridge are diagonal. One Newton step:

    g = Σ_Ω r_j v_j + D u − p_i b_i,    H = Σ_Ω t_j v_j v_jᵀ + D,     D = diag(p_i Σ + λ_i)
    r_j = c_j ℓ' − w_j (s_j − z_j),   t_j = c_j ℓ'' − w_j

H·step = −g is solved by a few conjugate-gradient steps preconditioned with D, at O(|Ω_i| k) each. The step is cut
until the row's objective falls by more than rounding could hide: a row that stores nearly all of its weight has its
curvature left over from a difference of large numbers, and a step along it cannot be trusted. Scores and the line
search reuse the products v_j·direction of CG, so neither touches the factors again. Coordinates with free = 0 (the
constant column of a bias) never move.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from everypair.kernels.indexed import FAST, accumulate, dots, normal_product
from everypair.kernels.terms import row_terms, row_value

FLOOR = 1e-6  # directions the other side hardly spans are preconditioned as if they weighed this share of the largest
MAX_HALVINGS = 30
ARMIJO = 1e-4  # Nocedal and Wright, Numerical Optimization, section 3.1
VALUE_ROUNDING = 2e-15  # of a row's sum over stored pairs, which is kept in float64
BATCH_BYTES = 16384  # of rows v_j: half of a small first-level cache

Kernel = Callable[..., None]


@njit(nogil=True, error_model="numpy", fastmath=FAST, cache=True)
def solve_rows(  # type: ignore[no-untyped-def]
    loss,  # addresses of its loops, see everypair.kernels.terms
    start,  # rows [start, stop) of indptr; U, b, values and moved hold just these rows
    stop,
    indptr,
    indices,
    c,  # one number for each stored pair, or as many as the longest row has, all the same; so is y
    y,
    z,  # one number for each stored pair, or a single one for all
    V,  # other side, rotated
    q,
    p,
    lam,
    sigma,
    free,
    b,
    U,  # this side, rotated, updated in place
    values,  # out: Σ_Ω [c ℓ − ½ w (z − s)²] of each row at its new u
    moved,  # out: whether u is new
    newton_steps,
    cg_steps,
    newton_tol,
    cg_tol,
    rounding,  # one unit of it: the machine epsilon of the factors
    scratch,  # scratch: 6 × the longest row
):
    """Take Newton steps with each of the rows, for any loss and rank."""
    K = V.shape[1]
    batch = max(8, BATCH_BYTES // (8 * K * V.itemsize) * 8)
    score, delta, product, slope, curve, weight = (
        scratch[0],
        scratch[1],
        scratch[2],
        scratch[3],
        scratch[4],
        scratch[5],
    )
    diagonal = np.empty(K, V.dtype)
    inverse = np.empty(K, V.dtype)
    gradient = np.empty(K, V.dtype)
    residual = np.empty(K, V.dtype)
    direction = np.empty(K, V.dtype)
    step = np.empty(K, V.dtype)
    image = np.empty(K, V.dtype)
    u = np.empty(K, V.dtype)
    for i in range(start, stop):
        first = indptr[i]
        d = indptr[i + 1] - first
        largest = V.dtype.type(0.0)
        for l in range(K):
            u[l] = U[i - start, l]
            diagonal[l] = p[i] * sigma[l] + lam[i]
            largest = max(largest, diagonal[l])
        if d == 0:  # the all-pairs term and the ridge alone: exact, and the origin where both vanish
            for l in range(K):
                pull = b[i - start, l]
                if free[l] > 0 and diagonal[l] > rounding * largest:
                    U[i - start, l] = pull / diagonal[l]
                elif free[l] > 0 and 0.5 * diagonal[l] * u[l] * u[l] >= pull * u[l]:
                    U[i - start, l] = 0.0
            values[i - start] = 0.0
            moved[i - start] = True
            continue
        for l in range(K):
            inverse[l] = free[l] / max(diagonal[l], FLOOR * largest) if largest > 0 else free[l]
        for t in range(d):
            weight[t] = p[i] * q[indices[first + t]]
        moved[i - start] = False
        first_norm = 0.0
        value = 0.0
        for newton in range(newton_steps):
            # gradient g, slopes r and curvatures t, and the row's value at u
            for l in range(K):
                gradient[l] = diagonal[l] * u[l] - b[i - start, l]
            value = 0.0
            for begin in range(0, d, batch):  # rows v_j are still at hand when their slopes are known
                end = min(begin + batch, d)
                if newton == 0:
                    dots(V, indices, first, begin, end, u, score)
                value += row_terms(loss[0], len(indices), first, begin, end, c, y, z, weight, score, slope, curve)
                accumulate(V, indices, first, begin, end, slope, gradient)
            # conjugate gradients on H·step = −g from 0, preconditioned with D
            norm = 0.0
            for l in range(K):
                residual[l] = -gradient[l]
                direction[l] = inverse[l] * residual[l]
                step[l] = 0.0
                norm += residual[l] * direction[l]
            if newton == 0:
                first_norm = norm
            if not norm > newton_tol * newton_tol * first_norm:
                break
            cg_norm = norm
            for t in range(d):
                delta[t] = 0.0
            for cg in range(cg_steps):
                spread = 0.0
                for l in range(K):
                    image[l] = diagonal[l] * direction[l]
                    spread += image[l] * direction[l]
                normal_product(V, indices, first, d, curve, direction, product, image)
                bend = 0.0
                for l in range(K):
                    bend += image[l] * direction[l]
                if not bend > rounding * spread:  # no curvature left: the preconditioned gradient is the step
                    if cg == 0:
                        for l in range(K):
                            step[l] = direction[l]
                        for t in range(d):
                            delta[t] = product[t]
                    break
                alpha = V.dtype.type(cg_norm / bend)
                new_norm = 0.0
                for l in range(K):
                    step[l] += alpha * direction[l]
                    residual[l] -= alpha * image[l]
                    new_norm += residual[l] * residual[l] * inverse[l]
                for t in range(d):
                    delta[t] += alpha * product[t]
                if not new_norm > cg_tol * cg_tol * norm:
                    break
                beta = V.dtype.type(new_norm / cg_norm)
                cg_norm = new_norm
                for l in range(K):
                    direction[l] = inverse[l] * residual[l] + beta * direction[l]
            # what the step promises, and how far rounding may be wrong about it
            descent = 0.0
            linear = 0.0
            square = 0.0
            doubt = 0.0
            u_norm = 0.0
            step_norm = 0.0
            for l in range(K):
                rise = (diagonal[l] * u[l] - b[i - start, l]) * step[l]
                descent += gradient[l] * step[l]
                linear += rise
                doubt += abs(rise)
                square += diagonal[l] * step[l] * step[l]
                u_norm += u[l] * u[l]
                step_norm += step[l] * step[l]
            # V is rotated up to rounding, so the all-pairs term is diagonal up to rounding · its largest entry
            doubt += largest * np.sqrt(u_norm * step_norm)
            square_doubt = square + largest * step_norm
            for t in range(d):
                doubt += abs(slope[t] * delta[t])
                square_doubt += weight[t] * delta[t] * delta[t]
            if not -descent > 4 * rounding * doubt:  # as low as the precision of the factors can tell
                break
            # line search: halve the step until the row's value falls by more than that
            length = 1.0
            accepted = False
            for _ in range(MAX_HALVINGS):
                new_value = row_value(loss[1], len(indices), first, 0, d, c, y, z, weight, score, delta, length)
                change = new_value - value + length * linear + 0.5 * length * length * square
                change += rounding * length * (doubt + length * square_doubt)
                if change <= ARMIJO * length * descent + VALUE_ROUNDING * abs(value):
                    accepted = True
                    break
                length *= 0.5
            if not accepted:
                break
            value = new_value
            moved[i - start] = True
            for l in range(K):
                u[l] += length * step[l]
            for t in range(d):
                score[t] += length * delta[t]
        for l in range(K):
            U[i - start, l] = u[l]
        values[i - start] = value
