"""Coordinate descent on one column of the factors: squared loss, residuals kept on the stored pairs only.

Column t is u on this side and v on the other, and ê_ij = y_ij − Σ_{s≠t} w_is h_js is what it has to explain. With v
fixed every u_i has a closed form (NegSel (3.10), with weights c, targets y, negatives p_i q_j and ỹ, ridge λ_i):

    u_i = num / den,   den = Σ_{j∈Ω_i} (c − p_i q_j) v_j² + p_i Σ_j q_j v_j² + λ_i                             (3.12)
                       num = Σ_{j∈Ω_i} [(c − p_i q_j) ê + p_i q_j (y − ỹ)] v_j + p_i pull_i                    (3.13)
                       pull_i = Σ_j q_j ỹ_ij v_j − Σ_{s≠t} w_is Σ_j q_j h_js v_j                               (3.14)

The sums over all j come in from outside; a row costs O(|Ω_i|) here. Pairs are counted in unsigned integers, which
numba need not check for being negative: measured 2.6 times as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.stored_pairs import OPTIONS

FEWEST_ULPS = 8  # den is a difference: fewer roundings of its terms than this above zero, and it means nothing


@njit(cache=True, **OPTIONS)
def exchange_column(
    start: Any, stop: Any, indptr: Any, indices: Any, old_own: Any, old_other: Any, new_own: Any, new_other: Any,
    residual: Any,
) -> None:  # fmt: skip
    """e_ij += new_i new_j − old_i old_j: put the column just learnt back into the scores and take out the next."""
    for i in range(start, stop):
        old, new = old_own[i], new_own[i]
        first = np.uint64(indptr[i])
        for t in range(np.uint64(indptr[i + 1]) - first):
            e = first + t
            j = np.uint64(indices[e])
            residual[e] += new * new_other[j] - old * old_other[j]


@njit(cache=True, **OPTIONS)
def update_column(
    start: Any, stop: Any, indptr: Any, indices: Any, c: Any, lift: Any, residual: Any, p: Any, q: Any, lam: Any,
    v: Any, square: Any, pull: Any, rounding: Any, u: Any,
) -> None:  # fmt: skip
    """u_i = num / den for rows [start, stop); a row without curvature stays.

    ``lift`` is y − ỹ and ``residual`` ê on the stored pairs, ``square`` is Σ_j q_j v_j², ``pull`` holds just these
    rows and ``rounding`` is the machine epsilon of the factors.
    """
    for i in range(start, stop):
        weight, zero = p[i], v.dtype.type(0.0)
        top, bottom = zero, zero
        first = np.uint64(indptr[i])
        for t in range(np.uint64(indptr[i + 1]) - first):
            e = first + t
            j = np.uint64(indices[e])
            w = weight * q[j]
            top += v[j] * (c[e] * residual[e] - w * (residual[e] - lift[e]))
            bottom += v[j] * v[j] * (c[e] - w)
        spread = np.float64(weight) * square + lam[i]
        curvature = bottom + spread
        if curvature > FEWEST_ULPS * rounding * spread and curvature > 0.0:
            u[i] = (top + np.float64(weight) * pull[i - start]) / curvature


@njit(cache=True, **OPTIONS)
def stored_values(
    start: Any, stop: Any, indptr: Any, indices: Any, c: Any, lift: Any, residual: Any, p: Any, q: Any, values: Any
) -> None:
    """value_i = Σ_{j∈Ω_i} ½ [c e² − p_i q_j (ỹ − s)²] in float64, from the residual e = y − s: ỹ − s = e − lift."""
    for i in range(start, stop):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            gap = np.float64(residual[e])
            other = gap - np.float64(lift[e])
            total += c[e] * gap * gap - np.float64(p[i]) * q[indices[e]] * other * other
        values[i] = 0.5 * total
