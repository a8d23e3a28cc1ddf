"""The objective of two towers as the naive double sum over all pairs, written in jax for its autodiff."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

from everypair.data.pairs import Pairs
from everypair.features.matrix import Features
from everypair.neural.differentiated import precision
from everypair.neural.inputs import Inputs
from everypair.neural.layers import Layers
from everypair.neural.objective import TowerObjective
from everypair.neural.penalties import Penalties
from everypair.neural.towers import Perceptron
from everypair.problem.losses import LOSSES, Loss
from everypair.problem.negatives import Negatives
from everypair.problem.ridge import Ridge

SHAPE, RANK = (9, 7), 3
REG = Penalties(0.3, 0.2, 0.4), Penalties(0.2, 0.5, 0.1, 0.05)  # of ids, features, matrices and biases
RIDGE = Ridge.checked((0.3, 0.2), 0.5)  # of the factors
ACTIVATION = {"elu": jax.nn.elu, "relu": jax.nn.relu, "tanh": jnp.tanh, "identity": lambda z: z}
FLOAT64 = np.dtype(np.float64)
LOSS = {
    "squared": lambda y, s: 0.5 * (y - s) ** 2,
    "logistic": lambda y, s: jnp.logaddexp(0.0, -y * s),
    "squared_hinge": lambda y, s: 0.5 * jnp.maximum(0.0, 1 - y * s) ** 2,
    "quartic": lambda y, s: (y - s) ** 2 + 0.1 * (y - s) ** 4,
}
QUARTIC = Loss(
    "quartic",
    value=lambda y, s: (y - s) ** 2 + 0.1 * (y - s) ** 4,
    slope=lambda y, s: 2 * (s - y) + 0.4 * (s - y) ** 3,
    curvature=lambda y, s: 2 + 1.2 * (s - y) ** 2,
    dislike_target=-1.0,
)


def stored_pairs(random):
    """Likes and dislikes of random weights; row 1 and column 2 are empty."""
    signed = np.where(random.random(SHAPE) < 0.4, random.uniform(0.5, 2, SHAPE) * random.choice([1, 1, -1], SHAPE), 0)
    signed[1], signed[:, 2] = 0, 0
    signed[0, 0] = 1
    return signed


def inputs_of(kind, n_rows, random):
    """Ids, sparse or dense features, or ids and features."""
    X = random.normal(size=(n_rows, 5)) * (random.random((n_rows, 5)) < 0.5)
    return {
        "ids": lambda: Inputs(n_rows),
        "sparse": lambda: Inputs(n_rows, ids=False, features=Features(sp.csr_array(X))),
        "dense": lambda: Inputs(n_rows, ids=False, features=Features(X)),
        "both": lambda: Inputs(n_rows, features=Features(sp.csr_array(X))),
        "dropped": lambda: Inputs(n_rows, features=Features(X)).without_ids(np.arange(n_rows) % 3 > 0),
    }[kind]()


def perceptron(layers, theta, Z):
    """U for rows Z in jax."""
    U = Z + theta["biases"][0] if layers.biases else Z
    for number, matrix in enumerate(theta["matrices"], 1):
        U = ACTIVATION[layers.activation](U) @ matrix + (theta["biases"][number] if layers.biases else 0)
    if layers.temperature is None:
        return U
    return U / jnp.sqrt(layers.temperature * jnp.maximum(jnp.sum(U * U, axis=1, keepdims=True), 1e-12))


class Naive:
    """A small problem: the library's ``objective`` in float64, and the same thing summed pair by pair."""

    def __init__(self, loss="logistic", kinds=("ids", "sparse"), value=-0.7, layers=None, seed=0, ridge=RIDGE):
        random = np.random.default_rng(seed)
        self.loss, self.kinds = loss, kinds
        self.signed = stored_pairs(random)
        library_loss = LOSSES.get(loss, QUARTIC)
        pairs = Pairs.from_matrix(self.signed, dtype=FLOAT64)
        weights = random.uniform(0.2, 2, SHAPE[0]), random.uniform(0.2, 2, SHAPE[1])
        if value == "low_rank":
            value = random.normal(size=(SHAPE[0], 2)), random.normal(size=(SHAPE[1], 2))
        negatives = Negatives.from_scheme(pairs, 0.3, weights, value)
        self.p, self.q = negatives.left, negatives.right
        self.values = value[0] @ value[1].T if isinstance(value, tuple) else np.full(SHAPE, value)
        self.targets = np.where(self.signed > 0, 1.0, library_loss.dislike_target)
        self.layers = layers or Layers((4,), RANK, "elu")
        self.towers = tuple(
            Perceptron(inputs_of(kind, size, random), self.layers, FLOAT64, scale=0.7)
            for kind, size in zip(kinds, SHAPE)
        )
        self.objective = TowerObjective(pairs, library_loss, negatives, self.towers, REG, ridge=ridge, dtype=FLOAT64)
        totals = [np.abs(self.signed).sum(axis=1 - side) + weights * others.sum()
                  for side, (weights, others) in enumerate([(self.p, self.q), (self.q, self.p)])]  # fmt: skip
        self.ridges = [reg * total**ridge.exponent for reg, total in zip(ridge.reg, totals)]
        self.theta = tuple(tower.start(random) for tower in self.towers)
        for part in self.theta:  # biases of zero would hide what is done with them
            part["biases"] = [0.1 * random.normal(size=bias.shape) for bias in part["biases"]]
        self.random = random

    def factors(self, theta):
        """U and V by dense products, in jax."""
        found = []
        for tower, part in zip(self.towers, theta):
            inputs = tower.inputs
            Z = 0.0
            if inputs.ids:
                kept = np.ones(inputs.n_rows) if inputs.kept is None else inputs.kept
                Z = Z + jnp.diag(jnp.asarray(kept, float)) @ part["ids"]
            if inputs.features is not None:
                X = inputs.features.matrix
                Z = Z + (X.toarray() if sp.issparse(X) else X) @ part["features"]
            found.append(perceptron(self.layers, part, Z))
        return found

    def value(self, theta):
        """L, summed over all pairs."""
        U, V = self.factors(theta)
        return self.of_scores(U @ V.T) + self.ridge(theta) + self.ridge_of_factors((U, V))

    def of_scores(self, scores):
        """F as a function of the scores of all pairs."""
        observed = np.abs(self.signed) * LOSS[self.loss](self.targets, scores)
        others = 0.5 * np.outer(self.p, self.q) * (self.values - scores) ** 2
        return jnp.sum(jnp.where(self.signed != 0, observed, others))

    def ridge(self, theta):
        """The ridges of the parameters."""
        return sum(
            0.5 * getattr(reg, name) * sum(jnp.sum(leaf**2) for leaf in jax.tree_util.tree_leaves(arrays))
            for reg, part in zip(REG, theta)
            for name, arrays in part.items()
        )

    def ridge_of_factors(self, factors):
        """The ridges of the factors."""
        return sum(0.5 * jnp.sum(ridge[:, None] * rows**2) for ridge, rows in zip(self.ridges, factors))

    def gradient(self, theta):
        """∇L by autodiff."""
        with precision(FLOAT64):
            return jax.grad(self.value)(theta)

    def product(self, theta, direction):
        """G·d: the second derivatives of the pairs' losses between Jacobians of the scores, by autodiff."""

        def bent(factors, along):
            U, V = factors
            scores, change = U @ V.T, along[0] @ V.T + U @ along[1].T
            second = jax.jvp(jax.grad(self.of_scores), (scores,), (change,))[1]
            return [
                second @ V + self.ridges[0][:, None] * along[0], second.T @ U + self.ridges[1][:, None] * along[1]
            ]  # fmt: skip

        with precision(FLOAT64):
            at, along = jax.jvp(self.factors, (theta,), (direction,))
            (pulled,) = jax.vjp(self.factors, theta)[1](bent(at, along))
            for part, along_it, reg in zip(pulled, direction, REG):
                for name, ridge in reg._asdict().items():
                    if name in part:
                        part[name] = jax.tree_util.tree_map(
                            lambda g, d, ridge=ridge: g + ridge * d, part[name], along_it[name]
                        )
            return pulled

    def direction(self):
        """A random direction of all parameters."""
        return jax.tree_util.tree_map(lambda leaf: self.random.normal(size=leaf.shape), self.theta)
