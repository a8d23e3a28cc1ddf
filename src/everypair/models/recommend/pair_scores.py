"""Scores of single pairs: the users among them are asked for once each, a few hundred at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import even_chunks
from everypair.types import Array

ASKED_AT_ONCE = 4096


def scores_of_pairs(value: Any, users: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
    """Scores of the pairs (users[t], items[t]) of a fitted value, to the bit those in its lists."""
    distinct, line = np.unique(users, return_inverse=True)
    if len(distinct) <= ASKED_AT_ONCE:
        scores: Array = value.known(distinct).scores.pairs(line, items, n_threads)
        return scores
    order = np.argsort(line, kind="stable")
    parts = []
    for start, stop in even_chunks(len(distinct), ASKED_AT_ONCE):
        own = order[slice(*np.searchsorted(line[order], [start, stop]))]
        parts.append((own, value.known(distinct[start:stop]).scores.pairs(line[own] - start, items[own], n_threads)))
    out = np.empty(len(users), parts[0][1].dtype)
    for own, scores in parts:
        out[own] = scores
    return out
