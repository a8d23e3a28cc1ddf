"""The stored pairs of one row inside a row-wise kernel: value, slopes and curvatures at its scores.

    value = Σ_t [c_t ℓ(y_t, s_t) − ½ w_t (z_t − s_t)²],   r_t = c_t ℓ' − w_t (s_t − z_t),   τ_t = c_t ℓ'' − w_t

``own_value``, ``own_slope`` and ``own_curvature`` are None for a built-in loss, chosen by ``code``, or the user's
compiled functions; ``imputed`` says whether z holds one entry per pair. All of them are compile-time constants: these
functions are always inlined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.indexed import INLINED
from everypair.kernels.losses import loss_terms, loss_value


@njit(**INLINED)
def row_terms(
    code: Any, own_value: Any, own_slope: Any, own_curvature: Any, imputed: Any, first: Any, begin: Any, end: Any,
    c: Any, y: Any, z: Any, weight: Any, score: Any, slope: Any, curve: Any,
) -> Any:  # fmt: skip
    """Fill slopes and curvatures at ``score`` for the pairs begin ≤ t < end and return their value there."""
    value = 0.0
    first = np.uint64(first)  # unsigned positions need no check for counting from the end, which would bar vectors
    for t in range(np.uint64(begin), np.uint64(end)):
        target, s = np.float64(y[first + t]), np.float64(score[t])
        cost, w = np.float64(c[first + t]), np.float64(weight[t])
        if own_value is None:
            loss, first_derivative, second_derivative = loss_terms(code, target, s)
        else:
            loss, first_derivative, second_derivative = (
                own_value(target, s),
                own_slope(target, s),
                own_curvature(target, s),
            )
        gap = s - (z[first + t] if imputed else z[0])
        value += cost * loss - 0.5 * w * gap * gap
        slope[t] = cost * first_derivative - w * gap
        curve[t] = cost * second_derivative - w
    return value


@njit(**INLINED)
def row_value(
    code: Any, own_value: Any, imputed: Any, first: Any, count: Any, c: Any, y: Any, z: Any, weight: Any, score: Any,
    delta: Any, length: Any,
) -> Any:  # fmt: skip
    """Return the value at score + length · delta."""
    value = 0.0
    first = np.uint64(first)  # unsigned positions need no check for counting from the end, which would bar vectors
    for t in range(np.uint64(count)):
        target, s = np.float64(y[first + t]), np.float64(score[t]) + length * np.float64(delta[t])
        if own_value is None:
            loss = loss_value(code, target, s)
        else:
            loss = own_value(target, s)
        gap = s - (z[first + t] if imputed else z[0])
        value += np.float64(c[first + t]) * loss - 0.5 * np.float64(weight[t]) * gap * gap
    return value
