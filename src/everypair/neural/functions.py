"""Towers brought along: any pure function of parameters and inputs, differentiated by jax.

    apply(theta, parts) → (rows, rank)        init(random, parts, rank) → theta, a tree of arrays

``parts`` holds a block of a side's entities by name: ``"ids"`` their positions, and every group of features
(``"features"`` where they are one matrix), dense as an array, sparse as :class:`SparseRows`, never densified. Rows must
not depend on each other. ``init`` gets a block too, and the number of entities as ``parts["count"]``. Entities that
come later have the id −1. Naming and writing down such towers needs no jax; evaluating them does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from everypair.neural.trees import Tree

REGISTERED: dict[str, PureTower] = {}


class SparseRows(NamedTuple):
    """Sparse rows of one length: ``values`` at ``indices``, zeros at the end of shorter rows."""

    indices: Any
    values: Any

    def __matmul__(self, weights: Any) -> Any:
        """XW by looking up rows of W."""
        import jax.numpy as jnp

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


def padded(rows: Any) -> SparseRows:
    """Rows of a csr matrix, as long as the longest, rounded up to a power of two.

    >>> import scipy.sparse as sp
    >>> padded(sp.csr_array([[0.0, 5.0, 6.0], [0.0, 0.0, 7.0]])).indices.tolist()
    [[1, 2], [2, 0]]
    """
    lengths = np.diff(rows.indptr)
    width = 1 << max(int(lengths.max(initial=1)) - 1, 0).bit_length()
    taken = np.arange(width) < lengths[:, None]
    indices, values = np.zeros(taken.shape, np.int32), np.zeros(taken.shape, rows.dtype)
    indices[taken], values[taken] = rows.indices, rows.data
    return SparseRows(indices, values)
