"""All pairs through Gram matrices: VᵀQV and VᵀQṼ of a tall factor matrix, in float64, blocks in a fixed tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import BLOCK_ROWS, Chunk, even_chunks, run_chunks, tree_sum

DOT_ROWS = 4096


@dataclass(frozen=True)
class Gram:
    """What the all-pairs term knows of one side: ``matrix`` = VᵀQV (k × k) and ``pull`` = VᵀQṼ (k × r).

    Where ỹ is constant, Ṽ is a column of ones here and the constant itself is applied by whoever uses ``pull``.
    """

    matrix: NDArray[np.float64]
    pull: NDArray[np.float64]


def gram(factors: NDArray[Any], weights: NDArray[Any], values: NDArray[Any] | None = None, n_threads: int = 1) -> Gram:
    """Return the weighted Gram matrices of ``factors``, the same bits on any number of threads.

    >>> gram(np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([1.0, 3.0]))
    Gram(matrix=array([[13.,  6.],
           [ 6.,  3.]]), pull=array([[7.],
           [3.]]))
    """
    return gram_of_sum(tree_sum(gram_parts(factors, weights, values, n_threads)))


def gram_parts(
    factors: NDArray[Any], weights: NDArray[Any], values: NDArray[Any] | None = None, n_threads: int = 1
) -> list[NDArray[np.float64]]:
    """[VᵀQV, VᵀQṼ] of every block of rows."""

    def block(chunk: Chunk, worker: int) -> NDArray[np.float64]:
        rows = slice(*chunk)
        own = factors[rows].astype(np.float64)
        other = np.ones((len(own), 1)) if values is None else values[rows]
        weighted, equal = own * weights[rows, None], bool((weights[rows] == weights[0]).all())
        square = weights[0] * (own.T @ own) if equal else weighted.T @ own  # BLAS needs half the products for XᵀX
        return np.hstack([square, weighted.T @ other])

    return run_chunks(block, even_chunks(len(factors), BLOCK_ROWS), n_threads)


def gram_of_sum(total: NDArray[np.float64]) -> Gram:
    """The Gram matrices that a sum of :func:`gram_parts` holds side by side."""
    rank = len(total)
    return Gram(total[:, :rank], total[:, rank:])


def weighted_norm(factors: NDArray[Any], weights: NDArray[Any]) -> float:
    """Σ_i weight_i ‖factor_i‖², accumulated in float64.

    >>> weighted_norm(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([1.0, 2.0]))
    23.0
    """
    return float(tree_sum(norm_parts(factors, weights)))


def norm_parts(factors: NDArray[Any], weights: NDArray[Any]) -> list[float]:
    """Σ_i weight_i ‖factor_i‖² of every block of rows."""
    parts = []
    for start, stop in even_chunks(len(factors), BLOCK_ROWS):
        block = factors[start:stop].astype(np.float64)
        parts.append(float(weights[start:stop] @ np.square(block).sum(axis=1)))
    return parts


def inner(a: NDArray[Any], b: NDArray[Any]) -> float:
    """⟨A,B⟩ over fixed blocks of rows, each in the arrays' own precision, their sum in float64."""
    return math.fsum(float(np.vdot(a[start:stop], b[start:stop])) for start, stop in even_chunks(len(a), DOT_ROWS))
