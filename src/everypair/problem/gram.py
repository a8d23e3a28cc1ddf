"""All pairs through Gram matrices: VᵀQV and VᵀQṼ of a tall factor matrix, in float64, blocks in a fixed tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.norms import weighted_squares
from everypair.parallel import BLOCK_ROWS, Chunk, even_chunks, run_chunks, sum_blocks, thread_blocks, tree_sum

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
    return gram_of_sum(sum_blocks(_gram_block(factors, weights, values, n_threads), len(factors), n_threads))


def gram_parts(
    factors: NDArray[Any], weights: NDArray[Any], values: NDArray[Any] | None = None, n_threads: int = 1
) -> list[NDArray[np.float64]]:
    """[VᵀQV, VᵀQṼ] of every block of rows."""
    blocks = even_chunks(len(factors), BLOCK_ROWS)
    return run_chunks(_gram_block(factors, weights, values, n_threads), blocks, n_threads)


def _gram_block(
    factors: NDArray[Any], weights: NDArray[Any], values: NDArray[Any] | None, n_threads: int
) -> Callable[[Chunk, int], NDArray[np.float64]]:
    wide = thread_blocks(factors, np.float64, n_threads)
    scaled = wide if (weights == weights[:1]).all() else thread_blocks(factors, np.float64, n_threads)

    def work(block: Chunk, worker: int) -> NDArray[np.float64]:
        rows = slice(*block)
        own, weighted = wide[worker][: block[1] - block[0]], scaled[worker][: block[1] - block[0]]
        own[:] = factors[rows]
        weight = np.float64(weights[block[0]])
        if (weights[rows] == weight).all():  # BLAS needs half the products for XᵀX
            pull = own.sum(axis=0)[:, None] if values is None else own.T @ values[rows]
            return np.asarray(weight * np.hstack([own.T @ own, pull]))
        np.multiply(own, weights[rows, None], out=weighted)
        pull = weighted.sum(axis=0)[:, None] if values is None else weighted.T @ values[rows]
        return np.hstack([weighted.T @ own, pull])

    return work


def gram_of_sum(total: NDArray[np.float64]) -> Gram:
    """The Gram matrices that a sum of :func:`gram_parts` holds side by side."""
    rank = len(total)
    return Gram(total[:, :rank], total[:, rank:])


def weighted_norm(
    factors: NDArray[Any], weights: NDArray[Any], constant: int | None = None, n_threads: int = 1
) -> float:
    """Σ_i weight_i ‖factor_i‖² without the column ``constant``, accumulated in float64.

    >>> weighted_norm(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([1.0, 2.0]))
    23.0
    """
    return float(tree_sum(norm_parts(factors, weights, constant, n_threads)))


def norm_parts(
    factors: NDArray[Any], weights: NDArray[Any], constant: int | None = None, n_threads: int = 1
) -> list[float]:
    """Σ_i weight_i ‖factor_i‖² of every block of rows."""

    def block(chunk: Chunk, worker: int) -> float:
        return float(weighted_squares(*chunk, factors, weights, -1 if constant is None else constant))

    return run_chunks(block, even_chunks(len(factors), BLOCK_ROWS), n_threads)


def inner(a: NDArray[Any], b: NDArray[Any]) -> float:
    """⟨A,B⟩ over fixed blocks of rows, each in the arrays' own precision, their sum in float64."""
    return math.fsum(float(np.vdot(a[start:stop], b[start:stop])) for start, stop in even_chunks(len(a), DOT_ROWS))
