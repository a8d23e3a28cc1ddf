"""Pointwise losses inside kernels: value ℓ(y, s), slope ∂ℓ/∂s and curvature ∂²ℓ/∂s² by an integer code.

squared        ½ (y − s)²
logistic       log(1 + e^{−ys})
squared hinge  ½ max(0, 1 − ys)²

A kernel chooses its loss by a compile-time integer, because numba's disk cache misses whenever a jitted function
sits in a kernel's closure. All arithmetic is float64 and free of branches, so that loops over a row's pairs
vectorise; the exponential and the logarithm are therefore written out here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

SQUARED, LOGISTIC, SQUARED_HINGE, CUSTOM = 0, 1, 2, 3

STRICT = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract"}, "forceinline": True}

_LOG2E = 1.4426950408889634
_SQRT2 = 1.4142135623730951
_LN2 = 0.6931471805599453
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to an integer kept in the low bits
_EXPONENT_BIAS = np.int64(1023)
_MANTISSA_BITS = np.int64(52)


@njit(**STRICT)
def exp_negative(x: Any) -> Any:
    """e^x for x ≤ 0 to 2 units in the last place: x = n ln 2 + r, |r| ≤ ½ ln 2, Taylor's polynomial in r.

    No reassociation here (and never inherited from a caller): (x + _ROUND) − _ROUND must not be simplified. Hence short
    chains of products side by side, because a vector waits for its last one, and factors 1/n, because a quotient by n
    would stay a division.
    """
    x = max(x, -708.0)
    rounded = x * _LOG2E + _ROUND
    n = rounded - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    first = (1 + r) + r2 * (1 / 2 + r * (1 / 6))
    second = (1 / 24 + r * (1 / 120)) + r2 * (1 / 720 + r * (1 / 5040))
    third = (1 / 40320 + r * (1 / 362880)) + r2 * (1 / 3628800 + r * (1 / 39916800))
    poly = (first + r4 * second) + (r4 * r4) * (third + r4 * (1 / 479001600))
    bits = np.float64(rounded).view(np.int64)
    power = np.int64((bits + _EXPONENT_BIAS) << _MANTISSA_BITS).view(np.float64)
    return poly * power


@njit(**STRICT)
def log_one_plus(x: Any) -> Any:
    """log(1 + x) for 0 ≤ x ≤ 1 to 8e-16 relative: above √2 − 1 take out ½ log 2, then 2 atanh(z), |z| < 0.172."""
    upper = x > _SQRT2 - 1
    z = (x - (_SQRT2 - 1 if upper else 0.0)) / (x + (_SQRT2 + 1 if upper else 2.0))
    w = z * z
    w2 = w * w
    w4 = w2 * w2
    first = (1 + w * (1 / 3)) + w2 * (1 / 5 + w * (1 / 7))
    second = (1 / 9 + w * (1 / 11)) + w2 * (1 / 13 + w * (1 / 15))
    third = (1 / 17 + w * (1 / 19)) + w2 * (1 / 21)
    return 2 * z * ((first + w4 * second) + (w4 * w4) * third) + (0.5 * _LN2 if upper else 0.0)


@njit(**STRICT)
def loss_value(code: Any, y: Any, s: Any) -> Any:
    """ℓ(y, s)."""
    if code == SQUARED:
        return 0.5 * (y - s) * (y - s)
    if code == LOGISTIC:
        return max(-y * s, 0.0) + log_one_plus(exp_negative(-abs(y * s)))
    if code != SQUARED_HINGE:
        return np.nan  # an unknown code
    slack = max(0.0, 1.0 - y * s)
    return 0.5 * slack * slack


@njit(**STRICT)
def loss_terms(code: Any, y: Any, s: Any) -> Any:
    """(ℓ, ∂ℓ/∂s, ∂²ℓ/∂s²) at once; at the hinge's kink ys = 1 the curvature is 0."""
    if code == SQUARED:
        return 0.5 * (y - s) * (y - s), s - y, 1.0
    if code == LOGISTIC:
        e = exp_negative(-abs(y * s))
        inverse = 1.0 / (1.0 + e)
        miss = inverse if y * s < 0.0 else e * inverse  # 1 / (1 + e^{ys})
        return max(-y * s, 0.0) + log_one_plus(e), -y * miss, y * y * e * inverse * inverse
    if code != SQUARED_HINGE:
        return np.nan, np.nan, np.nan
    slack = max(0.0, 1.0 - y * s)
    return 0.5 * slack * slack, -y * slack, y * y if slack > 0.0 else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def evaluate(code: Any, y: Any, s: Any, out: Any) -> None:
    """out[0], out[1], out[2] = value, slope and curvature for arrays of targets and scores."""
    for t in range(y.size):
        out[0, t], out[1, t], out[2, t] = loss_terms(code, y[t], s[t])
