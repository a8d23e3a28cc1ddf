"""Most similar rows by cosine: cos(x, y) = x·y / (‖x‖ ‖y‖), and 0 where either is the zero vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.retrieve.topk import MEMORY_MB, checked_matrix, top_k


def most_similar(
    factors: NDArray[Any],
    rows: Any,
    n: int,
    *,
    allow: Any = None,
    block: Any = None,
    memory_mb: float = MEMORY_MB,
    n_threads: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the n rows of ``factors`` with the greatest cosine to each of ``rows``: (indices, cosines).

    A row is never in its own list. The other arguments and the order of the result are those of
    :func:`top_k`; beside its scratch memory, one copy of ``factors`` scaled to unit length is held.

    >>> factors = np.array([[1.0, 0.0], [3.0, 3.0], [0.0, 2.0], [0.0, 0.0]])
    >>> most_similar(factors, [0], 2)
    (array([[1, 2]], dtype=int32), array([[0.70710678, 0. ]]))
    """
    factors = checked_matrix(factors, "factors")
    chosen = np.asarray(rows)
    if chosen.size == 0:
        chosen = np.empty(0, dtype=np.int64)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise TypeError("rows must be a list or array of integer row indices of factors.")
    outside = chosen[(chosen < 0) | (chosen >= len(factors))]
    if len(outside):
        raise ValueError(
            f"rows names row {outside[0]}, but factors has {len(factors)} rows: "
            f"indices go from 0 to {len(factors) - 1}."
        )
    unit = unit_rows(factors)
    itself = sp.csr_array(
        (np.ones(len(chosen), dtype=bool), chosen, np.arange(len(chosen) + 1)),
        shape=(len(chosen), len(factors)),
    )
    indices, cosines = top_k(
        unit[chosen],
        unit,
        n,
        exclude=itself,
        allow=allow,
        block=block,
        memory_mb=memory_mb,
        n_threads=n_threads,
    )
    np.clip(cosines, -1.0, 1.0, out=cosines, where=indices >= 0)
    return indices, cosines


def unit_rows(factors: NDArray[Any]) -> NDArray[Any]:
    """Scale rows to length 1; zero rows stay zero.

    Dividing by the peak first keeps squares in range.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    peak = np.abs(factors).max(axis=1, keepdims=True)
    unit = np.divide(factors, peak, out=np.zeros_like(factors), where=peak > 0)
    length = np.sqrt(np.einsum("ij,ij->i", unit, unit))[:, None]
    return np.divide(unit, length, out=unit, where=length > 0)
