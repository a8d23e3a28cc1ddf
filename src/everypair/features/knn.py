"""A similarity graph from features: s_ij > 0 where i is among the k nearest of j, or j among those of i.

    S ← (S + Sᵀ)/2,   s_ij = max(0, cos(x_i, x_j))  or  1/(1 + ‖x_i − x_j‖)

Rows without any feature are isolated: nothing is known about them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn import config_context

from everypair.check import dense_array, integer

_BLOCK_MB = 64  # distances held at a time


def knn_graph(features: Any, k: int = 10, metric: Literal["cosine", "euclidean"] = "cosine") -> Any:
    """Return the symmetric k-nearest-neighbour graph of the rows of ``features`` as a csr array.

    The graph is non-negative and has no self-loops. ``features`` is sparse or dense, one row per node. With
    ``metric="cosine"`` similarities are cosines, negative ones cut to 0; with ``"euclidean"`` they are
    1/(1 + distance). With k or fewer other rows to choose from, all of them are neighbours. Distances are
    computed block by block, never for all pairs at once.

    >>> graph = knn_graph(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), k=1)
    >>> graph.toarray().tolist()
    [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    matrix = _checked_features(features)
    integer("k", k)
    if metric not in ("cosine", "euclidean"):
        raise ValueError(f"metric must be 'cosine' or 'euclidean', got {metric!r}.")
    size = matrix.shape[0]
    known = np.flatnonzero(abs(matrix).max(axis=1).toarray().ravel() if sp.issparse(matrix) else matrix.any(axis=1))
    neighbours = min(int(k), len(known) - 1)
    if neighbours < 1:
        return sp.csr_array((size, size), dtype=matrix.dtype)
    from sklearn.neighbors import NearestNeighbors  # slow to import, and seldom needed

    search = NearestNeighbors(n_neighbors=neighbours, metric=metric, algorithm="brute").fit(matrix[known])
    with config_context(working_memory=_BLOCK_MB):
        distances, nearest = search.kneighbors()  # without an argument a row is not its own neighbour
    similarities = np.maximum(1.0 - distances, 0.0) if metric == "cosine" else 1.0 / (1.0 + distances)
    rows = np.repeat(known, neighbours)
    directed = sp.csr_array(
        (similarities.ravel().astype(matrix.dtype), (rows, known[nearest.ravel()])), shape=(size, size)
    )
    graph = sp.csr_array((directed + directed.T) * matrix.dtype.type(0.5))
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


def _checked_features(features: Any) -> Any:
    sparse = sp.issparse(features)
    matrix = sp.csr_array(features) if sparse else dense_array(features, "features")
    if matrix.ndim != 2 or min(matrix.shape) == 0:
        raise ValueError(f"features must be a non-empty matrix, one row per node, got shape {matrix.shape}.")
    if matrix.dtype.kind not in "buif":
        raise TypeError(f"features must be real numbers, got {matrix.dtype}.")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    if not np.isfinite(matrix.data if sparse else matrix).all():
        raise ValueError("features has NaN or infinite values: drop or fill them.")
    return matrix
