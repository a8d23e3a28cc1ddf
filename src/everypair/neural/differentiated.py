"""A :class:`PureTower` on a side's entities: its derivatives by jax, which this file alone needs.

U = apply(θ, block), J·d by jvp and Jᵀg by vjp, block after block; nothing is kept between them. float64 is a context
around every call of jax, never jax's global flag.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.neural.blocks import by_blocks, filled
from everypair.neural.functions import PureTower, padded
from everypair.neural.penalties import Penalties
from everypair.neural.trees import Tree, leafwise
from everypair.parallel import BLOCK_ROWS, Chunk, even_chunks
from everypair.types import Array

try:
    import jax
except ImportError as missing:
    sentence = "towers of your own need jax, which is not installed: pip install everypair[neural]."
    raise ImportError(sentence) from missing


def precision(dtype: Any) -> AbstractContextManager[Any]:
    """The context in which jax computes in ``dtype``.

    >>> with precision(np.float64):
    ...     jax.numpy.zeros(1).dtype
    dtype('float64')
    """
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(np.dtype(dtype) == np.float64)
    return import_module("jax.experimental").enable_x64(np.dtype(dtype) == np.float64)  # jax before 0.8


@dataclass(frozen=True)
class FunctionTower:
    """The tower; ``parts`` are dense arrays and csr matrices by name."""

    function: PureTower
    parts: dict[str, Any]
    n_rows: int
    rank: int
    dtype: Any
    with_ids: bool = True

    def start(self, random: np.random.Generator) -> Tree:
        """What ``init`` returns, in the model's precision; the rank of ``apply`` is checked."""
        block = self.block(np.arange(self.n_rows), (0, min(BLOCK_ROWS, self.n_rows)))
        theta = leafwise(
            lambda leaf: np.asarray(leaf, self.dtype),
            self.function.init(random, {**block, "count": self.n_rows}, self.rank),
        )
        with precision(self.dtype):
            shape = _forward(self.function.apply, theta, block).shape
        size = len(block["ids"])
        if shape != (size, self.rank):
            raise ValueError(
                f"apply of a tower must return one row of {self.rank} numbers (rank) per entity, here shape "
                f"{(size, self.rank)}, got {shape}."
            )
        return theta

    def penalties(self, theta: Tree, reg: Penalties) -> Tree:
        """λ of every array of θ: that of matrices."""
        return leafwise(lambda _: reg.matrices, theta)

    def paces(self, theta: Tree) -> Tree:
        """All arrays of θ move alike."""
        return leafwise(lambda _: 1.0, theta)

    def thinned(self, share: float, random: np.random.Generator) -> FunctionTower:
        """Itself: what a function makes of ids is its own."""
        return self

    def at(self, theta: Tree, rows: Array | None = None) -> FunctionAt:
        """U and its derivatives at θ."""
        return FunctionAt(self, theta, np.arange(self.n_rows) if rows is None else rows)

    def block(self, chosen: Array, block: Chunk) -> dict[str, Any]:
        """Inputs of some entities; a shorter block repeats entity 0, whose gradient is then zero."""
        rows = filled(chosen, block)
        ids = rows.astype(np.int32) if self.with_ids else np.full(len(rows), -1, np.int32)
        found: dict[str, Any] = {"ids": ids}
        for name, part in self.parts.items():
            found[name] = padded(part[rows]) if sp.issparse(part) else part[rows]
        return found


class FunctionAt:
    """A :class:`FunctionTower` at θ; derivatives evaluate the function again, block by block."""

    def __init__(self, tower: FunctionTower, theta: Tree, rows: Array) -> None:
        self.tower, self.theta, self.rows = tower, theta, rows
        self.apply = tower.function.apply
        self.factors = self._rows(_forward, theta)

    def tangent(self, direction: Tree) -> Array:
        """How U changes along a direction."""
        return self._rows(_push, self.theta, direction)

    def adjoint(self, gradient: Array) -> Tree:
        """What a gradient by U says of θ."""
        total = None
        for block in even_chunks(len(self.rows), BLOCK_ROWS):
            inputs = self.tower.block(self.rows, block)
            with precision(self.tower.dtype):
                found = _pull(self.apply, self.theta, filled(gradient, block), inputs)
            found = leafwise(np.asarray, found)
            total = found if total is None else leafwise(np.add, total, found)
        return total

    def _rows(self, function: Any, *trees: Tree) -> Array:
        def of_block(block: Chunk) -> Array:
            inputs = self.tower.block(self.rows, block)
            with precision(self.tower.dtype):
                return np.asarray(function(self.apply, *trees, inputs))

        return by_blocks(len(self.rows), self.tower.rank, self.tower.dtype, of_block, n_threads=1)


@partial(jax.jit, static_argnums=0)
def _forward(apply: Any, theta: Tree, parts: Any) -> Any:
    return apply(theta, parts)


@partial(jax.jit, static_argnums=0)
def _push(apply: Any, theta: Tree, direction: Tree, parts: Any) -> Any:
    return jax.jvp(lambda x: apply(x, parts), (theta,), (direction,))[1]


@partial(jax.jit, static_argnums=0)
def _pull(apply: Any, theta: Tree, gradient: Any, parts: Any) -> Any:
    return jax.vjp(lambda x: apply(x, parts), theta)[1](gradient)[0]
