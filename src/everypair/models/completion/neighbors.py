"""The nearest known entities of each entity, by kernel values: a graph, and means of factors over them.

N_ij = k(i, j) where j is among the k nearest of i, else 0
mean of i = Σ_j k(i, j)² u_j / Σ_j k(i, j)²    over the k nearest of those that are known
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.features.laplacian import Laplacian
from everypair.models.completion.kernel_side import KernelSide
from everypair.parallel import Chunk, even_chunks, run_chunks, single_threaded_blas
from everypair.types import Array64

ROWS_AT_ONCE = 256


def neighbor_laplacian(side: KernelSide, k: int, n_threads: int) -> Laplacian:
    """D − N − Nᵀ."""
    n = side.known.shape[0]

    def work(chunk: Chunk, worker: int) -> tuple[NDArray[np.int64], Array64]:
        rows = np.arange(*chunk)
        values = side.values(slice(*chunk), slice(None)).copy()
        values[rows - chunk[0], rows] = -np.inf
        return nearest(values, k)

    found = run_chunks(work, even_chunks(n, ROWS_AT_ONCE), n_threads)
    places = np.concatenate([places for places, _ in found])
    weights = np.concatenate([weights for _, weights in found])
    rows = np.repeat(np.arange(n), places.shape[1])
    N = sp.csr_array((weights.ravel(), (rows, places.ravel())), shape=(n, n))
    return Laplacian.from_similarity(2 * N, dtype=np.float64)


def nearest(values: Array64, k: int) -> tuple[NDArray[np.int64], Array64]:
    """Places and values, at least 0, of the k greatest of each row; equal ones by ascending place.

    >>> places, weights = nearest(np.array([[0.1, 0.9, -0.2, 0.9]]), 2)
    >>> places.tolist(), weights.tolist()
    ([[1, 3]], [[0.9, 0.9]])
    """
    k = min(k, values.shape[1])
    places = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return places, np.maximum(np.take_along_axis(values, places, axis=1), 0)


def mean_of_nearest(values: Array64, factors: Array64, known: NDArray[Any], k: int) -> Array64:
    """Means of the factors of the k nearest ``known`` entities (positions), weighted by squares of kernel values.

    >>> values, factors = np.array([[0.5, 1.0, 1.0]]), np.array([[2.0], [4.0], [9.0]])
    >>> mean_of_nearest(values, factors, known=np.array([0, 1]), k=2).tolist()
    [[3.6]]
    """
    places, weights = nearest(values[:, known], k)
    weights = np.square(weights)
    total = weights.sum(axis=1, keepdims=True)
    with single_threaded_blas():
        sums = np.einsum("ik,ikr->ir", weights, factors[known[places]])
    return np.asarray(np.divide(sums, total, out=np.zeros_like(sums), where=total > 0))
