"""A perceptron above its first product Z: u = A_L σ(… σ(A_2 σ(z + b_1) + b_2) …) + b_L, the last layer linear.

With no hidden layer u = z + b. With a temperature τ scores are cosines: u is divided by √τ ‖u‖ on either side.
Forward, Jacobian·vector (forward mode) and its transpose (reverse mode), for a block of rows, compiled by jax.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from everypair.neural.trees import Tree

Array = NDArray[Any]
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
        activation = ACTIVATIONS[self.activation]
        U = Z + theta["biases"][0] if self.biases else Z
        for number, matrix in enumerate(theta["matrices"], 1):
            U = activation(U) @ matrix
            if self.biases:
                U = U + theta["biases"][number]
        if self.temperature is None:
            return U
        squares = jnp.maximum(jnp.sum(U * U, axis=1, keepdims=True), SMALLEST)
        return U / jnp.sqrt(self.temperature * squares)


@partial(jax.jit, static_argnums=0)
def forward(function: Any, theta: Tree, Z: Any) -> Any:
    """U."""
    return function(theta, Z)


@partial(jax.jit, static_argnums=0)
def push(function: Any, theta: Tree, Z: Any, theta_direction: Tree, Z_direction: Any) -> Any:
    """How U changes along a direction of the parameters and of Z."""
    return jax.jvp(partial(function), (theta, Z), (theta_direction, Z_direction))[1]


@partial(jax.jit, static_argnums=0)
def pull(function: Any, theta: Tree, Z: Any, gradient: Any) -> Any:
    """(by the parameters, by Z) of ⟨gradient, U⟩."""
    return jax.vjp(partial(function), theta, Z)[1](gradient)
