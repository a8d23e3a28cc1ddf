"""A network beside a linear map: u_i = t_i + x_i W + MLP(x_i).

Rows of ids and one map of the features go straight to the factors, the network reads the features alone: an id in the
network could say nothing that t_i does not. The network's last matrix starts at zero, so that all begins as the linear
part and the network adds what the linear part cannot say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.penalties import Penalties
from everypair.neural.towers import Perceptron, PerceptronAt
from everypair.neural.trees import Tree
from everypair.types import Array

PACE = 0.1  # of the steps of a linear part that was learnt before, where an optimiser has a rate


def straight(inputs: Inputs, rank: int, dtype: Any) -> Perceptron:
    """The tower without layers, t_i + x_i W.

    >>> from everypair.neural.inputs import Inputs
    >>> sorted(straight(Inputs(3), 2, np.float64).start(np.random.default_rng(0)))
    ['biases', 'ids', 'matrices']
    """
    return Perceptron(inputs, Layers((), rank, biases=False), dtype, pace=PACE)


@dataclass(frozen=True)
class LinearPath:
    """A straight tower on ids and features plus a network on the features of the same entities.

    >>> from everypair.features.matrix import Features
    >>> X = Features(np.eye(3))
    >>> network = Perceptron(Inputs(3, ids=False, features=X), Layers((4,), rank=2), np.dtype(np.float64))
    >>> tower = LinearPath(straight(Inputs(3, features=X), 2, np.dtype(np.float64)), network)
    >>> theta = tower.start(np.random.default_rng(0))
    >>> bool((tower.at(theta).factors == theta["linear"]["ids"] + theta["linear"]["features"]).all())
    True
    """

    linear: Perceptron
    network: Perceptron

    @property
    def n_rows(self) -> int:
        """Number of entities."""
        return self.linear.n_rows

    def start(self, random: np.random.Generator) -> Tree:
        """Random parameters; the network adds nothing yet."""
        network = self.network.start(random)
        if network["matrices"]:
            network["matrices"][-1][:] = 0
        else:
            network["features"][:] = 0
        return {"linear": self.linear.start(random), "network": network}

    def penalties(self, theta: Tree, reg: Penalties) -> Tree:
        """λ of every array of θ."""
        return {
            "linear": self.linear.penalties(theta["linear"], reg.of_linear()),
            "network": self.network.penalties(theta["network"], reg),
        }

    def paces(self, theta: Tree) -> Tree:
        """How fast every array of θ moves."""
        return {name: getattr(self, name).paces(theta[name]) for name in theta}

    def thinned(self, share: float, random: np.random.Generator) -> LinearPath:
        """The same with a random share of the ids left out."""
        return replace(self, linear=self.linear.thinned(share, random))

    def at(self, theta: Tree, rows: Array | None = None) -> LinearPathAt:
        """U and its derivatives at θ."""
        return LinearPathAt(self.linear.at(theta["linear"], rows), self.network.at(theta["network"], rows))


class LinearPathAt:
    """A :class:`LinearPath` at θ."""

    def __init__(self, linear: PerceptronAt, network: PerceptronAt) -> None:
        self.linear, self.network = linear, network
        self.factors = linear.factors + network.factors

    def tangent(self, direction: Tree) -> Array:
        """How U changes along a direction."""
        return self.linear.tangent(direction["linear"]) + self.network.tangent(direction["network"])

    def adjoint(self, gradient: Array) -> Tree:
        """What a gradient by U says of θ."""
        return {"linear": self.linear.adjoint(gradient), "network": self.network.adjoint(gradient)}
