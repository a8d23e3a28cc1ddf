"""Recommenders of other libraries in a blend: anything with ``fit`` and ``score_users(users=…, interactions=…)``."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.models.recommend.fitted import Answer, Fitted, Newcomers
from everypair.models.recommend.pair_scores import scores_of_pairs
from everypair.models.recommend.positions import checked_rows
from everypair.models.recommend.recommender import Recommender
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
    return model.state_ if isinstance(model, Recommender) else ForeignModel(model, interactions)


def reads_features(model: Any) -> tuple[bool, bool]:
    """Whether ``fit`` of a model takes features of users, and of items."""
    if isinstance(model, Recommender):
        return model.reads_features
    parameters = inspect.signature(model.fit).parameters
    return "user_features" in parameters, "item_features" in parameters


def check_members(models: Any) -> None:
    """Refuse what are no recommenders."""
    if not isinstance(models, list | tuple) or not models:
        raise ValueError("models must be a list of recommenders, or None for OneClassMF and ItemItem.")
    for model in models:
        able = isinstance(model, Recommender) or all(
            hasattr(model, name) for name in ("fit", "score_users", "get_params")
        )
        if isinstance(model, type) or not able:
            raise TypeError(f"models must hold recommenders with fit and score_users, got {model!r}.")
