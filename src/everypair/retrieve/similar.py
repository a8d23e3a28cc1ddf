"""Most similar rows by cosine: cos(x, y) = x·y / (‖x‖ ‖y‖), and 0 where either is the zero vector.

Where every row is several vectors with weights, cos(x, y) = Σ_p w_p cos(x_p, y_p) / Σ_p w_p.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.retrieve.scores import Scores, checked_matrix
from everypair.types import Array

UnitVectors = list[tuple[float, Any]]  # (weight, rows of length 1, dense or csr)


def most_similar(factors: Array, rows: Any, n: int, **options: Any) -> tuple[NDArray[np.int32], Array]:
    """Return the n rows of ``factors`` with the greatest cosine to each of ``rows``: (indices, cosines).

    A row is never in its own list. ``options`` (``allow``, ``block``, ``memory_mb``, ``n_threads``) and the order of
    the result are those of :func:`top_k`; beside its scratch memory, a copy of ``factors`` of unit length is held.

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
    return Scores.of_factors(unit[chosen], unit).nearest(chosen, n, **options)


def cosines_of(vectors: UnitVectors, rows: NDArray[Any]) -> Scores:
    """Cosines of a few rows with all rows.

    >>> cosines_of([(1.0, sp.csr_array(np.eye(2))), (3.0, np.ones((2, 1)))], np.array([0])).dense(1).tolist()
    [[1.0, 0.75]]
    """
    if len(vectors) == 1 and not sp.issparse(vectors[0][1]):
        ((_, unit),) = vectors
        return Scores.of_factors(unit[rows], unit)
    total = sum(weight for weight, _ in vectors)
    dtype = np.result_type(*(unit.dtype for _, unit in vectors))

    def fill(start: int, stop: int, out: Array) -> None:
        out[:] = 0
        for weight, unit in vectors:
            product = unit[rows[start:stop]] @ unit.T
            out += dtype.type(weight / total) * (product.toarray() if sp.issparse(product) else product)
        np.clip(out, -1, 1, out=out)

    return Scores(len(rows), vectors[0][1].shape[0], dtype, fill)


def unit_rows(factors: Array) -> Array:
    """Scale rows to length 1; zero rows stay zero.

    Dividing by the peak first keeps squares in range.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    peak = np.abs(factors).max(axis=1, keepdims=True)
    unit = np.divide(factors, peak, out=np.zeros_like(factors), where=peak > 0)
    length = np.sqrt(np.einsum("ij,ij->i", unit, unit))[:, None]
    return np.divide(unit, length, out=unit, where=length > 0)
