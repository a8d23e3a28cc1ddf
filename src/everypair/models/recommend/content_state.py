"""Content, fitted: s_uj = base_j + Σ_{i∈Ω_u} y_ui x_i·x_j, a user's items added up and compared with every item.

    S = base + (YX)Xᵀ        or, where a ridge regression takes out what content has in common,
    S = base + ((YX)(I − GGᵀ)Xᵀ / (λ + τ) − Y ∘ h) ∘ 1/(1 − h)       (:mod:`everypair.models.recommend.content_ridge`)

Y has 1 for a like and −1 for a dislike, X a row of length 1 for every item. A user's row of YX is the user's profile.
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
from everypair.kernels.score_rows import sparse_scores
from everypair.kernels.writable import writable_view
from everypair.models.codec import storable
from everypair.models.recommend.content_ridge import ContentRidge, dense
from everypair.models.recommend.explanation import Explanation
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

storable(RarityScaling)


@storable
@dataclass(frozen=True, kw_only=True)
class ContentState(NamedValue):
    """X as it is compared (csr or dense, n × d), how later rows become such, the base of scores, what users have.

    ``ridge`` takes out of X what items have in common; None compares by cosines.
    """

    content: Any
    reader: FeatureMap
    scaling: RarityScaling
    base: Array
    interactions: Any
    ridge: ContentRidge | None = None

    def check(self) -> None:
        """Refuse content that does not fit the interactions or what reads it."""
        n_users, n_items = self.shape
        check_matrix("interactions", self.interactions, (n_users, n_items))
        check_array("base", self.base, n_items)
        check_array("weights", self.scaling.weights, self.reader.width)
        if sp.issparse(self.content):
            check_matrix("content", self.content, (n_items, self.reader.width))
        else:
            check_array("content", self.content, n_items, self.reader.width)
        if self.ridge is not None:
            self.ridge.check(n_items, self.reader.width)

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
    def vectors(self) -> SparseVectors | Index:
        """X, ready to be compared."""
        return SparseVectors(self.content) if sp.issparse(self.content) else Index.of(self.content)

    @cached_property
    def answering(self) -> Any:
        """What a profile is multiplied by: X turned round (csr, d × n), or an index of dense X; freed by a ridge."""
        vectors, ridge = self.vectors, self.ridge
        if isinstance(vectors, SparseVectors):
            if ridge is None:
                return vectors.columns
            columns = sp.csr_array(vectors.columns, copy=True)
            columns.data *= (ridge.freed / ridge.rest).astype(columns.dtype)[columns.indices]
            return columns
        return vectors if ridge is None else Index.of_finite(self.content * (ridge.freed / ridge.rest)[:, None])

    @cached_property
    def common(self) -> tuple[Array, Index]:
        """XG of sparse X, and an index of it, freed: what is taken off again."""
        assert self.ridge is not None
        there = self.ridge.projected(self.content, 1)
        return there, Index.of_finite(there * (self.ridge.freed / self.ridge.rest)[:, None])

    def prepare(self, n_threads: int) -> None:
        """Turn X round, so that a profile finds the items that share its features."""
        self.answering  # noqa: B018
        if isinstance(self.vectors, SparseVectors):
            self.vectors.columns, self.vectors.zeros  # noqa: B018
            if self.ridge is not None:
                self.common  # noqa: B018

    def known(self, users: NDArray[Any] | None) -> Answer:
        """Scores of users by position."""
        return self._answer(StoredRows.taken(self.interactions, users))

    def described(self, users: Newcomers, n_threads: int) -> Answer:
        """Scores of new users by their interactions: nothing has to be solved."""
        return self._answer(self._rows_of(users))

    def pair_scores(self, users: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
        """Scores of the pairs (users[t], items[t])."""
        return scores_of_pairs(self, users, items, n_threads)

    def item_vectors(self) -> UnitVectors:
        """X, whose rows have length 1."""
        return [(1.0, self.vectors)]

    def user_vectors(self) -> UnitVectors:
        """Profiles, scaled to length 1."""
        profiles = signs(self.interactions) @ self.content
        if not sp.issparse(profiles):
            return [(1.0, Index.of(profiles).unit)]
        length = np.sqrt(np.asarray(profiles.multiply(profiles).sum(axis=1)).ravel())
        scale = (1 / np.where(length > 0, length, 1)).astype(profiles.dtype)
        return [(1.0, SparseVectors(sp.csr_array(sp.diags_array(scale) @ profiles)))]

    def explain(self, user: int, item: int, n: int | None) -> Explanation:
        """Split a score into y_ui x_i·x_j of the items i that the user has, and again by the features they share.

        With a ridge x_j is what it leaves of it, M x_j / (1 − h_j), and the item itself has no share.
        """
        stored = signs(self.interactions[[user]])
        mine = dense(self.content[[item]]).ravel().astype(np.float64)
        if self.ridge is not None:
            factor = self.ridge.factor.astype(np.float64)
            mine = (mine - factor @ (mine @ factor)) * (float(self.ridge.freed[item]) / self.ridge.rest)
        parts = dense(self.content[stored.indices]).astype(np.float64) * stored.data[:, None] * mine
        if self.ridge is not None:
            parts[(stored.indices == item) & (self.ridge.freed[item] > 1)] = 0
        base = float(self.base[item])
        shares, by_feature = parts.sum(axis=1), parts.sum(axis=0)
        order, shared = _largest(shares, n), _largest(by_feature, n)
        return Explanation(
            base + float(shares.sum()), base, stored.indices[order].astype(np.int64), shares[order],
            self.reader.names_of(shared), by_feature[shared],
        )  # fmt: skip

    def feature_map(self, side: int) -> FeatureMap | None:
        """How features of items are read."""
        return self.reader if side == RIGHT else None

    def grown(self, side: int, newcomers: Newcomers, n_threads: int) -> ContentState:
        """The same with new users, or with new items, which are known by their features."""
        return self._with_users(newcomers) if side == LEFT else self._with_items(newcomers)

    def with_events(self, users: NDArray[Any], rows: Any, n_threads: int) -> Answer:
        """Scores of known users if they had these events."""
        return self.described(Newcomers(rows), n_threads)

    def refreshed(self, interactions: Any, users: NDArray[Any], n_threads: int) -> ContentState:
        """The same with further events of users, whose scores follow from what they have."""
        return replace(self, interactions=interactions)

    def _rows_of(self, users: Newcomers) -> StoredRows:
        """The events of new users, checked (c × n)."""
        if users.features is not None:
            raise ValueError("ContentItems knows users by what they have, not by features of theirs.")
        if users.targets is not None:
            raise ValueError("ContentItems knows no targets: describe new users by interactions alone.")
        if users.events is None:
            raise ValueError("give the interactions of new users.")
        return stored_rows(users.events, self.shape[1], self.interactions.dtype)

    def _answer(self, seen: StoredRows) -> Answer:
        base, other, ridge = self.base, self.answering, self.ridge
        likes = sp.csr_array((np.sign(seen.data), seen.indices, seen.indptr), shape=seen.shape)

        def fill(start: int, stop: int, out: Array) -> None:
            if isinstance(other, Index):
                out[:] = base
            else:
                profiles = likes[start:stop] @ self.content
                parts = (other.indptr, other.indices, other.data, base)
                sparse_scores(
                    0, stop - start, profiles.indptr.astype(np.int64), profiles.indices.astype(np.int32, copy=False),
                    profiles.data, *map(writable_view, parts), out,
                )  # fmt: skip
            if ridge is not None:  # what an item said of itself, h / (1 − h)
                own = slice(seen.indptr[start], seen.indptr[stop])
                rows = np.repeat(np.arange(stop - start), np.diff(seen.indptr[start : stop + 1]))
                out[rows, seen.indices[own]] -= (ridge.freed[seen.indices[own]] - 1) * likes.data[own]

        rows, n_items = seen.shape
        scores = Scores(rows, n_items, base.dtype, fill)
        if isinstance(other, Index):
            profiles = likes @ self.content
            if ridge is not None:
                profiles = profiles - _by_row(_by_row(profiles, ridge.factor), np.ascontiguousarray(ridge.factor.T))
            scores = replace(scores, left=profiles, index=other)
        elif ridge is not None:
            there, freed = self.common
            scores = replace(scores, left=-(likes @ there), index=freed)
        return Answer(scores, seen)

    def _with_users(self, users: Newcomers) -> ContentState:
        return replace(self, interactions=appended(self.interactions, LEFT, self._rows_of(users).tocsr()))

    def _with_items(self, items: Newcomers) -> ContentState:
        if items.targets is not None:
            raise ValueError("ContentItems knows no targets: describe what is new by interactions and features alone.")
        n_users = self.shape[0]
        if items.features is None:
            count = checked_columns(items.events, n_users, self.base.dtype).shape[0]
            added = sp.csr_array((count, self.reader.width), dtype=self.base.dtype)
        else:
            added = self.scaling(self.reader(items.features, None, self.base.dtype))
        events = new_events(self.interactions, RIGHT, items.events, added.shape[0])
        stack = sp.vstack([sp.csr_array(self.content), sp.csr_array(added)], format="csr")
        return replace(
            self,
            content=sp.csr_array(stack) if sp.issparse(self.content) else stack.toarray(),
            base=np.concatenate([self.base, np.zeros(added.shape[0], self.base.dtype)]),
            ridge=None if self.ridge is None else self.ridge.longer(added.shape[0]),
            interactions=appended(self.interactions, RIGHT, events),
        )


def _by_row(left: Array, right: Array) -> Array:
    """left @ right, a row of which has the same bits whatever rows stand beside it."""
    return row_products(left, np.arange(len(left)), right)


def _largest(shares: Array, n: int | None) -> NDArray[np.int64]:
    """Positions of the n largest shares (in size), of those that are not 0."""
    there = np.flatnonzero(shares)
    return there[np.argsort(-np.abs(shares[there]), kind="stable")][:n]
