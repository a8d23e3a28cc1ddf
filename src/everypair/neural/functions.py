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
from numpy.typing import NDArray

from everypair.neural.blocks import blocks, filled
from everypair.neural.trees import Tree, leafwise, plain, precision

Array = NDArray[Any]
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
    known: bool = True

    def start(self, random: np.random.Generator) -> Tree:
        """What ``init`` returns, in the model's precision; the rank of ``apply`` is checked."""
        rows, size = next(blocks(self.n_rows))
        block = self._block(np.arange(self.n_rows), rows, size)
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

    def factors(self, theta: Tree, rows: Array | None = None) -> Array:
        """U."""
        chosen = np.arange(self.n_rows) if rows is None else rows
        out = np.empty((len(chosen), self.rank), self.dtype)
        with precision(self.dtype):
            for block, size in blocks(len(chosen)):
                found = _forward(self.function.apply, theta, self._block(chosen, block, size))
                out[block] = np.asarray(found)[: block.stop - block.start]
        return out

    def tangent(self, theta: Tree, direction: Tree) -> Array:
        """How U changes along a direction."""
        out = np.empty((self.n_rows, self.rank), self.dtype)
        every = np.arange(self.n_rows)
        with precision(self.dtype):
            for block, size in blocks(self.n_rows):
                found = _push(self.function.apply, theta, direction, self._block(every, block, size))
                out[block] = np.asarray(found)[: block.stop - block.start]
        return out

    def adjoint(self, theta: Tree, gradient: Array, rows: Array | None = None) -> Tree:
        """What a gradient by U says of θ."""
        chosen = np.arange(self.n_rows) if rows is None else rows
        total = None
        with precision(self.dtype):
            for block, size in blocks(len(chosen)):
                inputs = self._block(chosen, block, size)
                found = plain(_pull(self.function.apply, theta, filled(gradient, block, size), inputs))
                total = found if total is None else leafwise(np.add, total, found)
        return total

    def _block(self, chosen: Array, block: slice, size: int) -> dict[str, Any]:
        """Inputs of some entities; a shorter block repeats entity 0, whose gradient is then zero."""
        rows = filled(chosen, block, size)
        found: dict[str, Any] = {"ids": rows.astype(np.int32) if self.known else np.full(size, -1, np.int32)}
        for name, part in self.parts.items():
            found[name] = padded(part[rows]) if sp.issparse(part) else part[rows]
        return found


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
