"""A perceptron above its first product Z: u = A_L σ(… σ(A_2 σ(z + b_1) + b_2) …) + b_L, the last layer linear.

With no hidden layer u = z + b. With a temperature τ scores are cosines: u is divided by √τ ‖u‖ on either side.
Forward, Jacobian·vector and its transpose for a block of rows, compiled by jax; with the activations of the forward
pass at hand the other two cost one and two of it.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from everypair.neural.trees import Tree
from everypair.types import Array

SMALLEST = 1e-12  # square of a length, below which a vector has no direction
ACTIVATIONS: dict[str, Any] = {"elu": jax.nn.elu, "relu": jax.nn.relu, "tanh": jnp.tanh, "identity": lambda z: z}


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

    def start(self, random: np.random.Generator, dtype: Any) -> dict[str, list[Array]]:
        """Glorot's normal start of the matrices, zero biases."""
        outs = [*self.widths, self.rank]
        matrices = []
        for width, out in pairwise(outs):
            deviation = np.sqrt(2 / (width + out))
            matrices.append((deviation * random.standard_normal((width, out))).astype(dtype))
        biases = [np.zeros(out, dtype) for out in outs] if self.biases else []
        return {"matrices": matrices, "biases": biases}

    def __call__(self, theta: Tree, Z: Any) -> Any:
        """U for rows Z."""
        return self.traced(theta, Z)[0]

    def traced(self, theta: Tree, Z: Any) -> tuple[Any, Trace]:
        """U for rows Z, and what derivatives need of the way there: σ and σ' of every layer, u before its division."""
        activation = ACTIVATIONS[self.activation]
        U, hidden = (Z + theta["biases"][0] if self.biases else Z), []
        for number, matrix in enumerate(theta["matrices"], 1):
            hidden.append(jax.jvp(activation, (U,), (jnp.ones_like(U),)))
            U = hidden[-1][0] @ matrix
            if self.biases:
                U = U + theta["biases"][number]
        return self._scaled(U), Trace(hidden, None if self.temperature is None else U)

    def pushed(self, theta: Tree, trace: Trace, theta_direction: Tree, Z_direction: Any) -> Any:
        """How U changes along a direction of the parameters and of Z."""
        change = Z_direction + theta_direction["biases"][0] if self.biases else Z_direction
        for number, (active, slope) in enumerate(trace.hidden, 1):
            matrix, direction = theta["matrices"][number - 1], theta_direction["matrices"][number - 1]
            change = (slope * change) @ matrix + active @ direction
            if self.biases:
                change = change + theta_direction["biases"][number]
        return change if trace.last is None else jax.jvp(self._scaled, (trace.last,), (change,))[1]

    def pulled(self, theta: Tree, trace: Trace, gradient: Any) -> tuple[Tree, Any]:
        """(by the parameters, by Z) of ⟨gradient, U⟩."""
        if trace.last is not None:
            (gradient,) = jax.vjp(self._scaled, trace.last)[1](gradient)
        matrices, biases = [], []
        for (active, slope), matrix in zip(reversed(trace.hidden), reversed(theta["matrices"])):
            matrices.append(active.T @ gradient)
            biases.append(jnp.sum(gradient, axis=0))
            gradient = slope * (gradient @ matrix.T)
        biases.append(jnp.sum(gradient, axis=0))
        return {"matrices": matrices[::-1], "biases": biases[::-1] if self.biases else []}, gradient

    def _scaled(self, U: Any) -> Any:
        if self.temperature is None:
            return U
        squares = jnp.maximum(jnp.sum(U * U, axis=1, keepdims=True), SMALLEST)
        return U / jnp.sqrt(self.temperature * squares)


class Trace(NamedTuple):
    """A forward pass: (σ, σ') of every hidden layer, and u before its division where scores are cosines."""

    hidden: list[Any]
    last: Any


@partial(jax.jit, static_argnums=(0, 3))
def forward(layers: Layers, theta: Tree, Z: Any, keep: bool) -> tuple[Any, Trace | None]:
    """U, and the trace if it is to be kept."""
    U, trace = layers.traced(theta, Z)
    return U, trace if keep else None


@partial(jax.jit, static_argnums=0)
def push(layers: Layers, theta: Tree, Z: Any, trace: Trace | None, theta_direction: Tree, Z_direction: Any) -> Any:
    """How U changes along a direction of the parameters and of Z; without a trace it is made again from Z."""
    trace = layers.traced(theta, Z)[1] if trace is None else trace
    return layers.pushed(theta, trace, theta_direction, Z_direction)


@partial(jax.jit, static_argnums=0)
def pull(layers: Layers, theta: Tree, Z: Any, trace: Trace | None, gradient: Any) -> tuple[Tree, Any]:
    """(by the parameters, by Z) of ⟨gradient, U⟩; without a trace it is made again from Z."""
    trace = layers.traced(theta, Z)[1] if trace is None else trace
    return layers.pulled(theta, trace, gradient)
