"""Recommenders that are known by the scores of a few users at a time: ranked, filtered and looked up.

A subclass says how the scores of users, known or described, are made (:class:`~everypair.retrieve.ScoredRows`); nothing
ever holds those of all users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from everypair.features.feature_map import checked_matrix
from everypair.features.named_columns import Seen, named_columns
from everypair.models.estimator import FittedAttribute
from everypair.models.recommend.base import checked_positions
from everypair.models.recommend.held_out import held_out_ndcg
from everypair.models.recommend.naming import asks
from everypair.models.recommend.recommender import Recommender
from everypair.parallel import even_chunks, resolve_threads
from everypair.problem.layout import LEFT
from everypair.retrieve import ScoredRows
from everypair.types import Array

_LOOKED_UP_AT_ONCE = 256


class ScoredModel(Recommender):
    """Base of models with the training ``interactions_`` and ``scored_rows``; the rest of a recommender follows."""

    interactions_ = FittedAttribute()
    n_threads: int | None = None

    def scored_rows(self, users: ArrayLike | None, interactions: Any, features: Any) -> tuple[ScoredRows, Any]:
        """Scores of the users that are asked for, as in :meth:`recommend`, and the items they have (csr)."""
        raise NotImplementedError

    @asks(LEFT, answer="item")
    def recommend(
        self,
        users: ArrayLike | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        allow: Any = None,
        block: Any = None,
        *,
        interactions: Any = None,
        features: Any = None,
    ) -> tuple[NDArray[np.int32], Array]:
        """Return the ``n`` best items of each user and their scores, both of shape (users, n).

        ``users``: all of them by default, or describe users who were not there by ``interactions``, by ``features`` (of
        a model that can read them), or by both. ``exclude_seen`` hides what a user already has, likes and dislikes.
        ``allow`` and ``block`` are lists of items for everybody, or sparse masks with a row per user. Equal scores rank
        by ascending item; where fewer than ``n`` items remain the rest is none with score −inf. Questions and answers
        are in ids or in positions, as for :meth:`OneClassMF.recommend`.
        """
        scores, seen = self._asked(users, interactions, features)
        return scores.top_k(
            n, exclude=seen if exclude_seen else None, allow=allow, block=block, n_threads=self.n_threads
        )

    @asks(LEFT)
    def score_users(self, users: ArrayLike | None = None, interactions: Any = None, features: Any = None) -> Array:
        """Scores of every item for users of the training matrix, or for new ones as in :meth:`recommend`."""
        scores, _ = self._asked(users, interactions, features)
        return scores.dense(resolve_threads(self.n_threads))

    @asks()
    def score_pairs(self, users: ArrayLike, items: ArrayLike) -> Array:
        """Scores of the pairs (users[t], items[t]), by id or position."""
        check_is_fitted(self)
        n_users, n_items = self.interactions_.shape
        rows = checked_positions(users, n_users, "user")
        columns = checked_positions(items, n_items, "item")
        if rows.shape != columns.shape:
            raise ValueError(f"users and items must have one length, got {rows.size} and {columns.size}.")
        asked, line = np.unique(rows, return_inverse=True)
        order = np.argsort(line, kind="stable")
        out = np.empty(len(rows), self.interactions_.dtype)
        for start, stop in even_chunks(len(asked), _LOOKED_UP_AT_ONCE):
            own = order[slice(*np.searchsorted(line[order], [start, stop]))]
            out[own] = self.score_users(asked[start:stop])[line[own] - start, columns[own]]
        return out

    def score(self, interactions: Any, y: None = None) -> float:
        """Mean nDCG@10 of held-out positives (of the training's users and items), which scikit-learn's searches take.

        See :class:`everypair.data.Entries` for those, and :func:`everypair.evaluate.ranking_metrics` for all metrics.
        """
        check_is_fitted(self)
        return held_out_ndcg(self, interactions)

    def _asked(self, users: ArrayLike | None, interactions: Any, features: Any) -> tuple[ScoredRows, Any]:
        check_is_fitted(self)
        if users is not None and not (interactions is None and features is None):
            raise ValueError("give either users (known ones) or a description of new ones, not both.")
        return self.scored_rows(users, interactions, features)

    def __sklearn_tags__(self) -> Any:
        """Sparse interactions are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def count_described(features: Any) -> int:
    """Number of entities that features, a matrix or a dict of named matrices, describe."""
    part = next(iter(features.values()), None) if isinstance(features, Mapping) else features
    frame = named_columns(part, "features", Seen())
    return int(checked_matrix(part if frame is None else frame.matrix, "features").shape[0])
