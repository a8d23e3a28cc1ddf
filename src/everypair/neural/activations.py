"""Activations: σ(z) together with σ'(z), and where it has one, the inverse.

elu        z, below zero e^z − 1       max(0, z) + e − 1 and σ' = e with e = e^{min(z, 0)}: one exponential for both
relu       max(0, z), σ'(0) = 1: rows that begin at 0 would stay there with σ'(0) = 0
tanh
identity   z: layers without one are linear
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from everypair.types import Array


def _elu(z: Array) -> tuple[Array, Array]:
    slope = np.minimum(z, 0)
    np.exp(slope, out=slope)
    active = np.maximum(z, 0)
    active += slope
    active -= 1
    return active, slope


def _relu(z: Array) -> tuple[Array, Array]:
    return np.maximum(z, 0), (z >= 0).astype(z.dtype)


def _tanh(z: Array) -> tuple[Array, Array]:
    active = np.tanh(z)
    return active, 1 - active * active


def _identity(z: Array) -> tuple[Array, Array]:
    return z, np.ones_like(z)


def _inverse_elu(h: Array) -> Array:
    return np.where(h > 0, h, np.log1p(np.minimum(h, 0)))


class Activation(NamedTuple):
    """(σ, σ') of an array; σ⁻¹, and the open interval of values that it has a meaning for; whether σ(z) = z > 0."""

    both: Callable[[Array], tuple[Array, Array]]
    inverse: Callable[[Array], Array] | None = None
    least: float = -np.inf
    most: float = np.inf
    linear_above_zero: bool = False


ACTIVATIONS = {
    "elu": Activation(_elu, _inverse_elu, least=-1.0, linear_above_zero=True),
    "relu": Activation(_relu, linear_above_zero=True),
    "tanh": Activation(_tanh, np.arctanh, least=-1.0, most=1.0),
    "identity": Activation(_identity, lambda h: h),
}
