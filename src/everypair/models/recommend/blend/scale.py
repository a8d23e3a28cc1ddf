"""The scale on which a blend adds scores: z = (s − zero) / √((1/n) Σ_j (s_j − zero)²), user by user.

Of a model with factors the root mean square follows from a Gram matrix, without the scores themselves:

    Σ_j (u·v_j − zero)² = ‖[u, −zero] [V, 1]ᵀ‖²
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from everypair.kernels.score_rows import add_scaled
from everypair.models.recommend.base import FactorModel
from everypair.models.recommend.scored import ScoredModel
from everypair.parallel import Chunk, even_chunks, run_chunks
from everypair.problem.gram import gram
from everypair.problem.losses import get_loss
from everypair.problem.negatives import resolve_value
from everypair.retrieve import ScoredRows
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


def scale_gram(model: Any, n_threads: int) -> Array | None:
    """[V, 1]ᵀ[V, 1] of a model with factors, from which the root mean square of any user's scores follows."""
    if not isinstance(model, FactorModel):
        return None
    right = model.right_factors_
    extended = np.concatenate([right, np.ones((len(right), 1), right.dtype)], axis=1)
    return gram(extended, np.ones(len(right)), n_threads=n_threads).matrix


def scales_of(left: Array, gram_matrix: Array | None, zero: float, weight: float) -> Array:
    """w / √((1/n) ‖[u, −zero] [V, 1]ᵀ‖²) of every row u, and 0 where all its scores are ``zero``."""
    assert gram_matrix is not None
    extended = np.concatenate([left.astype(np.float64), np.full((len(left), 1), -zero)], axis=1)
    squares = np.maximum(np.einsum("ij,ij->i", extended @ gram_matrix, extended), 0) / gram_matrix[-1, -1]
    return np.divide(weight, np.sqrt(squares), out=np.zeros(len(left)), where=squares > 0)


def rows_of(
    model: Any, users: ArrayLike | None, interactions: Any, features: Any, shape: tuple[int, int]
) -> ScoredRows:
    """Scores of a part without factors: of the library's own by rows, of any other model by ``score_users``."""
    if isinstance(model, ScoredModel):
        return model.scored_rows(users, interactions, features)[0]

    def fill(start: int, stop: int, out: Array) -> None:
        if interactions is None:
            asked = np.arange(start, stop) if users is None else np.atleast_1d(users)[start:stop]
            out[:] = model.score_users(users=asked)
        else:
            out[:] = model.score_users(interactions=sp.csr_array(interactions)[start:stop])

    return ScoredRows(*shape, dtype=np.dtype(np.float32), fill=fill)


def zero_of(model: Any) -> float:
    """The score that a model pulls unknown pairs to, where it is one number; otherwise 0."""
    if not (hasattr(model, "negative_value") and hasattr(model, "loss")):
        return 0.0
    value = resolve_value(model.negative_value, get_loss(model.loss))
    return float(value) if isinstance(value, int | float | np.number) else 0.0
