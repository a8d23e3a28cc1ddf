"""The Gram eigenbasis: VᵀQV = E Σ Eᵀ. Rotating both sides by E changes no score and no ridge, and makes every row's
all-pairs term diagonal, p_i Σ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import blocked_product, single_threaded_blas

Array = NDArray[Any]
ROTATED_ROWS = 4096
NOTHING = 16  # units of rounding: a direction that is shorter, beside the longest, holds nothing else


def eigenbasis(matrix: NDArray[np.float64], free: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of the free block of the Gram matrix; a constant column keeps its own axis."""
    sigma, basis = np.zeros(len(free)), np.eye(len(free))
    with single_threaded_blas():
        values, vectors = np.linalg.eigh(matrix[np.ix_(free, free)])
    sigma[free] = np.maximum(values, 0.0)
    basis[np.ix_(free, free)] = vectors
    return sigma, basis


def rotate(factors: Array, rotation: Array, n_threads: int) -> Array:
    """Return factors @ rotation, in fixed blocks."""
    return blocked_product(factors, rotation, ROTATED_ROWS, n_threads)


def unspanned(rotated: Array, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the free directions in which the rotated factors hold nothing but rounding: they are no directions at all.

    >>> unspanned(np.array([[1.0, 1e-17], [2.0, -1e-16]]), np.ones(2, bool)).tolist()
    [False, True]
    """
    sizes = np.einsum("ij,ij->j", rotated, rotated, dtype=np.float64)
    limit = NOTHING * np.finfo(rotated.dtype).eps
    return np.asarray(free & (sizes <= limit**2 * sizes.max(initial=0)))
