"""Users by their features, fitted: s_uj = base_j + x_u·p_j, where p_j = Σ_v y_vj x_v adds up who has an item.

    S = base + X Pᵀ,     P = YᵀX       or, where a ridge regression takes out what users have in common,
    S = base + (X (I − GGᵀ) Pᵀ / (λ + τ) − h ∘ Y) ∘ 1/(1 − h)       (:mod:`everypair.models.recommend.content_ridge`)

Y has 1 for a like and −1 for a dislike, X a row of length 1 for every user. Who comes without features is described by
those who have the same items: x = yP, of length 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.features.feature_map import FeatureMap
from everypair.features.rarity import RarityScaling
from everypair.features.scaling import prepare_features
from everypair.kernels.score_rows import sparse_scores
from everypair.kernels.writable import writable_view
from everypair.models.codec import storable
from everypair.models.recommend.content_ridge import ContentRidge
from everypair.models.recommend.fitted import Answer, NamedValue, Newcomers
from everypair.models.recommend.growth import appended, new_events
from everypair.models.recommend.item_item_state import signs
from everypair.models.recommend.pair_scores import scores_of_pairs
from everypair.models.recommend.positions import checked_columns, stored_rows
from everypair.models.state_checks import check_array, check_matrix
from everypair.problem.layout import LEFT, RIGHT
from everypair.problem.rotation import row_products
from everypair.retrieve import Scores
from everypair.retrieve.index import Index
from everypair.retrieve.similar import SparseVectors, UnitVectors
from everypair.types import Array


@storable
@dataclass(frozen=True, kw_only=True)
class ContentUsersState(NamedValue):
    """X of users and P of items (csr or dense), how later rows become such, the base of scores, what users have.

    ``ridge`` takes out of X what users have in common; None adds up cosines.
    """

    content: Any
    profiles: Any
    reader: FeatureMap
    scaling: RarityScaling
    base: Array
    interactions: Any
    ridge: ContentRidge | None = None

    def check(self) -> None:
        """Refuse content and profiles that do not fit the interactions or what reads them."""
        width = self.reader.width
        check_matrix("interactions", self.interactions, self.interactions.shape)
        check_array("base", self.base, self.shape[RIGHT])
        check_array("weights", self.scaling.weights, width)
        for name, rows, matrix in zip(("content", "profiles"), self.shape, (self.content, self.profiles)):
            if sp.issparse(matrix):
                check_matrix(name, matrix, (rows, width))
            else:
                check_array(name, matrix, rows, width)
        if self.ridge is not None:
            self.ridge.check(self.shape[LEFT], width)

    @property
    def reg(self) -> float | None:
        """λ of the ridge, if there is one."""
        return None if self.ridge is None else self.ridge.reg

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        rows, columns = self.interactions.shape
        return rows, columns

    @cached_property
    def answering(self) -> Any:
        """What a row of X is multiplied by: P turned round (csr, d × n), or an index of dense P."""
        return sp.csr_array(self.profiles.T) if sp.issparse(self.profiles) else Index.of_finite(self.profiles)

    @cached_property
    def common(self) -> Index:
        """PG of sparse P: what is taken off again."""
        assert self.ridge is not None
        return Index.of_finite(self.ridge.projected(self.profiles, 1))

    def prepare(self, n_threads: int) -> None:
        """Turn P round, so that the features of a user find the items of those who share them."""
        self.answering  # noqa: B018
        if self.ridge is not None and sp.issparse(self.profiles):
            self.common  # noqa: B018

    def known(self, users: NDArray[Any] | None) -> Answer:
        """Scores of users by position."""
        return self._known(slice(None) if users is None else users, StoredRows.taken(self.interactions, users))

    def described(self, users: Newcomers, n_threads: int) -> Answer:
        """Scores of new users by their features, or by those of the users who have the same items."""
        if users.targets is not None:
            raise ValueError("ContentUsers knows no targets: describe new users by features or interactions alone.")
        rows, seen = self._rows_of(users)
        return self._answer(rows, np.ones(rows.shape[0]), seen)

    def pair_scores(self, users: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
        """Scores of the pairs (users[t], items[t])."""
        return scores_of_pairs(self, users, items, n_threads)

    def item_vectors(self) -> UnitVectors:
        """P, whose rows have length 1 here: items are alike whose users are."""
        return [(1.0, _unit_vectors(self.profiles))]

    def user_vectors(self) -> UnitVectors:
        """X, whose rows have length 1."""
        return [(1.0, _unit_vectors(self.content))]

    def feature_map(self, side: int) -> FeatureMap | None:
        """How features of users are read."""
        return self.reader if side == LEFT else None

    def grown(self, side: int, newcomers: Newcomers, n_threads: int) -> ContentUsersState:
        """The same with new users, or with new items, which are known by who has them."""
        return self._with_users(newcomers) if side == LEFT else self._with_items(newcomers)

    def with_events(self, users: NDArray[Any], rows: Any, n_threads: int) -> Answer:
        """Scores of known users if they had these events: those of their features."""
        return self._known(users, StoredRows.of(rows))

    def refreshed(self, interactions: Any, users: NDArray[Any], n_threads: int) -> ContentUsersState:
        """The same with further events of users, whose features stay what they are."""
        return replace(self, interactions=interactions)

    def _known(self, users: Any, seen: StoredRows) -> Answer:
        rows = self.content[users]
        return self._answer(rows, np.ones(rows.shape[0]) if self.ridge is None else self.ridge.freed[users], seen)

    def _rows_of(self, users: Newcomers) -> tuple[Any, StoredRows]:
        """Rows of X of new users, and what they have."""
        n_items, dtype = self.shape[RIGHT], self.base.dtype
        events = None if users.events is None else stored_rows(users.events, n_items, dtype)
        if users.features is not None:
            count = None if events is None else events.shape[0]
            rows = self._as_content(self.scaling(self.reader(users.features, count, dtype)))
        elif events is None:
            raise ValueError("give the features of new users, their interactions, or both.")
        else:
            likes = sp.csr_array((np.sign(events.data), events.indices, events.indptr), shape=events.shape)
            rows = prepare_features(likes @ self.profiles, normalize=True, fit_intercept=False)
        return rows, StoredRows.empty(rows.shape[0], n_items, dtype) if events is None else events

    def _answer(self, rows: Any, freed: Array, seen: StoredRows) -> Answer:
        base, other, ridge = self.base, self.answering, self.ridge
        likes = np.sign(seen.data)

        def fill(start: int, stop: int, out: Array) -> None:
            if isinstance(other, Index):
                out[:] = base
            else:
                own = rows[start:stop]
                parts = (own.indices, own.data, other.indptr, other.indices, other.data, base)
                sparse_scores(0, stop - start, own.indptr.astype(np.int64), *map(writable_view, parts), out)
            if ridge is not None:  # what a user said of himself, h / (1 − h)
                stored = slice(seen.indptr[start], seen.indptr[stop])
                places = np.repeat(np.arange(start, stop), np.diff(seen.indptr[start : stop + 1]))
                out[places - start, seen.indices[stored]] -= (freed[places] - 1).astype(out.dtype) * likes[stored]

        scores = Scores(seen.shape[0], seen.shape[1], base.dtype, fill)
        if ridge is not None:
            scale = (freed / ridge.rest).astype(base.dtype)
            if not isinstance(other, Index):
                there = (rows @ ridge.factor) * scale[:, None]
                rows = sp.csr_array(sp.diags_array(scale) @ rows)
                return Answer(replace(scores, left=-there, index=self.common), seen)
            there = _by_row(_by_row(rows, ridge.factor), np.ascontiguousarray(ridge.factor.T))
            rows = (rows - there) * scale[:, None]
        if isinstance(other, Index):
            scores = replace(scores, left=np.ascontiguousarray(rows), index=other)
        return Answer(scores, seen)

    def _with_users(self, users: Newcomers) -> ContentUsersState:
        rows, seen = self._rows_of(users)
        return replace(
            self,
            content=_stacked(self.content, self._as_content(rows)),
            ridge=None if self.ridge is None else self.ridge.longer(rows.shape[0]),
            interactions=appended(self.interactions, LEFT, seen.tocsr()),
        )

    def _with_items(self, items: Newcomers) -> ContentUsersState:
        if items.events is None or items.features is not None or items.targets is not None:
            raise ValueError("ContentUsers knows items by who has them: describe new ones by interactions alone.")
        count = checked_columns(items.events, self.shape[LEFT], self.base.dtype).shape[0]
        events = new_events(self.interactions, RIGHT, items.events, count)
        return replace(
            self,
            profiles=_stacked(self.profiles, self._as_content(signs(events).T @ self.content)),
            base=np.concatenate([self.base, np.zeros(count, self.base.dtype)]),
            interactions=appended(self.interactions, RIGHT, events),
        )

    def _as_content(self, rows: Any) -> Any:
        """Rows, sparse or dense as X is."""
        if sp.issparse(self.content):
            return sp.csr_array(rows, dtype=self.base.dtype)
        return np.asarray(rows.toarray() if sp.issparse(rows) else rows, self.base.dtype)


def _by_row(left: Array, right: Array) -> Array:
    """left @ right, a row of which has the same bits whatever rows stand beside it."""
    return row_products(left, np.arange(len(left)), right)


def _stacked(old: Any, new: Any) -> Any:
    return sp.csr_array(sp.vstack([old, new], format="csr")) if sp.issparse(old) else np.concatenate([old, new])


def _unit_vectors(rows: Any) -> SparseVectors | Index:
    """Rows of length 1, ready to be compared."""
    unit = prepare_features(rows, normalize=True, fit_intercept=False)
    return SparseVectors(sp.csr_array(unit)) if sp.issparse(unit) else Index.of(unit)
