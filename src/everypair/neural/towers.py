"""U = f(θ) of one side, at parameters θ: factors, Jacobian·direction and its transpose, in blocks of rows.

    factors      U              tangent(d)   [∂f_i/∂θ · d]_i             adjoint(G)   Σ_i (∂f_i/∂θ)ᵀ g_i

A :class:`Perceptron` keeps its first product Z (m × width) whole. Activations of deeper layers are kept for the
derivatives up to ``KEPT_ROWS`` rows; beyond, they exist for one block of rows at a time and are computed again: memory
m·(width + k) floats besides the parameters, whatever their depth. Blocks are added up in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from everypair.neural.blocks import aligned, blocks, filled
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers, forward, pull, push
from everypair.neural.trees import Tree, leafwise, plain, precision
from everypair.types import Array

ID_SCALE = 0.1  # deviation of rows of ids at the start
FEATURE_SCALE = 1.0  # and of XW, below hidden layers: smaller ones leave an activation nearly linear
KEPT_ROWS = 2**15  # of a tower, whose activations are kept


class Embedded(Protocol):
    """A tower at some parameters."""

    factors: Array

    def tangent(self, direction: Tree) -> Array:
        """How U changes along a direction."""
        ...

    def adjoint(self, gradient: Array) -> Tree:
        """What a gradient by U says of θ."""
        ...


class Tower(Protocol):
    """One side's embedding of its entities; ``rows`` are distinct positions, all of them by default."""

    @property
    def n_rows(self) -> int:
        """Number of entities."""
        ...

    def start(self, random: np.random.Generator) -> Tree:
        """Random parameters."""
        ...

    def at(self, theta: Tree, rows: Array | None = None) -> Embedded:
        """U and its derivatives at θ."""
        ...


class Above:
    """What is above the first product: U of rows Z under the layers ``upper``, and its derivatives."""

    def __init__(self, layers: Layers, upper: Tree, Z: Array, dtype: Any) -> None:
        self.layers, self.upper, self.Z, self.dtype = layers, upper, Z, dtype
        self.factors = aligned((len(Z), layers.rank), dtype)
        self.traces: list[Any] = []
        keep = len(Z) <= KEPT_ROWS
        with precision(dtype):
            for rows, size in blocks(len(Z)):
                found, trace = forward(layers, upper, filled(Z, rows, size), keep)
                self.factors[rows] = np.asarray(found)[: rows.stop - rows.start]
                self.traces.append(trace)

    def tangent(self, upper_direction: Tree, Z_direction: Array) -> Array:
        """How U changes along a direction of the layers and of Z."""
        out = aligned(self.factors.shape, self.dtype)
        with precision(self.dtype):
            for (rows, size), trace in zip(blocks(len(self.Z)), self.traces):
                Z = filled(self.Z, rows, size) if trace is None else None
                found = push(self.layers, self.upper, Z, trace, upper_direction, filled(Z_direction, rows, size))
                out[rows] = np.asarray(found)[: rows.stop - rows.start]
        return out

    def adjoint(self, gradient: Array) -> tuple[Tree, Array]:
        """What a gradient by U says of the layers, and of Z."""
        by_Z, total = aligned(self.Z.shape, self.dtype), None
        with precision(self.dtype):
            for (rows, size), trace in zip(blocks(len(self.Z)), self.traces):
                Z = filled(self.Z, rows, size) if trace is None else None
                found, block = pull(self.layers, self.upper, Z, trace, filled(gradient, rows, size))
                by_Z[rows] = np.asarray(block)[: rows.stop - rows.start]
                found = plain(found)
                total = found if total is None else leafwise(np.add, total, found)
        return total, by_Z


@dataclass(frozen=True)
class Perceptron:
    """The built-in tower: a linear first layer on ids and features, then :class:`Layers`.

    >>> tower = Perceptron(Inputs(3), Layers((4,), rank=2), np.dtype(np.float64))
    >>> theta = tower.start(np.random.default_rng(0))
    >>> sorted(theta), theta["ids"].shape, tower.at(theta).factors.shape
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

    def at(self, theta: Tree, rows: Array | None = None) -> PerceptronAt:
        """U and its derivatives at θ."""
        return PerceptronAt(self, theta, rows)

    def above(self, theta: Tree, Z: Array) -> Above:
        """The layers on rows Z."""
        return Above(self.layers, _upper(theta), Z, self.dtype)


class PerceptronAt:
    """A :class:`Perceptron` at θ."""

    def __init__(self, tower: Perceptron, theta: Tree, rows: Array | None) -> None:
        self.inputs, self.theta, self.rows = tower.inputs, theta, rows
        self.above = tower.above(theta, self.inputs.product(theta, rows))
        self.factors = self.above.factors

    def tangent(self, direction: Tree) -> Array:
        """How U changes along a direction."""
        return self.above.tangent(_upper(direction), self.inputs.product(direction, self.rows))

    def adjoint(self, gradient: Array) -> Tree:
        """What a gradient by U says of θ."""
        upper, by_Z = self.above.adjoint(gradient)
        return {**self.inputs.adjoint(by_Z, self.theta, self.rows), **upper}


def _upper(theta: Tree) -> Tree:
    return {"matrices": theta["matrices"], "biases": theta["biases"]}
