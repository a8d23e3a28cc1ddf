"""Towers brought along: any pure function of parameters and inputs, differentiated by jax.

    apply(theta, parts) → (rows, rank)        init(random, parts, rank) → theta, a tree of arrays

``parts`` holds a block of a side's entities by name: ``"ids"`` their positions, and every group of features
(``"features"`` where they are one matrix), dense as an array, sparse as :class:`SparseRows`, never densified. Rows must
not depend on each other. ``init`` gets a block too, and the number of entities as ``parts["count"]``. Entities that
come later have the id −1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

from everypair.neural.blocks import aligned, blocks, filled
from everypair.neural.trees import Tree, leafwise, plain, precision
from everypair.types import Array

REGISTERED: dict[str, PureTower] = {}


class SparseRows(NamedTuple):
    """Sparse rows of one length: ``values`` at ``indices``, zeros at the end of shorter rows."""

    indices: Any
    values: Any

    def __matmul__(self, weights: Any) -> Any:
        """XW by looking up rows of W."""
        return jnp.einsum("re,rek->rk", self.values, weights[self.indices])


class PureTower(NamedTuple):
    """A tower as two pure functions, ``init(random, parts, rank)`` and ``apply(theta, parts)``; see the module."""

    init: Callable[..., Tree]
    apply: Callable[..., Any]


def register_tower(name: str, tower: PureTower) -> None:
    """Give a tower a name, by which models that use it are written down and read.

    >>> def init(random, parts, rank):
    ...     return {"table": random.standard_normal((parts["count"], rank))}
    >>> register_tower("a-table", PureTower(init, lambda theta, parts: theta["table"][parts["ids"]]))
    >>> "a-table" in REGISTERED
    True
    """
    if not isinstance(name, str) or not isinstance(tower, PureTower):
        raise TypeError("register_tower takes a name and a PureTower(init, apply).")
    if REGISTERED.setdefault(name, tower) != tower:
        raise ValueError(f"another tower is registered as {name!r} already.")


@dataclass(frozen=True)
class FunctionTower:
    """A :class:`PureTower` on a side's entities; ``parts`` are dense arrays and csr matrices by name."""

    function: PureTower
    parts: dict[str, Any]
    n_rows: int
    rank: int
    dtype: Any
    with_ids: bool = True

    def start(self, random: np.random.Generator) -> Tree:
        """What ``init`` returns, in the model's precision; the rank of ``apply`` is checked."""
        rows, size = next(blocks(self.n_rows))
        block = self.block(np.arange(self.n_rows), rows, size)
        theta = leafwise(
            lambda leaf: np.asarray(leaf, self.dtype),
            self.function.init(random, {**block, "count": self.n_rows}, self.rank),
        )
        with precision(self.dtype):
            shape = _forward(self.function.apply, theta, block).shape
        if shape != (size, self.rank):
            raise ValueError(
                f"apply of a tower must return one row of {self.rank} numbers (rank) per entity, here shape "
                f"{(size, self.rank)}, got {shape}."
            )
        return theta

    def at(self, theta: Tree, rows: Array | None = None) -> FunctionAt:
        """U and its derivatives at θ."""
        return FunctionAt(self, theta, np.arange(self.n_rows) if rows is None else rows)

    def block(self, chosen: Array, block: slice, size: int) -> dict[str, Any]:
        """Inputs of some entities; a shorter block repeats entity 0, whose gradient is then zero."""
        rows = filled(chosen, block, size)
        found: dict[str, Any] = {"ids": rows.astype(np.int32) if self.with_ids else np.full(size, -1, np.int32)}
        for name, part in self.parts.items():
            found[name] = padded(part[rows]) if sp.issparse(part) else part[rows]
        return found


class FunctionAt:
    """A :class:`FunctionTower` at θ; derivatives evaluate the function again, block by block."""

    def __init__(self, tower: FunctionTower, theta: Tree, rows: Array) -> None:
        self.tower, self.theta, self.rows = tower, theta, rows
        self.apply = tower.function.apply
        self.factors = self._rows(lambda inputs: _forward(self.apply, theta, inputs))

    def tangent(self, direction: Tree) -> Array:
        """How U changes along a direction."""
        return self._rows(lambda inputs: _push(self.apply, self.theta, direction, inputs))

    def adjoint(self, gradient: Array) -> Tree:
        """What a gradient by U says of θ."""
        total = None
        with precision(self.tower.dtype):
            for block, size in blocks(len(self.rows)):
                inputs = self.tower.block(self.rows, block, size)
                found = plain(_pull(self.apply, self.theta, filled(gradient, block, size), inputs))
                total = found if total is None else leafwise(np.add, total, found)
        return total

    def _rows(self, of_block: Callable[[Any], Any]) -> Array:
        out = aligned((len(self.rows), self.tower.rank), self.tower.dtype)
        with precision(self.tower.dtype):
            for block, size in blocks(len(self.rows)):
                found = of_block(self.tower.block(self.rows, block, size))
                out[block] = np.asarray(found)[: block.stop - block.start]
        return out


@partial(jax.jit, static_argnums=0)
def _forward(apply: Any, theta: Tree, parts: Any) -> Any:
    return apply(theta, parts)


@partial(jax.jit, static_argnums=0)
def _push(apply: Any, theta: Tree, direction: Tree, parts: Any) -> Any:
    return jax.jvp(lambda x: apply(x, parts), (theta,), (direction,))[1]


@partial(jax.jit, static_argnums=0)
def _pull(apply: Any, theta: Tree, gradient: Any, parts: Any) -> Any:
    return jax.vjp(lambda x: apply(x, parts), theta)[1](gradient)[0]


def padded(rows: Any) -> SparseRows:
    """Rows of a csr matrix, as long as the longest, rounded up to a power of two.

    >>> padded(sp.csr_array([[0.0, 5.0, 6.0], [0.0, 0.0, 7.0]])).indices.tolist()
    [[1, 2], [2, 0]]
    """
    lengths = np.diff(rows.indptr)
    width = 1 << max(int(lengths.max(initial=1)) - 1, 0).bit_length()
    taken = np.arange(width) < lengths[:, None]
    indices, values = np.zeros(taken.shape, np.int32), np.zeros(taken.shape, rows.dtype)
    indices[taken], values[taken] = rows.indices, rows.data
    return SparseRows(indices, values)
