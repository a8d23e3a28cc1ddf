"""What every completion model has learnt, whatever it is made of: values of known entries, and of new rows and columns.

A state gives blocks of values; single entries and the scores that are ranked follow from these, or are given directly
where a state has something cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.ids import Ids
from everypair.data.observed import Observed
from everypair.parallel import even_chunks
from everypair.retrieve.scores import Scores
from everypair.types import Array, Array64

ROWS_AT_ONCE = 256
EVERY = slice(None)


@dataclass(frozen=True, kw_only=True)
class FittedMatrix:
    """Base of fitted states, whose ``block`` answers; rows and columns may have names."""

    observed: Any
    row_ids: Ids | None = None
    column_ids: Ids | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        n, m = self.observed.shape
        return int(n), int(m)

    @property
    def levels(self) -> tuple[float, float] | None:
        """The two values of the observed entries, ``None`` where there are more."""
        return Observed.from_matrix(self.observed).levels

    def read(self, side: str, features: Any) -> Any:
        """Features of new entities of the ``"left"`` or ``"right"`` side as :meth:`block` takes them."""
        raise ValueError(f"this model was fitted without {side}_features, so it cannot read those of new entities.")

    def block(
        self, rows: Any, columns: Any, new_left: Any = None, new_right: Any = None, n_threads: int = 1
    ) -> Array64:
        """Values of rows × columns, given by positions or a slice; new entities are what :meth:`read` made of them."""
        raise NotImplementedError

    def pairs(self, i: NDArray[np.int64], j: NDArray[np.int64], n_threads: int = 1) -> Array64:
        """Values of the entries (i[t], j[t])."""
        values = np.empty(len(i))
        order = np.argsort(i, kind="stable")
        own, starts = np.unique(i[order], return_index=True)
        ends = np.append(starts, len(i))
        for first, last in even_chunks(len(own), ROWS_AT_ONCE):
            chosen = order[ends[first] : ends[last]]
            columns, place = np.unique(j[chosen], return_inverse=True)
            block = self.block(own[first:last], columns, n_threads=n_threads)
            values[chosen] = block[np.searchsorted(own[first:last], i[chosen]), place]
        return values

    def entries(self, pattern: Observed, n_threads: int = 1) -> Array64:
        """Values of the entries of ``pattern``, row-major."""
        return self.pairs(pattern.rows, pattern.indices, n_threads)

    def scores(self, rows: Any, new_left: Any = None, n_threads: int = 1) -> Scores:
        """What ranks the columns of rows, known ones by position or new ones."""
        values = self.block(rows, EVERY, new_left, n_threads=n_threads)

        def fill(start: int, stop: int, out: Array) -> None:
            out[:] = values[start:stop]

        return Scores(len(values), values.shape[1], values.dtype, fill)

    def shown(self, values: Array64) -> Array64:
        """The values of what was ranked."""
        return values
