"""Parameters are trees of arrays: dicts, lists and tuples with arrays as leaves. What is computed with them as vectors.

Leaves are numpy arrays in the precision of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.problem import gram
from everypair.types import Array

Tree = Any
Both = tuple[Tree, Tree]  # the parameters of the left tower and those of the right one


def leafwise(function: Callable[..., Any], *trees: Tree) -> Tree:
    """Apply a function to the leaves of trees of one structure.

    >>> leafwise(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    first = trees[0]
    if isinstance(first, dict):
        return {key: leafwise(function, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, list | tuple):
        parts = [leafwise(function, *branches) for branches in zip(*trees, strict=True)]
        if isinstance(first, list):
            return parts
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    return first if first is None else function(*trees)


def leaves(tree: Tree) -> list[Any]:
    """The leaves of a tree: those of a dict by the order of its keys.

    >>> leaves({"b": [1, 2], "a": (3, None)})
    [3, 1, 2]
    """
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, list | tuple):
        return [leaf for branch in tree for leaf in leaves(branch)]
    return [] if tree is None else [tree]


def flattened(arrays: Sequence[Array], dtype: Any) -> Array:
    """Arrays one after the other, as one vector."""
    return np.concatenate([np.empty(0, dtype), *(array.ravel() for array in arrays)])


def unflattened(vector: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """The arrays of these shapes that lie in a vector one after the other.

    >>> [array.shape for array in unflattened(np.arange(5), [(2, 2), (1,)])]
    [(2, 2), (1,)]
    """
    found, start = [], 0
    for shape in shapes:
        stop = start + int(np.prod(shape))
        found.append(vector[start:stop].reshape(shape))
        start = stop
    return found


def zeros_like(tree: Tree) -> Tree:
    """A tree of zeros."""
    return leafwise(np.zeros_like, tree)


def inner(one: Tree, other: Tree) -> float:
    """⟨x, y⟩: blocks of rows in their own precision, their sum in float64.

    >>> inner({"a": np.ones(3), "b": np.ones((2, 2))}, {"a": np.ones(3), "b": np.ones((2, 2))})
    7.0
    """
    return sum(gram.inner(x, y) for x, y in zip(leaves(one), leaves(other)))


def square(tree: Tree) -> float:
    """‖x‖² in float64."""
    return sum(squared(leaf) for leaf in leaves(tree))


def squared(array: NDArray[Any]) -> float:
    """‖x‖² of one array in float64, without a copy of it.

    >>> squared(np.full((2, 2), 0.5, np.float32))
    1.0
    """
    return float(np.einsum("i,i->", array.ravel(), array.ravel(), dtype=np.float64))


def ridged(gradient: Tree, reg: Tree, theta: Tree) -> Tree:
    """g + λ x, where λ is a number or a column of them.

    >>> ridged([np.ones(2)], [0.5], [np.ones(2)]), ridged([np.ones((1, 1))], [0.0], [np.ones((1, 1))])
    ([array([1.5, 1.5])], [array([[1.]])])
    """
    return leafwise(lambda g, r, x: g + np.asarray(r, g.dtype) * x if np.any(r) else g, gradient, reg, theta)


def plus(one: Tree, length: float, other: Tree) -> Tree:
    """x + α y.

    >>> plus([np.ones(2)], 0.5, [np.ones(2)])
    [array([1.5, 1.5])]
    """
    return leafwise(lambda x, y: x + x.dtype.type(length) * y, one, other)
