"""Recommenders that are known by the scores of a few users at a time: ranked, filtered and looked up block by block.

A subclass offers ``score_users`` for known and for new users; the same function serves the metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from everypair.features.feature_map import checked_matrix
from everypair.models.recommend.base import checked_positions, checked_rows
from everypair.models.stateful import Learnt, Stateful
from everypair.retrieve import top_k_of_blocks
from everypair.retrieve.streamed import rows_of_block

Array = NDArray[Any]


class ScoredModel(Stateful):
    """Base of models with ``score_users`` and the training ``interactions_``; the rest of a recommender follows.

    Memory beside the answer: a block of scores of at most ``everypair.retrieve.streamed.BLOCK_MB``, and what
    ``score_users`` needs for it.
    """

    interactions_ = Learnt()
    n_threads: int | None = None

    def score_users(self, users: ArrayLike | None = None, interactions: Any = None, features: Any = None) -> Array:
        """Scores of every item for users of the training matrix, or for new ones as in :meth:`recommend`."""
        raise NotImplementedError

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

        ``users``: positions in the training matrix (all of them by default), or describe users who were not there by
        ``interactions`` (their rows), by ``features`` (of a model that can read them), or by both. ``exclude_seen``
        hides what a user already has, likes and dislikes. ``allow`` and ``block`` are arrays of items for everybody, or
        sparse masks with a row per user. Equal scores rank by ascending item; where fewer than ``n`` items remain the
        rest is −1 with score −inf.
        """
        score_block, seen = self._asked(users, interactions, features)
        rows, n_items = seen.shape
        return top_k_of_blocks(
            score_block, rows, n_items, n, exclude=seen if exclude_seen else None, allow=allow, block=block,
            dtype=self.interactions_.dtype, n_threads=self.n_threads,
        )  # fmt: skip

    def score_pairs(self, users: ArrayLike, items: ArrayLike) -> Array:
        """Scores of the pairs (users[t], items[t])."""
        check_is_fitted(self)
        n_users, n_items = self.interactions_.shape
        rows = checked_positions(users, n_users, "user")
        columns = checked_positions(items, n_items, "item")
        if rows.shape != columns.shape:
            raise ValueError(f"users and items must have one length, got {rows.size} and {columns.size}.")
        asked, line = np.unique(rows, return_inverse=True)
        out = np.empty(len(rows), self.interactions_.dtype)
        height = rows_of_block(n_items, out.itemsize)
        order = np.argsort(line, kind="stable")
        for start in range(0, len(asked), height):
            own = order[slice(*np.searchsorted(line[order], [start, start + height]))]
            out[own] = self.score_users(asked[start : start + height])[line[own] - start, columns[own]]
        return out

    def _asked(
        self, users: ArrayLike | None, interactions: Any, features: Any
    ) -> tuple[Callable[[int, int], Array], Any]:
        """Return the scores of a stretch of the users that are asked for, as a function, and what they have seen."""
        check_is_fitted(self)
        n_users, n_items = self.interactions_.shape
        if interactions is None and features is None:
            positions = np.arange(n_users) if users is None else checked_positions(users, n_users, "user")
            seen = self.interactions_ if users is None else self.interactions_[positions]
            return lambda start, stop: self.score_users(positions[start:stop]), seen
        if users is not None:
            raise ValueError("give either users (known ones) or a description of new ones, not both.")
        read = None if features is None else checked_features(features)
        if interactions is None:
            seen = sp.csr_array((n_rows(read), n_items), dtype=self.interactions_.dtype)
            return lambda start, stop: self.score_users(features=_stretch(read, start, stop)), seen
        rows = checked_rows(interactions, n_items, self.interactions_.dtype)
        if read is not None and n_rows(read) != rows.shape[0]:
            raise ValueError(f"features must have one row per user ({rows.shape[0]}), got {n_rows(read)}.")
        return (
            lambda start, stop: self.score_users(
                interactions=rows[start:stop], features=None if read is None else _stretch(read, start, stop)
            ),
            rows,
        )

    def __sklearn_tags__(self) -> Any:
        """Sparse interactions are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def checked_features(features: Any) -> Any:
    """Return features as a matrix, or as a dict of named matrices."""
    if isinstance(features, Mapping):
        return {group: checked_matrix(part, f"features[{group!r}]") for group, part in features.items()}
    return checked_matrix(features, "features")


def n_rows(features: Any) -> int:
    """Number of entities that checked features describe."""
    return int((next(iter(features.values())) if isinstance(features, dict) else features).shape[0])


def _stretch(features: Any, start: int, stop: int) -> Any:
    if isinstance(features, dict):
        return {group: part[start:stop] for group, part in features.items()}
    return features[start:stop]
