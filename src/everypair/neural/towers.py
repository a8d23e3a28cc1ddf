"""U = f(θ) of one side, at parameters θ: factors, Jacobian·direction and its transpose, in blocks of rows.

    factors      U              tangent(d)   [∂f_i/∂θ · d]_i             adjoint(G)   Σ_i (∂f_i/∂θ)ᵀ g_i

A :class:`Perceptron` keeps its first product Z (m × width) whole. Activations of deeper layers are kept for the
derivatives up to ``KEPT_ROWS`` rows; beyond, they exist for one block of rows at a time and are computed again: memory
m·(width + k) floats besides the parameters, whatever their depth. Blocks are added up in a fixed tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from everypair.neural.blocks import by_blocks, filled
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers, Trace
from everypair.neural.penalties import Penalties
from everypair.neural.trees import Tree, flattened, leafwise, unflattened
from everypair.parallel import Chunk, sum_blocks
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

    def penalties(self, theta: Tree, reg: Penalties) -> Tree:
        """λ of every array of θ."""
        ...

    def paces(self, theta: Tree) -> Tree:
        """How fast every array of θ moves where an optimiser has a rate: times that."""
        ...

    def thinned(self, share: float, random: np.random.Generator) -> Tower:
        """The tower without the ids of a random share of its entities; itself, where ids are all it has, or none."""
        ...

    def at(self, theta: Tree, rows: Array | None = None) -> Embedded:
        """U and its derivatives at θ."""
        ...


class Above:
    """What is above the first product: U of rows Z under the layers ``upper``, and its derivatives."""

    def __init__(self, layers: Layers, upper: Tree, Z: Array, dtype: Any, n_threads: int = 1) -> None:
        self.layers, self.upper, self.Z, self.dtype, self.n_threads = layers, upper, Z, dtype, n_threads
        self.traces: dict[int, Trace] = {}
        keep = len(Z) <= KEPT_ROWS

        def forward(block: Chunk) -> Array:
            U, trace = layers.forward(upper, filled(Z, block))
            if keep:
                self.traces[block[0]] = trace
            return U

        self.factors = by_blocks(len(Z), layers.rank, dtype, forward, n_threads)

    def tangent(self, upper_direction: Tree, Z_direction: Array) -> Array:
        """How U changes along a direction of the layers and of Z."""

        def push(block: Chunk) -> Array:
            return self.layers.pushed(self.upper, self._trace(block), upper_direction, filled(Z_direction, block))

        return by_blocks(len(self.Z), self.layers.rank, self.dtype, push, self.n_threads)

    def adjoint(self, gradient: Array) -> tuple[Tree, Array]:
        """What a gradient by U says of the layers, and of Z."""
        by_Z = np.empty(self.Z.shape, self.dtype)

        def pull(block: Chunk) -> list[Array]:
            arrays, below = self.layers.pulled(self.upper, self._trace(block), filled(gradient, block))
            by_Z[slice(*block)] = below[: block[1] - block[0]]
            return arrays

        found = self._summed(pull, self.layers.shapes)
        depth = len(self.layers.widths)
        return {"matrices": found[:depth], "biases": found[depth:]}, by_Z

    def second_moments(self, gradient: Array) -> tuple[list[Array], list[Array]]:
        """(hᵀh of what every matrix reads, δᵀδ of Z and of what every matrix gives) for a gradient by U."""

        def moments(block: Chunk) -> list[Array]:
            trace = self._trace(block)
            below = self.layers.gradients(self.upper, trace, filled(gradient, block))
            active = [one[: block[1] - block[0]] for one, _ in trace.hidden]
            return [one.T @ one for one in (*active, *below)]

        widths = self.layers.widths
        found = self._summed(moments, [(width, width) for width in (*widths, *self.layers.outs)])
        return found[: len(widths)], found[len(widths) :]

    def _summed(self, of_block: Callable[[Chunk], list[Array]], shapes: list[tuple[int, ...]]) -> list[Array]:
        """Sums over blocks of arrays of these shapes."""
        if not len(self.Z):
            return [np.zeros(shape, self.dtype) for shape in shapes]
        total = sum_blocks(lambda block, worker: flattened(of_block(block), self.dtype), len(self.Z), self.n_threads)
        return unflattened(total, shapes)

    def _trace(self, block: Chunk) -> Trace:
        kept = self.traces.get(block[0])
        return self.layers.forward(self.upper, filled(self.Z, block))[1] if kept is None else kept


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
    pace: float = 1.0

    @property
    def n_rows(self) -> int:
        """Number of entities."""
        return self.inputs.n_rows

    def start(self, random: np.random.Generator) -> Tree:
        """Random parameters."""
        scales = self.scale, FEATURE_SCALE if self.layers.widths else self.scale
        first = self.inputs.start(self.layers.first, scales, random, self.dtype)
        return {**first, **self.layers.start(random, self.dtype)}

    def penalties(self, theta: Tree, reg: Penalties) -> Tree:
        """λ of every array of θ."""
        kinds = reg._asdict()
        return {name: leafwise(lambda _, kind=name: kinds[kind], part) for name, part in theta.items()}

    def paces(self, theta: Tree) -> Tree:
        """How fast every array of θ moves."""
        return leafwise(lambda _: self.pace, theta)

    def thinned(self, share: float, random: np.random.Generator) -> Perceptron:
        """The tower without the ids of a random share of its entities; itself, where ids are all it has, or none."""
        if not self.inputs.ids or self.inputs.features is None:
            return self
        kept = (random.random(self.n_rows) >= share).astype(self.dtype)
        return replace(self, inputs=self.inputs.without_ids(kept))

    def at(self, theta: Tree, rows: Array | None = None) -> PerceptronAt:
        """U and its derivatives at θ."""
        return PerceptronAt(self, theta, rows)

    def above(self, theta: Tree, Z: Array) -> Above:
        """The layers on rows Z."""
        return Above(self.layers, _upper(theta), Z, self.dtype, self.inputs.n_threads)


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
