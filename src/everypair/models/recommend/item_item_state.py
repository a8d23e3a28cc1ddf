"""Item–item regression, fitted: s_u = base + Σ_l x_ul B_l for users known or described, reasons, growth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.features.feature_map import FeatureMap
from everypair.kernels.score_rows import sparse_scores
from everypair.kernels.select import select_top
from everypair.kernels.sparse_pairs import sparse_pair_scores
from everypair.kernels.stored_pairs import sparse_dense
from everypair.kernels.writable import writable_view
from everypair.models.codec import storable
from everypair.models.recommend.explanation import Explanation
from everypair.models.recommend.fitted import Answer, NamedValue, Newcomers
from everypair.models.recommend.growth import appended
from everypair.models.recommend.pair_scores import scores_of_pairs
from everypair.models.recommend.positions import checked_columns, checked_rows, stored_rows
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_matrix
from everypair.parallel import even_chunks
from everypair.problem.item_gram import ItemColumns, ItemGram, degree_weights
from everypair.problem.layout import LEFT, RIGHT
from everypair.retrieve import Scores
from everypair.retrieve.similar import SparseVectors, UnitVectors
from everypair.solvers.item_regression import ItemRidge, imputed, regress
from everypair.types import Array

POPULARITY = 1e-3  # of an item's share of users in every score: decides where nothing else does
FEATURE_NEIGHBORS = 20  # items that stand for one without events
COMPARED_AT_ONCE = 256


@storable
@dataclass(frozen=True)
class Regression:
    """The terms of an item's regression: how many neighbours (0 for all), its ridge, and how users weigh."""

    neighbors: int
    reg: float
    reg_scale: float
    negative_weight: float
    user_exponent: float
    memory_mb: float

    @property
    def ridge(self) -> ItemRidge:
        """The penalty of coefficients."""
        return ItemRidge(self.reg, self.reg_scale, self.negative_weight)


@storable
@dataclass(frozen=True, kw_only=True)
class ItemItemState(NamedValue):
    """B (sparse, or dense without a limit on neighbours), the base of every score, and what new items need.

    ``growth`` are the terms of the regression that new items are put through.
    """

    coefficients: Any
    base: Array
    interactions: Any
    user_weights: Array
    features: Any = field(metadata=TRAINING_ONLY)
    reader: FeatureMap | None
    growth: Regression

    def check(self) -> None:
        """Refuse coefficients that do not fit the interactions."""
        n_users, n_items = self.shape
        check_matrix("interactions", self.interactions, (n_users, n_items))
        check_array("base", self.base, n_items)
        check_array("user_weights", self.user_weights, n_users)
        if sp.issparse(self.coefficients):
            check_matrix("coefficients", self.coefficients, (n_items, n_items))
        else:
            check_array("coefficients", self.coefficients, n_items, n_items)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        rows, columns = self.interactions.shape
        return rows, columns

    def known(self, users: NDArray[Any] | None) -> Answer:
        """Scores of users by position."""
        return self._answer(StoredRows.taken(self.interactions, users))

    def described(self, users: Newcomers, n_threads: int) -> Answer:
        """Scores of new users by their interactions: nothing has to be solved."""
        if users.features is not None:
            raise ValueError("ItemItem knows users by their interactions alone, not by features.")
        if users.targets is not None:
            raise ValueError("ItemItem knows no targets: describe new users by interactions alone.")
        return self._answer(stored_rows(users.events, self.shape[1], self.interactions.dtype))

    def pair_scores(self, users: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
        """Scores of the pairs (users[t], items[t]), each from the entries of B that it adds up."""
        b, x = self.coefficients, self.interactions
        if not (sp.issparse(b) and x.has_sorted_indices):
            return scores_of_pairs(self, users, items, n_threads)
        out = np.empty(len(users), self.base.dtype)
        parts = (x.indptr, x.indices, x.data, b.indptr, b.indices, b.data, self.base)
        sparse_pair_scores(users, items, *map(writable_view, parts), out)
        return out

    def item_vectors(self) -> UnitVectors:
        """Every item as its column of X with rows times √d_i, scaled to length 1 (csr, items × users).

        Two items are near if the same users like both.
        """
        return [(1.0, self.unit_items)]

    @cached_property
    def unit_items(self) -> SparseVectors:
        """The items' vectors of length 1, by items and by users."""
        x = signs(self.interactions)
        scaled = sp.csr_array(x.multiply(np.sqrt(self.user_weights)[:, None]).T)
        length = np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel())
        unit = sp.csr_array(scaled.multiply(1 / np.where(length > 0, length, 1)[:, None])).astype(x.dtype)
        return SparseVectors(unit)

    def prepare(self, n_threads: int) -> None:
        """Make the items' vectors of length 1, which comparing items needs."""
        self.unit_items.columns, self.unit_items.zeros  # noqa: B018

    def explain(self, user: int, item: int, n: int | None) -> Explanation:
        """Split a score into x_l B_lj of the items l that the user has; items that B does not link are left out."""
        stored = signs(self.interactions[[user]])
        shares = self.coefficients[stored.indices][:, [item]]
        shares = (shares.toarray() if sp.issparse(shares) else shares).ravel().astype(np.float64) * stored.data
        linked = np.flatnonzero(shares)
        order = linked[np.argsort(-np.abs(shares[linked]), kind="stable")][:n]
        base = float(self.base[item])
        return Explanation(base + float(shares.sum()), base, stored.indices[order].astype(np.int64), shares[order])

    def feature_map(self, side: int) -> FeatureMap | None:
        """How features of items are read."""
        return self.reader if side == RIGHT else None

    def grown(self, side: int, newcomers: Newcomers, n_threads: int) -> ItemItemState:
        """The same with new users or items; coefficients of what was there do not change."""
        if newcomers.targets is not None:
            raise ValueError("ItemItem knows no targets: describe what is new by interactions alone.")
        return self._with_users(newcomers) if side == LEFT else self._with_items(newcomers, n_threads)

    def with_events(self, users: NDArray[Any], rows: Any, n_threads: int) -> Answer:
        """Scores of known users if they had these events."""
        return self.described(Newcomers(rows), n_threads)

    def refreshed(self, interactions: Any, users: NDArray[Any], n_threads: int) -> ItemItemState:
        """The same with further events of users, whose scores follow from what they have."""
        return replace(self, interactions=interactions)

    def _answer(self, seen: StoredRows) -> Answer:
        coefficients, base, x = self.coefficients, self.base, np.sign(seen.data)

        def fill(start: int, stop: int, out: Array) -> None:
            own = seen.indptr[start : stop + 1]
            if sp.issparse(coefficients):
                sparse_scores(
                    0, stop - start, own, seen.indices, x, coefficients.indptr, coefficients.indices,
                    coefficients.data, base, out,
                )  # fmt: skip
            else:
                sparse_dense(0, stop - start, own, seen.indices, x, coefficients, out)
                out += base

        rows, n_items = seen.shape
        return Answer(Scores(rows, n_items, base.dtype, fill), seen)

    def _with_users(self, users: Newcomers) -> ItemItemState:
        if users.features is not None:
            raise ValueError("ItemItem knows users by their interactions alone, not by features.")
        if users.events is None:
            raise ValueError("give the interactions of new users.")
        rows = checked_rows(users.events, self.shape[1], self.interactions.dtype)
        longer = appended(self.interactions, LEFT, rows)
        weights = degree_weights(np.diff(longer.indptr), self.growth.user_exponent)
        weights[: self.shape[0]] = self.user_weights
        return replace(self, interactions=longer, user_weights=weights)

    def _with_items(self, items: Newcomers, n_threads: int) -> ItemItemState:
        """An item with events is regressed on those that were there; one without events is known by features.

        A new item is recommended but recommends nothing yet.
        """
        n_users, n_items = self.shape
        if not sp.issparse(self.coefficients):
            raise ValueError("a model of all neighbors does not grow: give neighbors a number, or fit again.")
        if items.events is None and items.features is None:
            raise ValueError("give the interactions of new items, their features, or both.")
        new = None
        if items.features is not None:
            if self.reader is None:
                raise ValueError("this model was fitted without item_features, so it cannot read those of new items.")
            new = self.reader(items.features, None, self.base.dtype)
        if items.events is None:
            assert new is not None
            columns = sp.csr_array((n_users, new.shape[0]), dtype=self.base.dtype)
        else:
            columns = sp.csr_array(checked_columns(items.events, n_users, self.base.dtype).T)
        terms = self.growth
        gram = ItemGram.of(self.interactions, self.user_weights, self.base.dtype, terms.memory_mb, n_threads)
        added = ItemColumns.of(columns, self.base.dtype)
        nearest = gram.nearest_of(added, min(terms.neighbors, n_items), n_threads)
        coefficients = regress(gram, nearest, added, terms.ridge, n_threads)[gram.label]
        without = np.flatnonzero(np.diff(added.start) == 0)
        if new is not None and without.size:
            empty = np.bincount(self.interactions.indices, minlength=n_items) == 0
            known = by_features(gram, terms.ridge, self.features, empty, new[without])
            coefficients = with_columns(coefficients, without, known)
        wider = sp.csr_array(sp.hstack([self.coefficients, coefficients], format="csr"))
        wider.resize((n_items + columns.shape[1],) * 2)
        return replace(
            self,
            coefficients=wider,
            base=np.concatenate([self.base, base_of(columns, self.user_weights)]),
            interactions=appended(self.interactions, RIGHT, columns),
            features=_longer(self.features, new, columns.shape[1]),
        )


ALIKE = 16  # units of rounding, from which a cosine is one


def by_features(gram: ItemGram, ridge: ItemRidge, features: Any, empty: Array, new: Any) -> Any:
    """B's columns of items without events, from the items with events that are nearest by the features' cosine."""
    known = np.flatnonzero(~empty)
    others = features[known].T
    width = min(FEATURE_NEIGHBORS, len(known))
    nearest = np.empty((new.shape[0], width), np.int32)
    cosines = np.empty((new.shape[0], width), gram.values.dtype)
    for start, stop in even_chunks(new.shape[0], COMPARED_AT_ONCE):
        product = new[start:stop] @ others
        tile = np.ascontiguousarray(product.toarray() if sp.issparse(product) else product, cosines.dtype)
        tile[tile <= ALIKE * np.finfo(tile.dtype).eps] = -np.inf  # what rounding makes of a right angle is none
        select_top(tile, width, nearest[start:stop], cosines[start:stop], 0, stop - start)
    found = nearest >= 0
    shares = np.where(found, cosines, 0)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(shares.dtype).tiny)
    labels = np.where(found, gram.label[known[nearest]], -1)
    order = np.argsort(np.where(found, labels, gram.n_items), axis=1, kind="stable")
    labels, shares = (np.take_along_axis(part, order, axis=1) for part in (labels, shares))
    return imputed(gram, labels.astype(np.int32), shares, ridge)[gram.label]


def signs(matrix: Any) -> Any:
    """X of signed weights."""
    return sp.csr_array((np.sign(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def base_of(matrix: Any, user_weights: Array) -> Array:
    """POPULARITY times the share of users (by weight) who like an item."""
    liked = sp.csr_array(matrix > 0).astype(np.float64)
    return np.asarray(POPULARITY / user_weights.sum() * (liked.T @ user_weights), matrix.dtype)


def with_columns(matrix: Any, positions: Array, columns: Any) -> Any:
    """``matrix`` with ``columns`` in the place of its empty columns at ``positions``."""
    coo = columns.tocoo()
    spread = sp.csr_array((coo.data, (coo.row, positions[coo.col])), shape=matrix.shape)
    return sp.csr_array(matrix + spread)


def _longer(features: Any, new: Any, count: int) -> Any:
    """Features with those of new items, which are zero where they were not given."""
    if features is None:
        return None
    added = sp.csr_array((count, features.shape[1]), dtype=features.dtype) if new is None else sp.csr_array(new)
    longer = sp.vstack([sp.csr_array(features), added], format="csr")
    return sp.csr_array(longer) if sp.issparse(features) else longer.toarray()
