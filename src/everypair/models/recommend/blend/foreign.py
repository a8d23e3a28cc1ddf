"""Recommenders of other libraries in a blend: anything with ``fit`` and ``score_users(users=…, interactions=…)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.models.recommend.fitted import Answer, Fitted, NamedValue, Newcomers
from everypair.models.recommend.pair_scores import scores_of_pairs
from everypair.models.recommend.positions import checked_rows
from everypair.retrieve import Scores
from everypair.types import Array


@dataclass(frozen=True)
class ForeignModel:
    """A fitted model of another library behind the Protocol of fitted values."""

    model: Any
    interactions: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        rows, columns = self.interactions.shape
        return rows, columns

    def known(self, users: NDArray[Any] | None) -> Answer:
        """Scores of users by position."""
        chosen = np.arange(self.shape[0]) if users is None else users

        def fill(start: int, stop: int, out: Array) -> None:
            out[:] = self.model.score_users(users=chosen[start:stop])

        return Answer(self._scores(len(chosen), fill), StoredRows.taken(self.interactions, users))

    def described(self, users: Newcomers, n_threads: int) -> Answer:
        """Scores of new users by their interactions."""
        rows = checked_rows(users.events, self.shape[1], self.interactions.dtype)

        def fill(start: int, stop: int, out: Array) -> None:
            out[:] = self.model.score_users(interactions=sp.csr_array(rows)[start:stop])

        return Answer(self._scores(rows.shape[0], fill), StoredRows.of(rows))

    def pair_scores(self, users: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
        """Scores of the pairs (users[t], items[t])."""
        return scores_of_pairs(self, users, items, n_threads)

    def _scores(self, rows: int, fill: Any) -> Scores:
        return Scores(rows, self.shape[1], np.dtype(np.float32), fill)


def value_of(model: Any, interactions: Any) -> Fitted:
    """The fitted value of a member of a blend, ours or another library's."""
    own = vars(model).get("state_")
    if isinstance(own, NamedValue):
        return cast(Fitted, own)
    return ForeignModel(model, interactions)
