"""Exact top-k of factors: the n items j with the greatest u_i · v_j, for many rows i, in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.retrieve.scores import Scores
from everypair.retrieve.tiles import FACTORS_MB
from everypair.types import Array


def top_k(
    left: Array,
    right: Array,
    n: int,
    *,
    exclude: Any = None,
    allow: Any = None,
    block: Any = None,
    memory_mb: float = FACTORS_MB,
    n_threads: int | None = None,
) -> tuple[NDArray[np.int32], Array]:
    """Return the n items with the greatest ``left[i] @ right[j]`` for every row i: (items, scores).

    Both are rows × n in descending order of score, ties by ascending item; where fewer than n items remain
    for a row the rest is −1 and −inf.

    Parameters
    ----------
    left, right
        Factors, rows × k and items × k, float32 or float64.
    n
        How many items per row.
    exclude
        Sparse rows × items: every stored entry is hidden from its row (the items it has seen).
    allow
        Only these items: indices or a boolean array of length items (for every row; only these are scored),
        or a sparse matrix of rows × items (row by row, nonzero = allowed).
    block
        Hide these items: the same three forms.
    memory_mb
        Scratch memory of all threads together, in units of 2²⁰ bytes; the two results are not part of it.
    n_threads
        Number of threads, ``None`` for all cores. The result does not depend on it.

    Examples
    --------
    >>> left = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> right = np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
    >>> items, scores = top_k(left, right, 2)
    >>> items
    array([[0, 1],
           [2, 1]], dtype=int32)
    >>> top_k(left, right, 2, block=[1])[0]
    array([[0, 2],
           [2, 0]], dtype=int32)
    """
    return Scores.of_factors(left, right).top_k(
        n, exclude=exclude, allow=allow, block=block, memory_mb=memory_mb, n_threads=n_threads
    )
