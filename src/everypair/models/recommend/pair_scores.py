"""Scores of single pairs of models whose scores are rows: a few users at a time, each row read once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import even_chunks
from everypair.types import Array

LOOKED_UP_AT_ONCE = 256


def looked_up(value: Any, users: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
    """Scores of the pairs (users[t], items[t]) of a fitted value."""
    distinct, line = np.unique(users, return_inverse=True)
    order = np.argsort(line, kind="stable")
    parts = []
    for start, stop in even_chunks(len(distinct), LOOKED_UP_AT_ONCE):
        own = order[slice(*np.searchsorted(line[order], [start, stop]))]
        scores = value.known(distinct[start:stop]).scores.dense(n_threads)
        parts.append((own, scores[line[own] - start, items[own]]))
    out = np.empty(len(users), parts[0][1].dtype if parts else np.float32)
    for own, scores in parts:
        out[own] = scores
    return out
