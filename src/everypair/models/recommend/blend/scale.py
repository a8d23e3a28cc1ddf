"""The scale on which a blend adds scores: z = (s − zero) / √((1/n) Σ_j (s_j − zero)²), user by user.

Of a model with factors the root mean square follows from a Gram matrix, without the scores themselves:

    Σ_j (u·v_j − zero)² = ‖[u, −zero] [V, 1]ᵀ‖²
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.kernels.product_rows import row_dots
from everypair.kernels.score_rows import add_scaled
from everypair.models.recommend.factorization import FactorizationState
from everypair.models.recommend.factors import FactorState
from everypair.parallel import Chunk, even_chunks, run_chunks
from everypair.problem.gram import gram
from everypair.problem.rotation import row_products
from everypair.types import Array

ROWS_AT_ONCE = 4  # whose scores stay in the cache while they are scaled


def scaled(scores: Array, zero: float, n_threads: int) -> Array:
    """(s − zero) / rms(s − zero), row by row.

    >>> scaled(np.array([[1.0, 7.0]]), zero=0.0, n_threads=1).round(6).tolist()
    [[0.2, 1.4]]
    """
    kept = np.ascontiguousarray(scores)
    out = np.zeros_like(kept)

    def work(chunk: Chunk, worker: int) -> None:
        add_scaled(*chunk, kept, kept.dtype.type(zero), 1.0, out)

    run_chunks(work, even_chunks(len(out), ROWS_AT_ONCE), n_threads)
    return out


def scale_gram(value: Any, n_threads: int) -> Array | None:
    """[V, 1]ᵀ[V, 1] of a fitted value with factors, from which the root mean square of any user's scores follows."""
    if not isinstance(value, FactorState):
        return None
    right = value.item_factors
    extended = np.concatenate([right, np.ones((len(right), 1), right.dtype)], axis=1)
    return gram(extended, np.ones(len(right)), n_threads=n_threads).matrix


def scales_of(left: Array, gram_matrix: Array | None, zero: float, weight: float | Array) -> Array:
    """w / √((1/n) ‖[u, −zero] [V, 1]ᵀ‖²) of every row u, and 0 where all its scores are ``zero``."""
    assert gram_matrix is not None
    extended = np.concatenate([left.astype(np.float64), np.full((len(left), 1), -zero)], axis=1)
    squares = np.empty(len(left))
    row_dots(row_products(extended, np.arange(len(left)), gram_matrix), extended, squares)
    squares = np.maximum(squares, 0) / gram_matrix[-1, -1]
    return np.divide(weight, np.sqrt(squares), out=np.zeros(len(left)), where=squares > 0)


def zero_of(value: Any) -> float:
    """The score that a model pulls unknown pairs to, where it is one number; otherwise 0."""
    if not isinstance(value, FactorizationState) or isinstance(value.negatives.value, tuple):
        return 0.0
    return float(value.negatives.value)
