"""A perceptron above its first product Z: u = A_L σ(… σ(A_2 σ(z + b_1) + b_2) …) + b_L, the last layer linear.

With no hidden layer u = z + b. With a temperature τ scores are cosines: u is divided by √τ ‖u‖ on either side.
Forward, Jacobian·vector and its transpose for a block of rows; with the activations of the forward pass at hand the
other two cost one and two of it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from everypair.neural.activations import ACTIVATIONS
from everypair.neural.trees import Tree
from everypair.types import Array

SMALLEST = 1e-12  # square of a length, below which a vector has no direction


class Trace(NamedTuple):
    """A forward pass: (σ, σ') of every hidden layer, and u before its division where scores are cosines."""

    hidden: list[tuple[Array, Array]]
    last: Array | None


class Layers(NamedTuple):
    """The layers above the first product: ``activation`` by name, ``biases`` in every layer, cosine ``temperature``."""

    widths: tuple[int, ...]
    rank: int
    activation: str = "elu"
    biases: bool = True
    temperature: float | None = None

    @property
    def first(self) -> int:
        """Width of Z."""
        return self.widths[0] if self.widths else self.rank

    @property
    def outs(self) -> tuple[int, ...]:
        """Width of Z and of what every matrix gives."""
        return (*self.widths, self.rank)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of all matrices, then of all biases."""
        return [*pairwise(self.outs), *((out,) for out in self.outs if self.biases)]

    def start(self, random: np.random.Generator, dtype: Any) -> dict[str, list[Array]]:
        """Glorot's normal start of the matrices, zero biases."""
        matrices = []
        for width, out in pairwise(self.outs):
            deviation = np.sqrt(2 / (width + out))
            matrices.append((deviation * random.standard_normal((width, out))).astype(dtype))
        biases = [np.zeros(out, dtype) for out in self.outs] if self.biases else []
        return {"matrices": matrices, "biases": biases}

    def forward(self, theta: Tree, Z: Array) -> tuple[Array, Trace]:
        """U for rows Z, and what derivatives need of the way there."""
        both = ACTIVATIONS[self.activation].both
        U, hidden = (Z + theta["biases"][0] if self.biases else Z), []
        for number, matrix in enumerate(theta["matrices"], 1):
            hidden.append(both(U))
            U = hidden[-1][0] @ matrix
            if self.biases:
                U += theta["biases"][number]
        return self._scaled(U), Trace(hidden, None if self.temperature is None else U)

    def pushed(self, theta: Tree, trace: Trace, theta_direction: Tree, Z_direction: Array) -> Array:
        """How U changes along a direction of the parameters and of Z."""
        change = Z_direction + theta_direction["biases"][0] if self.biases else Z_direction
        for number, (active, slope) in enumerate(trace.hidden, 1):
            matrix, direction = theta["matrices"][number - 1], theta_direction["matrices"][number - 1]
            change = (slope * change) @ matrix
            change += active @ direction
            if self.biases:
                change += theta_direction["biases"][number]
        return self._turned(trace, change)

    def pulled(self, theta: Tree, trace: Trace, gradient: Array) -> tuple[list[Array], Array]:
        """(by all matrices, then by all biases; by Z) of ⟨gradient, U⟩."""
        gradients = self.gradients(theta, trace, gradient)
        matrices = [active.T @ after for (active, _), after in zip(trace.hidden, gradients[1:])]
        biases = [after.sum(axis=0) for after in gradients] if self.biases else []
        return [*matrices, *biases], gradients[0]

    def gradients(self, theta: Tree, trace: Trace, gradient: Array) -> list[Array]:
        """⟨gradient, U⟩ by Z and by what every matrix gives: δ_{l−1} = σ'_l ⊙ (δ_l A_lᵀ), the last first."""
        found = [self._turned(trace, gradient)]
        for (_, slope), matrix in zip(reversed(trace.hidden), reversed(theta["matrices"])):
            below = found[-1] @ matrix.T
            below *= slope
            found.append(below)
        return found[::-1]

    def _scaled(self, U: Array) -> Array:
        return U if self.temperature is None else U / self._lengths(U)

    def _lengths(self, U: Array) -> Array:
        squares = np.maximum(np.einsum("rk,rk->r", U, U)[:, None], SMALLEST)
        return np.asarray(np.sqrt(U.dtype.type(self.temperature) * squares))

    def _turned(self, trace: Trace, change: Array) -> Array:
        """The derivative of the division by the length, which is symmetric, times a change of u."""
        U = trace.last
        if U is None:
            return change
        squares = np.einsum("rk,rk->r", U, U)[:, None]
        along = np.einsum("rk,rk->r", U, change)[:, None] / np.maximum(squares, SMALLEST)
        return np.asarray((change - np.where(squares > SMALLEST, along, 0) * U) / self._lengths(U))
