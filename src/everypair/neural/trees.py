"""Parameters are trees of arrays: dicts and lists with arrays as leaves. What is computed with them as vectors.

Leaves are numpy arrays in the precision of the model. float64 is a context around every call of jax, never jax's
global flag.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

import jax
import numpy as np

from everypair.problem import gram

Tree = Any
Both = tuple[Tree, Tree]  # the parameters of the left tower and those of the right one


def precision(dtype: Any) -> AbstractContextManager[Any]:
    """The context in which jax computes in ``dtype``.

    >>> with precision(np.float64):
    ...     jax.numpy.zeros(1).dtype
    dtype('float64')
    """
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(np.dtype(dtype) == np.float64)
    return import_module("jax.experimental").enable_x64(np.dtype(dtype) == np.float64)  # jax before 0.8


def leafwise(function: Callable[..., Any], *trees: Tree) -> Tree:
    """Apply a function to the leaves of trees of one structure.

    >>> leafwise(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    return jax.tree_util.tree_map(function, *trees)


def leaves(tree: Tree) -> list[Any]:
    """The leaves of a tree, in its order."""
    return list(jax.tree_util.tree_leaves(tree))


def plain(tree: Tree) -> Tree:
    """The same tree with numpy arrays as leaves."""
    return leafwise(np.asarray, tree)


def zeros_like(tree: Tree) -> Tree:
    """A tree of zeros."""
    return leafwise(np.zeros_like, tree)


def inner(one: Tree, other: Tree) -> float:
    """⟨x, y⟩: blocks of rows in their own precision, their sum in float64.

    >>> inner({"a": np.ones(3), "b": np.ones((2, 2))}, {"a": np.ones(3), "b": np.ones((2, 2))})
    7.0
    """
    return sum(gram.inner(x, y) for x, y in zip(leaves(one), leaves(other)))


def plus(one: Tree, length: float, other: Tree) -> Tree:
    """x + α y.

    >>> plus([np.ones(2)], 0.5, [np.ones(2)])
    [array([1.5, 1.5])]
    """
    return leafwise(lambda x, y: x + x.dtype.type(length) * y, one, other)
