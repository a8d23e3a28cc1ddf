"""Factorizations of a fitted objective: fold-in is training's own sub-problem, with the other side fixed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.check import as_csr
from everypair.data.pairs import aligned_targets
from everypair.data.rows import StoredRows
from everypair.data.weighting import DegreeWeighting
from everypair.features.feature_map import FeatureMap
from everypair.features.matrix import Features
from everypair.models.codec import storable
from everypair.models.recommend.cold import ColdFactors
from everypair.models.recommend.explanation import Explanation, explain_pair
from everypair.models.recommend.factors import TrainedState
from everypair.models.recommend.fitted import Answer, Newcomers
from everypair.models.recommend.growth import grown_fields, known_with, refreshed_users
from everypair.models.recommend.positions import KINDS, checked_columns
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_count
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.outside import OUTSIDE
from everypair.problem.ridge import Ridge
from everypair.problem.rows import OtherWeights, RowProblem
from everypair.solvers.fold_in import FixedSide, new_rows, solve_to_optimum
from everypair.types import Array

storable(Layout)


@storable
@dataclass(frozen=True, kw_only=True)
class FactorizationState(TrainedState):
    """The terms of the objective, which fold-in and explanations need, and what features have learnt.

    ``targets`` are explicit ones, in the order of the interactions. Pairs of (users, items) entries say what each side
    has: feature weights W, the map from raw features to X, own vectors, a graph. ``weighting`` is that of stored pairs.
    ``user_centers`` is what features say of the users who are known, for when they have further events.
    """

    loss: Loss
    negatives: Negatives
    negative_loss: str
    ridge: Ridge
    targets: Array | None = field(metadata=TRAINING_ONLY)
    layout: Layout
    feature_weights: tuple[Array | None, Array | None]
    feature_maps: tuple[FeatureMap | None, FeatureMap | None]
    feature_reg: tuple[float | None, float | None]
    own_vectors: tuple[bool, bool]
    graphs: tuple[bool, bool]
    weighting: DegreeWeighting | None = None
    user_centers: Array | None = field(default=None, metadata=TRAINING_ONLY)
    cold: tuple[ColdFactors | None, ColdFactors | None] = (None, None)

    def check(self) -> None:
        """Factors, and everything that has an entry per user, item, stored pair or factor."""
        super().check()
        check_count("rank", self.layout.rank)
        check_count("columns", self.layout.columns, self.user_factors.shape[1])
        for side, (size, weights) in enumerate(zip(self.shape, (self.negatives.left, self.negatives.right))):
            check_array("negatives", weights, size)
            if isinstance(self.negatives.value, tuple):
                check_array("negatives", self.negatives.value[side], size, self.negatives.value[0].shape[1])
            if self.feature_weights[side] is not None:
                check_array("feature_weights", self.feature_weights[side], None, self.user_factors.shape[1])
            cold, reader = self.cold[side], self.feature_maps[side]
            if cold is not None and reader is not None:
                cold.check(reader.width + reader.fit_intercept, self.user_factors.shape[1])
        if self.user_centers is not None:
            check_array("user_centers", self.user_centers, self.shape[LEFT], None)
        if self.targets is not None:
            check_array("targets", self.targets, self.interactions.nnz)

    @property
    def reg(self) -> tuple[float, float]:
        """The ridges of users and items."""
        return self.ridge.reg

    @property
    def biases(self) -> bool:
        """Whether the factors have bias columns."""
        return self.layout.biases

    @property
    def user_feature_weights(self) -> Array | None:
        """W of the users' features."""
        return self.feature_weights[LEFT]

    @property
    def item_feature_weights(self) -> Array | None:
        """W of the items' features."""
        return self.feature_weights[RIGHT]

    def vectors(self, side: int) -> Array:
        """Factors without biases and constants."""
        return np.ascontiguousarray(self.layout.vectors(super().vectors(side)))

    def feature_map(self, side: int) -> FeatureMap | None:
        """How features of a side are read."""
        return self.feature_maps[side]

    def folded_users(self, users: Newcomers, n_threads: int) -> Array:
        """Factors of new users by their events, their features, or both."""
        rows = None if users.events is None else self.rows_of(users)
        return self.new_factors(LEFT, rows, users, users.targets, n_threads)

    def folded_items(self, items: Newcomers, n_threads: int) -> Array:
        """Factors of new items by their events, their features, or both."""
        if items.events is None:
            return self.new_factors(RIGHT, None, items, items.targets, n_threads)
        rows = StoredRows.of(checked_columns(items.events, len(self.user_factors), self.item_factors.dtype))
        targets = None if items.targets is None else as_csr(items.targets, rows.dtype, "targets")[0].T
        return self.new_factors(RIGHT, rows, items, targets, n_threads)

    def new_factors(self, side: int, rows: Any, new: Newcomers, targets: Any, n_threads: int) -> Array:
        """Factors of new entities whose events are ``rows``, with ``targets`` of the same pattern."""
        check_description(rows, new)
        if rows is None:
            return self.of_newcomers(side, new.features, n_threads)
        aligned = self.aligned_targets(rows, targets)
        centers = new.centers
        if new.features is not None:
            centers = self.from_features(side, new.features, rows.shape[0], n_threads)
        return self.fold_in(side, rows, new.weights, new.values, centers, aligned, n_threads)

    def of_newcomers(self, side: int, features: Any, n_threads: int) -> Array:
        """Factors of new entities known by their features alone: what regression says of them, or XW."""
        cold = self.cold[side]
        if cold is None:
            return self.from_features(side, features, None, n_threads)
        return cold(self.map_of(side)(features, None, self.item_factors.dtype), n_threads)

    def from_features(self, side: int, features: Any, count: int | None, n_threads: int) -> Array:
        """XW of new entities, or what regression says of them where features had no part in training."""
        weights, cold = self.feature_weights[side], self.cold[side]
        matrix = self.map_of(side)(features, count, self.item_factors.dtype)
        if weights is not None:
            factors = Features(matrix, weights.dtype).product(weights, n_threads)
        elif cold is not None:
            factors = cold(matrix, n_threads)
        else:
            factors = np.zeros((matrix.shape[0], self.layout.columns), self.item_factors.dtype)
        constant = self.layout.constant(side)
        if constant is not None:
            factors[:, constant] = 1
        return factors

    def centers_of(self, features: Any, count: int | None, n_threads: int) -> Array:
        """What features say of users: XW."""
        return self.from_features(LEFT, features, count, n_threads)

    def map_of(self, side: int) -> FeatureMap:
        """How features of a side are read, or a sentence where training saw none."""
        feature_map = self.feature_maps[side]
        if feature_map is None:
            name = f"{KINDS[side]}_features"
            raise ValueError(f"this model was fitted without {name}, so it cannot read those of new {KINDS[side]}s.")
        return feature_map

    def aligned_targets(self, rows: Any, targets: Any) -> Array | None:
        """Targets of new rows in their order; a model that learnt from explicit ones needs them."""
        if targets is not None:
            return aligned_targets(targets, rows)
        if self.targets is not None and rows.nnz:
            raise ValueError(
                "this model was fitted with explicit targets: give those of the new interactions as targets=, a matrix "
                "of the same pattern (of ones and the loss's own target of a dislike, if that is what they are)."
            )
        return None

    def fold_in(
        self,
        side: int,
        rows: Any,
        weights: ArrayLike | None,
        values: ArrayLike | None,
        centers: Array | None,
        targets: Array | None,
        n_threads: int,
    ) -> Array:
        """The optimum of training's sub-problem for new rows; ``centers`` is what features say of them."""
        problem = self.row_problem(side, rows, targets, weights, values, centers)
        return solve_to_optimum(problem, self.fixed_for(side, problem, n_threads), n_threads)

    def fixed_for(self, side: int, problem: RowProblem, n_threads: int) -> Array | FixedSide:
        """The side that new rows of a side are solved beside, made once; with "same" it is the rows' own."""
        if self.negative_loss != "squared":
            return self.item_factors if side == LEFT else self.user_factors
        return self.fixed_side(side, n_threads, problem)

    def fixed_side(self, side: int, n_threads: int, problem: RowProblem | None = None) -> FixedSide:
        """What new rows of a side see of the other side's factors."""
        if side not in self._fixed_sides:
            factors = self.item_factors if side == LEFT else self.user_factors
            if problem is None:
                problem = self.row_problem(side, StoredRows.empty(0, len(factors), factors.dtype))
            self._fixed_sides[side] = FixedSide.of(problem, factors, n_threads)
        return self._fixed_sides[side]

    def prepare(self, n_threads: int) -> None:
        """What new users and explanations see of the items besides."""
        super().prepare(n_threads)
        self.others(LEFT)
        if self.negative_loss == "squared":
            self.fixed_side(LEFT, n_threads)
        if self.weighting is not None:
            self.degrees  # noqa: B018

    def others(self, side: int) -> OtherWeights:
        """The weights of negatives that new rows of a side see, looked at once."""
        if side not in self._others:
            weights = self.negatives.right if side == LEFT else self.negatives.left
            self._others[side] = OtherWeights.of(weights, self.item_factors.dtype)
        return self._others[side]

    @cached_property
    def _others(self) -> dict[int, OtherWeights]:
        return {}

    @cached_property
    def _fixed_sides(self) -> dict[int, FixedSide]:
        return {}

    @cached_property
    def degrees(self) -> tuple[Array, Array]:
        """Numbers of stored pairs of every item, which new users see, and of every user, which new items see."""
        stored = self.interactions
        return np.bincount(stored.indices, minlength=stored.shape[1]), np.diff(stored.indptr)

    def row_problem(
        self,
        side: int,
        rows: Any,
        targets: Array | None = None,
        weights: ArrayLike | None = None,
        values: ArrayLike | None = None,
        centers: Array | None = None,
    ) -> RowProblem:
        """The training sub-problem of new rows of a side (:class:`StoredRows`, or csr)."""
        rows = rows if isinstance(rows, StoredRows) else StoredRows.of(rows)
        if self.weighting is not None:
            rows = self.weighting.weighted_rows(rows, self.degrees[side])
        problem = new_rows(
            side, rows, self.loss, self.negatives, self.ridge, self.layout.constant(side), targets, weights, values,
            centers, self.others(side),
        )  # fmt: skip
        return OUTSIDE[self.negative_loss].written_out(problem, rows.shape[1])

    def explanation(self, user: int, item: int, n: int | None, counted: Any, targets: Array | None) -> Explanation:
        """Split a score into contributions of the ``counted`` pairs of a user (csr, one row) and a base."""
        if self.graphs[LEFT] or not self.own_vectors[LEFT] or self.negative_loss != "squared":
            raise ValueError(
                "explain needs users with own vectors, without a graph and with squared negatives: otherwise a user's "
                "factors do not follow from the user's own pairs."
            )
        value = self.negatives.value
        values = value[LEFT][[user]] if isinstance(value, tuple) else None
        problem = self.row_problem(LEFT, counted, targets, self.negatives.left[[user]], values)
        return explain_pair(problem, self.user_factors[user], self.fixed_side(LEFT, 1), item, n)


@storable
@dataclass(frozen=True, kw_only=True)
class OneClassState(FactorizationState):
    """Every pair counts: the mean weight of a negative."""

    negative_weight: float

    def explain(self, user: int, item: int, n: int | None) -> Explanation:
        """The stored pair with item j contributes −r_j vᵀA⁻¹v_j, see :mod:`everypair.models.recommend.explanation`."""
        counted, targets = stored_row(self, user)
        return self.explanation(user, item, n, counted, targets)

    def grown(self, side: int, newcomers: Newcomers, n_threads: int) -> OneClassState:
        """The same with new users or items, whose factors are folded in."""
        fold = self.folded_users if side == LEFT else self.folded_items
        grown: OneClassState = grown_fields(self, side, fold(newcomers, n_threads), newcomers, n_threads)
        if side == LEFT and LEFT in self._fixed_sides:  # what users see of the items stays
            grown._fixed_sides[LEFT] = self._fixed_sides[LEFT]
        return grown

    def with_events(self, users: NDArray[Any], rows: Any, n_threads: int) -> Answer:
        """Scores of known users if they had these events."""
        return self.described(known_with(self, users, rows), n_threads)

    def refreshed(self, interactions: Any, users: NDArray[Any], n_threads: int) -> OneClassState:
        """The same with further events of users, whose factors follow from these and from their features."""
        refreshed: OneClassState = refreshed_users(self, interactions, users, n_threads)
        return refreshed


def stored_row(state: FactorizationState, user: int) -> tuple[StoredRows, Array | None]:
    """The stored pairs of a training user, and their explicit targets."""
    stored = slice(state.interactions.indptr[user], state.interactions.indptr[user + 1])
    row = StoredRows.taken(state.interactions, np.array([user]))
    return row, None if state.targets is None else state.targets[stored]


def check_description(rows: Any, new: Newcomers) -> None:
    """Refuse newcomers of whom nothing is said, or not enough."""
    if rows is None and new.features is None:
        raise ValueError("give the interactions of new entities, their features, or both.")
    if rows is None and any(part is not None for part in (new.weights, new.values, new.targets)):
        raise ValueError("weights, values and targets say how interactions count: give those as well.")


def check_rank(rank: int, shape: tuple[int, int]) -> None:
    """Refuse a rank that is larger than both sides."""
    if rank > max(shape):
        raise ValueError(
            f"rank={rank} is larger than both sides of interactions {shape}: at most {max(shape)} makes sense."
        )
