"""Loss terms of every pair of some rows, stored or not, from a dense block of their scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.losses import CUSTOM, loss_terms
from everypair.kernels.stored_pairs import OPTIONS

Kernel = Callable[..., None]


@cache
def every_terms(loss_code: int, imputed: bool, custom: tuple[Any, Any, Any] | None = None) -> Kernel:
    """Return the kernel that evaluates value_i = Σ_j w ℓ(x, s), r = w ℓ' and t = w ℓ'' for rows [start, stop).

    (w, x) is (c, y) on a stored pair and (p_i q_j, z) elsewhere. ``score``, ``values``, r and t have one row for each
    of these rows, and one column for every j; so has z where it is ``imputed``, otherwise z[0, 0] serves all.
    """
    custom_value: Any
    custom_slope: Any
    custom_curvature: Any
    custom_value, custom_slope, custom_curvature = custom or (None, None, None)

    @njit(cache=custom is None, **OPTIONS)
    def terms(start, stop, indptr, indices, c, y, z, p, q, score, values, r, t):  # type: ignore[no-untyped-def]
        columns = np.uint64(len(q))
        weights, targets = np.empty(columns), np.empty(columns)
        for i in range(start, stop):
            b = np.uint64(i - start)
            for j in range(columns):
                weights[j] = np.float64(p[i]) * np.float64(q[j])
                targets[j] = z[b, j] if imputed else z[0, 0]
            for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                column = np.uint64(indices[e])
                weights[column] = c[e]
                targets[column] = y[e]
            value = 0.0
            for j in range(columns):
                s = np.float64(score[b, j])
                if loss_code == CUSTOM:
                    loss = custom_value(targets[j], s)
                    slope = custom_slope(targets[j], s)
                    curvature = custom_curvature(targets[j], s)
                else:
                    loss, slope, curvature = loss_terms(loss_code, targets[j], s)
                value += weights[j] * loss
                r[b, j] = weights[j] * slope
                t[b, j] = weights[j] * curvature
            values[b] = value

    return terms
