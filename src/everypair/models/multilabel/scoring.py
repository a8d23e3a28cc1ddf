"""Scores of prepared rows by what was learnt: block after block, the same blocks on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from everypair.parallel import Chunk, even_chunks, run_chunks
from everypair.types import Array

Result = TypeVar("Result")
SCORED_ROWS = 256  # rows scored at once


class LabelModel(Protocol):
    """What a classifier learns: a frozen dataclass marked as storable."""

    def scores(self, X: Any) -> Array:
        """Scores (c × L) of c prepared rows. It is called from several threads at once, with BLAS on one thread."""
        ...


def by_blocks(model: LabelModel, X: Any, work: Callable[[Array], Result], n_threads: int) -> list[Result]:
    """Apply ``work`` to the scores of one block of rows after the other."""

    def block(chunk: Chunk, worker: int) -> Result:
        return work(np.ascontiguousarray(model.scores(X[slice(*chunk)])))

    return run_chunks(block, even_chunks(X.shape[0], SCORED_ROWS), n_threads)


def all_scores(model: LabelModel, X: Any, n_threads: int) -> Array:
    """Scores (n × L) of prepared rows."""
    return np.concatenate(by_blocks(model, X, lambda scores: scores, n_threads))
