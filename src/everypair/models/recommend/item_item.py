"""ItemItem: every item as a linear function of the other items a user has, fitted over every pair."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from everypair import check
from everypair.data.pairs import Pairs
from everypair.features.feature_map import FeatureMap
from everypair.kernels.score_rows import sparse_scores
from everypair.kernels.select import select_top
from everypair.kernels.stored_pairs import sparse_dense
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.recommend.base import checked_positions, checked_rows
from everypair.models.recommend.explanation import Explanation
from everypair.models.recommend.naming import asks, fits, grows
from everypair.models.recommend.scored import ScoredModel
from everypair.models.recommend.state import NamedState
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_matrix
from everypair.parallel import even_chunks, resolve_threads
from everypair.problem.item_gram import ItemColumns, ItemGram, degree_weights, dense_gram
from everypair.problem.layout import LEFT, RIGHT
from everypair.retrieve import ScoredRows
from everypair.solvers.item_regression import ItemRidge, closed_form, closed_form_by_users, imputed, regress
from everypair.types import Array

POPULARITY = 1e-3  # of an item's share of users in every score: decides where nothing else does
FEATURE_NEIGHBORS = 20  # items that stand for one without events
MEMORY_MB = 4096.0
_COMPARED_AT_ONCE = 256


@storable
@dataclass(frozen=True)
class ItemItemState(NamedState):
    """B (sparse, or dense without a limit on neighbours), the base of every score, and what new items need."""

    coefficients: Any
    base: Array
    interactions: Any
    user_weights: Array
    features: Any = field(metadata=TRAINING_ONLY)
    feature_map: FeatureMap | None

    def check(self) -> None:
        """Refuse coefficients that do not fit the interactions."""
        n_users, n_items = self.interactions.shape
        check_matrix("interactions", self.interactions, (n_users, n_items))
        check_array("base", self.base, n_items)
        check_array("user_weights", self.user_weights, n_users)
        if sp.issparse(self.coefficients):
            check_matrix("coefficients", self.coefficients, (n_items, n_items))
        else:
            check_array("coefficients", self.coefficients, n_items, n_items)


class ItemItem(ScoredModel):
    """Score s_uj = Σ_l x_ul B_lj from the items a user has; B minimises a square over every pair of user and item.

        ½ Σ_i d_i Σ_j w_ij (y_ij − Σ_l x_il B_lj)² + ½ Σ_lj (reg + reg_scale · G_ll) B_lj²,   B_jj = 0,   G = XᵀDX

    x is 1 for a like and −1 for a dislike; y is 1 for a like, else 0; w_ij is the weight of a stored pair and
    ``negative_weight`` for every other. B_lj is free where l is one of the ``neighbors`` items with the greatest
    G_lj |Ω_l|^−½; on those the solution is exact. New users need no solving, and every coefficient is a reason. A
    thousandth of an item's share of all users is added to its scores: it orders what a user's items do not tell apart,
    and all items for a user without any.

    Time: Σ_i |Ω_i|² for the Gram matrix and N³/6 multiply-adds for every item. Memory: 8 bytes (float32) for every pair
    of items that share a user and 64 MiB, while training; 8 n N bytes after it.

    Parameters
    ----------
    neighbors : number N of other items that an item may depend on; ``None`` is all, in closed form (EASE): n² numbers,
        for likes of one weight (and m² more, if ``memory_mb`` has them, where users are fewer: m³ operations, not n³).
    reg, reg_scale : ridge of coefficient B_lj: ``reg`` + ``reg_scale`` · G_ll.
    negative_weight : weight of a pair that is not stored, beside the 1 of a stored one.
    user_exponent : users weigh d_i ∝ |Ω_i|^−exponent, of mean 1: how much less an event of an active user says.
    memory_mb : refuse to train where the Gram matrix needs more, in units of 2²⁰ bytes.
    n_threads : threads to use, all cores by default; the result does not depend on it.
    dtype : ``"float32"`` or ``"float64"``.

    Attributes
    ----------
    coefficients_ : B (n × n), sparse, or dense with ``neighbors=None``; column j says what item j depends on.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = ItemItem(reg=1.0).fit(blocks)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0])
    0
    >>> sorted(model.explain(user=0, item=0).items.tolist())  # because of these
    [1, 2, 3, 4]
    """

    coefficients_ = FittedAttribute()
    state_: ItemItemState

    def __init__(
        self,
        neighbors: int | None = 200,
        reg: float = 30.0,
        reg_scale: float = 1.0,
        negative_weight: float = 1.0,
        user_exponent: float = 0.5,
        memory_mb: float = MEMORY_MB,
        n_threads: int | None = None,
        dtype: str = "float32",
    ) -> None:
        self.neighbors = neighbors
        self.reg = reg
        self.reg_scale = reg_scale
        self.negative_weight = negative_weight
        self.user_exponent = user_exponent
        self.memory_mb = memory_mb
        self.n_threads = n_threads
        self.dtype = dtype

    @fits
    def fit(self, interactions: Any, right_features: Any = None, *, user_weights: ArrayLike | None = None) -> Self:
        """Learn B from interactions, events or a matrix (users × items) as :meth:`OneClassMF.fit` takes.

        A positive stored value is the weight of a like, a negative value −w a dislike of weight w. ``right_features``,
        a row per item, sparse or dense or a dict of named groups, say which items stand for one without events: it is
        regressed as if its users were the mean of theirs. ``user_weights`` replace the d_i of ``user_exponent``.
        """
        neighbors = None if self.neighbors is None else check.integer("neighbors", self.neighbors)
        ridge = self._checked_ridge()
        threads = resolve_threads(self.n_threads)
        dtype = check.float_dtype(self.dtype)
        pairs = Pairs.from_matrix(interactions, dtype=dtype)
        matrix = pairs.to_csr()
        weights = self._checked_user_weights(user_weights, pairs)
        feature_map = features = None
        if right_features is not None:
            feature_map = FeatureMap.of(right_features, "right_features", normalize=True)
            features = feature_map(right_features, matrix.shape[1], dtype)
        empty = np.bincount(matrix.indices, minlength=matrix.shape[1]) == 0
        if neighbors is None:
            coefficients = self._all_neighbors(matrix, weights, ridge)
        else:
            width = min(neighbors, matrix.shape[1])
            gram = ItemGram.of(matrix, weights, dtype, self.memory_mb, threads)
            nearest = gram.nearest(width, threads)
            coefficients = regress(gram, nearest, gram.columns, ridge, threads)[gram.label][:, gram.label]
            if features is not None and empty.any() and not empty.all():
                said = self._from_features(gram, ridge, features, empty, features[np.flatnonzero(empty)])
                coefficients = _with_columns(coefficients, np.flatnonzero(empty), said)
        self.state_ = ItemItemState(coefficients, _base(matrix, weights), matrix, weights, features, feature_map)
        return self

    def scored_rows(self, users: ArrayLike | None, interactions: Any, features: Any) -> tuple[ScoredRows, Any]:
        """base + xB of known users, or of new ones by their interactions: nothing has to be solved."""
        if features is not None:
            raise ValueError("ItemItem knows users by their interactions alone, not by features.")
        seen = self.interactions_
        if interactions is not None:
            seen = checked_rows(interactions, seen.shape[1], seen.dtype)
        elif users is not None:
            seen = seen[checked_positions(users, seen.shape[0], "user")]
        signs, coefficients, base = _signs(seen), self.coefficients_, self.state_.base
        row_start = signs.indptr.astype(np.int64)

        def fill(start: int, stop: int, out: Array) -> None:
            own = row_start[start : stop + 1]
            if sp.issparse(coefficients):
                sparse_scores(
                    0, stop - start, own, signs.indices, signs.data, coefficients.indptr, coefficients.indices,
                    coefficients.data, base, out,
                )  # fmt: skip
            else:
                sparse_dense(0, stop - start, own, signs.indices, signs.data, coefficients, out)
                out += base

        rows, n_items = seen.shape
        return ScoredRows(rows, n_items, base.dtype, fill), seen

    @asks(RIGHT, answer="item")
    def similar_items(self, items: ArrayLike, n: int = 10) -> tuple[NDArray[np.int32], Array]:
        """Return the ``n`` items nearest to each of ``items`` by G_lj / √(G_ll G_jj), itself left out, and the cosines.

        Two items are near if the same users like both: this is the cosine of their columns, users weighted by d.
        """
        check_is_fitted(self)
        rows = checked_positions(items, self.interactions_.shape[1], "item")
        n = check.integer("n", n)
        unit = self.unit_items()
        nearest = np.empty((len(rows), n), np.int32)
        cosines = np.empty((len(rows), n), unit.dtype)
        for start, stop in even_chunks(len(rows), _COMPARED_AT_ONCE):
            tile = np.clip((unit[rows[start:stop]] @ unit.T).toarray(), -1, 1)
            tile[np.arange(stop - start), rows[start:stop]] = -np.inf
            select_top(tile, n, nearest[start:stop], cosines[start:stop], 0, stop - start)
        return nearest, cosines

    def unit_items(self) -> Any:
        """Every item as its column of X with rows times √d_i, scaled to length 1 (csr, items × users)."""
        check_is_fitted(self)
        signs = _signs(self.interactions_)
        scaled = sp.csr_array(signs.multiply(np.sqrt(self.state_.user_weights)[:, None]).T)
        length = np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel())
        return sp.csr_array(scaled.multiply(1 / np.where(length > 0, length, 1)[:, None])).astype(signs.dtype)

    @asks(answer="why")
    def explain(self, user: Any, item: Any, n: int | None = None) -> Explanation:
        """Split the score of a pair into x_l B_lj of the items l that the user has, and the item's base term.

        ``n`` keeps only the largest contributions; items that B does not link to ``item`` are left out.
        """
        check_is_fitted(self)
        n_users, n_items = self.interactions_.shape
        (row,) = checked_positions(user, n_users, "user")
        (column,) = checked_positions(item, n_items, "item")
        if n is not None:
            check.integer("n", n)
        stored = _signs(self.interactions_[[row]])
        shares = self.coefficients_[stored.indices][:, [column]]
        shares = (shares.toarray() if sp.issparse(shares) else shares).ravel().astype(np.float64) * stored.data
        linked = np.flatnonzero(shares)
        order = linked[np.argsort(-np.abs(shares[linked]), kind="stable")][:n]
        base = float(self.state_.base[column])
        return Explanation(base + float(shares.sum()), base, stored.indices[order].astype(np.int64), shares[order])

    @grows(LEFT)
    def add_users(self, *, interactions: Any, ids: Any = None) -> NDArray[Any]:
        """Append users by their interactions, as :meth:`OneClassMF.add_users`; B does not change."""
        check_is_fitted(self)
        before, width = self.interactions_.shape
        rows = checked_rows(interactions, width, self.interactions_.dtype)
        grown = sp.csr_array(sp.vstack([self.interactions_, rows], format="csr"))
        weights = degree_weights(np.diff(grown.indptr), self.user_exponent)
        weights[:before] = self.state_.user_weights
        self.state_ = replace(self.state_, interactions=grown, user_weights=weights)
        return np.arange(before, grown.shape[0])

    @grows(RIGHT)
    def add_items(self, *, interactions: Any = None, features: Any = None, ids: Any = None) -> NDArray[Any]:
        """Append items by their interactions, by ``features``, or both; returns ids or positions.

        The arguments are those of :meth:`OneClassMF.add_items`. An item with events is regressed on the items that were
        there, as in training; one without events is known by features. Coefficients of other items do not change, so a
        new item is recommended but recommends nothing yet.
        """
        check_is_fitted(self)
        state, (n_users, n_items) = self.state_, self.interactions_.shape
        if not sp.issparse(state.coefficients):
            raise ValueError("a model of all neighbors does not grow: give neighbors a number, or fit again.")
        if interactions is None and features is None:
            raise ValueError("give the interactions of new items, their features, or both.")
        new = None
        if features is not None:
            if state.feature_map is None:
                raise ValueError("this model was fitted without right_features, so it cannot read those of new items.")
            new = state.feature_map(features, None, state.base.dtype)
        if interactions is None:
            assert new is not None
            columns = sp.csr_array((n_users, new.shape[0]), dtype=state.base.dtype)
        else:
            by_item = checked_rows(check.as_csr(interactions, state.base.dtype, "interactions")[0].T, n_users,
                                   state.base.dtype)  # fmt: skip
            columns = sp.csr_array(by_item.T)
        threads, ridge = resolve_threads(self.n_threads), self._checked_ridge()
        gram = ItemGram.of(state.interactions, state.user_weights, state.base.dtype, self.memory_mb, threads)
        assert self.neighbors is not None
        added = ItemColumns.of(columns, state.base.dtype)
        nearest = gram.nearest_of(added, min(self.neighbors, n_items), threads)
        said = regress(gram, nearest, added, ridge, threads)[gram.label]
        without = np.flatnonzero(np.diff(added.start) == 0)
        if new is not None and without.size:
            empty = np.bincount(state.interactions.indices, minlength=n_items) == 0
            said = _with_columns(said, without, self._from_features(gram, ridge, state.features, empty, new[without]))
        wider = sp.csr_array(sp.hstack([state.coefficients, said], format="csr"))
        wider.resize((n_items + columns.shape[1],) * 2)
        self.state_ = replace(
            state,
            coefficients=wider,
            base=np.concatenate([state.base, _base(columns, state.user_weights)]),
            interactions=sp.csr_array(sp.hstack([state.interactions, columns], format="csr")),
            features=_longer(state.features, new, columns.shape[1]),
        )
        return np.arange(n_items, n_items + columns.shape[1])

    def _feature_map(self, side: int) -> FeatureMap | None:
        return self.state_.feature_map if side == RIGHT else None

    def _all_neighbors(self, matrix: Any, weights: Array, ridge: ItemRidge) -> Array:
        if np.any(matrix.data != 1) or ridge.negative_weight != 1:
            raise ValueError(
                "neighbors=None is a closed form for likes of weight 1 and negative_weight=1: give neighbors a number "
                "for weights and dislikes."
            )
        n_items = matrix.shape[1]
        needed = n_items**2 * matrix.dtype.itemsize / 2**20
        if needed > self.memory_mb:
            raise MemoryError(
                f"neighbors=None needs a dense matrix of {n_items:,} × {n_items:,} items, {needed:,.0f} MiB, and "
                f"memory_mb allows {self.memory_mb:,.0f}: give neighbors a number, or raise memory_mb."
            )
        penalty = ridge.of(np.asarray(matrix.T @ weights, matrix.dtype))
        by_users = needed + matrix.shape[0] ** 2 * matrix.dtype.itemsize / 2**20
        if matrix.shape[0] < n_items and by_users <= self.memory_mb and penalty.min() > 0:
            return closed_form_by_users(matrix, weights, penalty)
        return closed_form(dense_gram(matrix, weights), penalty)

    def _from_features(self, gram: ItemGram, ridge: ItemRidge, features: Any, empty: Array, new: Any) -> Any:
        """B's columns of items without events, from the items with events that are nearest by the features' cosine."""
        known = np.flatnonzero(~empty)
        others = features[known].T
        width = min(FEATURE_NEIGHBORS, len(known))
        nearest = np.empty((new.shape[0], width), np.int32)
        cosines = np.empty((new.shape[0], width), gram.values.dtype)
        for start, stop in even_chunks(new.shape[0], _COMPARED_AT_ONCE):
            product = new[start:stop] @ others
            tile = np.ascontiguousarray(product.toarray() if sp.issparse(product) else product, cosines.dtype)
            tile[tile <= 0] = -np.inf
            select_top(tile, width, nearest[start:stop], cosines[start:stop], 0, stop - start)
        found = nearest >= 0
        shares = np.where(found, cosines, 0)
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(shares.dtype).tiny)
        labels = np.where(found, gram.label[known[nearest]], -1)
        order = np.argsort(np.where(found, labels, gram.n_items), axis=1, kind="stable")
        labels, shares = (np.take_along_axis(part, order, axis=1) for part in (labels, shares))
        return imputed(gram, labels.astype(np.int32), shares, ridge)[gram.label]

    def _checked_ridge(self) -> ItemRidge:
        for name in ("reg", "reg_scale", "negative_weight", "user_exponent", "memory_mb"):
            value = getattr(self, name)
            if not check.is_number(value) or not 0 <= value < np.inf:
                raise ValueError(f"{name} must be a finite number ≥ 0, got {value!r}.")
        if self.reg == 0 and self.reg_scale == 0:
            raise ValueError("reg and reg_scale are both 0: without a ridge the regression has no unique solution.")
        return ItemRidge(float(self.reg), float(self.reg_scale), float(self.negative_weight))

    def _checked_user_weights(self, weights: ArrayLike | None, pairs: Pairs) -> Array:
        if weights is None:
            return degree_weights(np.diff(pairs.rows.indptr), self.user_exponent)
        given = np.asarray(weights, np.float64)
        if given.shape != (pairs.shape[0],) or not np.isfinite(given).all() or given.min() < 0 or given.max() == 0:
            raise ValueError(
                f"user_weights must be {pairs.shape[0]} finite numbers ≥ 0, one per user and not all 0, got shape "
                f"{given.shape}."
            )
        return given


def _signs(matrix: Any) -> Any:
    """X of signed weights."""
    return sp.csr_array((np.sign(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def _base(matrix: Any, user_weights: Array) -> Array:
    """POPULARITY times the share of users (by weight) who like an item."""
    liked = sp.csr_array(matrix > 0).astype(np.float64)
    return np.asarray(POPULARITY / user_weights.sum() * (liked.T @ user_weights), matrix.dtype)


def _with_columns(matrix: Any, positions: Array, columns: Any) -> Any:
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
