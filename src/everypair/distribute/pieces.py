"""Runs of stored pairs as they travel between workers, and how large what travels is."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.pairs import Compressed
from everypair.features.matrix import Features
from everypair.types import Array


class Sized:
    """Tells the scheduler how large a result is, by which it places tasks, spills and counts what it sends."""

    def __sizeof__(self) -> int:
        return size_of(vars(self))


def size_of(value: Any) -> int:
    """Bytes of the arrays in a value, however deep.

    >>> size_of({"a": [np.zeros(3), None]})
    24
    """
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    if isinstance(value, Features):
        return 2 * value.nnz * (value.dtype.itemsize + 4) if value.dense is None else int(value.dense.nbytes)
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    return size_of(vars(value)) if is_dataclass(value) else 0


@dataclass(frozen=True)
class Piece(Sized):
    """The stored pairs of a run of rows, with the positions of the other side as they are."""

    start: int
    stored: Compressed
    disliked: NDArray[np.bool_] | None = None
    targets: Array | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """Positives of every row."""
        if self.disliked is None:
            return np.diff(self.stored.indptr)
        liked = np.concatenate([[0], np.cumsum(~self.disliked)])
        return np.diff(liked[self.stored.indptr])
