"""Loss terms of every pair of some rows, stored or not, from a dense block of their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from everypair.kernels.stored_pairs import OPTIONS
from everypair.kernels.terms import row_terms


@njit(cache=True, **OPTIONS)
def every_terms(
    loss: Any, start: Any, stop: Any, indptr: Any, indices: Any, c: Any, y: Any, z: Any, p: Any, q: Any, score: Any,
    values: Any, r: Any, t: Any,
) -> None:  # fmt: skip
    """value_i = Σ_j w ℓ(x, s), r = w ℓ' and t = w ℓ'' for rows [start, stop).

    (w, x) is (c, y) on a stored pair and (p_i q_j, z) elsewhere. ``score``, ``values``, r and t have one row for each
    of these rows, and one column for every j; so has z, or it is a single number for all.
    """
    columns = np.uint64(len(q))
    weights, targets = np.empty(columns, score.dtype), np.empty(columns, score.dtype)
    nothing, origin = np.zeros(columns, score.dtype), np.zeros(1, score.dtype)  # no square is taken off
    for i in range(start, stop):
        b = np.uint64(i - start)
        for j in range(columns):
            weights[j] = p[i] * q[j]
            targets[j] = z[b, j] if z.size > 1 else z[0, 0]
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            column = np.uint64(indices[e])
            weights[column] = c[e]
            targets[column] = y[e]
        values[b] = row_terms(loss[0], columns, 0, 0, columns, weights, targets, origin, nothing, score[b], r[b], t[b])
