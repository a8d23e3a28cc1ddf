"""U = f(θ) of one side: factors, Jacobian·direction and its transpose, in blocks of rows.

    factors(θ)        U                    tangent(θ, d)   [∂f_i/∂θ · d]_i          adjoint(θ, G)   Σ_i (∂f_i/∂θ)ᵀ g_i

A :class:`Perceptron` keeps its first product Z (m × width) whole, deeper layers exist for one block of rows at a time:
memory m·(width + k) floats besides the parameters, whatever their depth. Blocks are added up in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.neural.blocks import blocks, filled
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers, forward, pull, push
from everypair.neural.trees import Tree, leafwise, plain, precision

Array = NDArray[Any]
ID_SCALE = 0.1  # deviation of rows of ids at the start
FEATURE_SCALE = 1.0  # and of XW, below hidden layers: smaller ones leave an activation nearly linear


class Tower(Protocol):
    """One side's embedding of its entities; ``rows`` are distinct positions, all of them by default."""

    @property
    def n_rows(self) -> int:
        """Number of entities."""
        ...

    def start(self, random: np.random.Generator) -> Tree:
        """Random parameters."""
        ...

    def factors(self, theta: Tree, rows: Array | None = None) -> Array:
        """U."""
        ...

    def tangent(self, theta: Tree, direction: Tree) -> Array:
        """How U changes along a direction."""
        ...

    def adjoint(self, theta: Tree, gradient: Array, rows: Array | None = None) -> Tree:
        """What a gradient by U says of θ."""
        ...


@dataclass(frozen=True)
class Perceptron:
    """The built-in tower: a linear first layer on ids and features, then :class:`Layers`.

    >>> tower = Perceptron(Inputs(3), Layers((4,), rank=2), np.dtype(np.float64))
    >>> theta = tower.start(np.random.default_rng(0))
    >>> sorted(theta), theta["ids"].shape, tower.factors(theta).shape
    (['biases', 'ids', 'matrices'], (3, 4), (3, 2))
    """

    inputs: Inputs
    layers: Layers
    dtype: Any
    scale: float = ID_SCALE

    @property
    def n_rows(self) -> int:
        """Number of entities."""
        return self.inputs.n_rows

    def start(self, random: np.random.Generator) -> Tree:
        """Random parameters."""
        scales = self.scale, FEATURE_SCALE if self.layers.widths else self.scale
        first = self.inputs.start(self.layers.first, scales, random, self.dtype)
        return {**first, **self.layers.start(random, self.dtype)}

    def of(self, inputs: Inputs) -> Perceptron:
        """The same tower on other entities."""
        return replace(self, inputs=inputs)

    def factors(self, theta: Tree, rows: Array | None = None) -> Array:
        """U."""
        return self.above(theta, self.inputs.product(theta, rows))

    def above(self, theta: Tree, Z: Array) -> Array:
        """U for rows of Z."""
        out = np.empty((len(Z), self.layers.rank), self.dtype)
        upper = _upper(theta)
        with precision(self.dtype):
            for rows, size in blocks(len(Z)):
                found = forward(self.layers, upper, filled(Z, rows, size))
                out[rows] = np.asarray(found)[: rows.stop - rows.start]
        return out

    def tangent(self, theta: Tree, direction: Tree) -> Array:
        """How U changes along a direction."""
        return self.pushed(
            theta, self.inputs.product(theta), _upper(direction), self.inputs.product(direction)
        )  # fmt: skip

    def pushed(self, theta: Tree, Z: Array, upper_direction: Tree, Z_direction: Array) -> Array:
        """How U changes along a direction of Z and of the layers above it."""
        out = np.empty((len(Z), self.layers.rank), self.dtype)
        upper = _upper(theta)
        with precision(self.dtype):
            for rows, size in blocks(len(Z)):
                found = push(
                    self.layers, upper, filled(Z, rows, size), upper_direction, filled(Z_direction, rows, size)
                )  # fmt: skip
                out[rows] = np.asarray(found)[: rows.stop - rows.start]
        return out

    def adjoint(self, theta: Tree, gradient: Array, rows: Array | None = None) -> Tree:
        """What a gradient by U says of θ."""
        upper, by_Z = self.pulled(theta, self.inputs.product(theta, rows), gradient)
        return {**self.inputs.adjoint(by_Z, theta, rows), **upper}

    def pulled(self, theta: Tree, Z: Array, gradient: Array) -> tuple[Tree, Array]:
        """What a gradient by U says of the layers above Z, and of Z."""
        by_Z = np.empty(Z.shape, self.dtype)
        upper, total = _upper(theta), None
        with precision(self.dtype):
            for rows, size in blocks(len(Z)):
                found, block = pull(self.layers, upper, filled(Z, rows, size), filled(gradient, rows, size))
                by_Z[rows] = np.asarray(block)[: rows.stop - rows.start]
                found = plain(found)
                total = found if total is None else leafwise(np.add, total, found)
        return total, by_Z


def _upper(theta: Tree) -> Tree:
    return {"matrices": theta["matrices"], "biases": theta["biases"]}
