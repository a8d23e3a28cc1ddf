"""The same towers with sampled negatives, in plain JAX and optax: sampled softmax and BPR.

sampled softmax   −log( e^{s_ij} / (e^{s_ij} + Σ_{l∈N} e^{s_il + log(n/|N|)}) ),  N random items shared by the batch
BPR               log(1 + e^{−(s_ij − s_il)}),  one random item l for each positive

Iterates are averaged as our Adam's are.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from everypair.neural.optimizers.adam import AVERAGED

NEGATIVES, DECAY = 1024, 1e-5
STEPS = 10  # batches of one step


def embed(theta: Any, ids: Any, words: Any) -> Any:
    """A tower (ELU, biases) on some entities: ids, or sparse features where there are any."""
    U = (theta["ids"][ids] if words is None else words @ theta["features"]) + theta["biases"][0]
    for matrix, bias in zip(theta["matrices"], theta["biases"][1:]):
        U = jax.nn.elu(U) @ matrix + bias
    return U


@partial(jax.jit, static_argnums=0)
def losses(kind: str, theta: Any, batch: Any) -> Any:
    """Mean loss of a batch."""
    users, items, others, words, other_words, count = batch
    U = embed(theta[0], users, None)
    V, N = embed(theta[1], items, words), embed(theta[1], others, other_words)
    positive = jnp.sum(U * V, axis=1)
    if kind == "BPR":
        return jnp.mean(jnp.logaddexp(0.0, jnp.sum(U * N, axis=1) - positive))
    negative = U @ N.T + jnp.log(count / len(N))
    return jnp.mean(jax.nn.logsumexp(jnp.concatenate([positive[:, None], negative], axis=1), axis=1) - positive)


@jax.jit
def _averaged(average: Any, theta: Any, share: Any) -> Any:
    return jax.tree_util.tree_map(lambda mean, x: mean + share * (x - mean), average, theta)


class Peer:
    """Adam with a small decay on batches of positives and random negatives."""

    def __init__(self, kind: str, towers: Any, train: Any, rate: float, batch: int, words: Any = None) -> None:
        self.kind, self.towers, self.words = kind, towers, words
        coo = train.tocoo()
        self.users, self.items, self.count = coo.row, coo.col, train.shape[1]
        self.batch = min(batch, len(self.users))
        self.adam = optax.adamw(rate, weight_decay=DECAY)
        self.random = np.random.default_rng(0)
        self._update = jax.jit(self._updated)

    def start(self, theta: Any) -> Any:
        """(parameters, state of Adam, average of the parameters, number of steps)."""
        theta = jax.tree_util.tree_map(jnp.asarray, theta)
        return theta, self.adam.init(theta), theta, 0

    def step(self, state: Any) -> Any:
        """Ten batches."""
        theta, moments, average, steps = state
        for _ in range(STEPS):
            chosen = self.random.integers(len(self.users), size=self.batch)
            size = self.batch if self.kind == "BPR" else min(NEGATIVES, self.count)
            others = self.random.integers(self.count, size=size)
            items = self.items[chosen]
            batch = (self.users[chosen], items, others, self._words(items), self._words(others), float(self.count))
            theta, moments = self._update(theta, moments, batch)
        average = _averaged(average, theta, (AVERAGED + 1) / (steps + 1 + AVERAGED))
        return jax.block_until_ready((theta, moments, average, steps + 1))

    def factors(self, state: Any) -> tuple[Any, Any]:
        """U and V."""
        theta = jax.tree_util.tree_map(np.asarray, state[2])
        return tuple(tower.at(part).factors for tower, part in zip(self.towers, theta))

    def _updated(self, theta: Any, moments: Any, batch: Any) -> Any:
        gradient = jax.grad(lambda theta: losses(self.kind, theta, batch))(theta)
        updates, moments = self.adam.update(gradient, moments, theta)
        return optax.apply_updates(theta, updates), moments

    def _words(self, items: Any) -> Any:
        if self.words is None:
            return None
        return type(self.words)(self.words.indices[items], self.words.values[items])
