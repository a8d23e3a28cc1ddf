"""Fitted values that score by factors: s_ij = u_i · v_j."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.models.codec import storable
from everypair.models.recommend.fitted import Answer, NamedValue, Newcomers
from everypair.models.recommend.positions import stored_rows
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_matrix
from everypair.retrieve import Scores
from everypair.retrieve.index import Index, check_finite
from everypair.retrieve.similar import UnitVectors
from everypair.solvers.loop import Status
from everypair.types import Array


@dataclass(frozen=True, kw_only=True)
class FactorState(NamedValue):
    """Factors of both sides and the interactions they were learnt from; a subclass folds in new users."""

    user_factors: Array
    item_factors: Array
    interactions: Any

    def check(self) -> None:
        """Refuse factors that do not fit each other or the interactions."""
        check_array("user_factors", self.user_factors, None, None)
        check_array("item_factors", self.item_factors, None, self.user_factors.shape[1])
        if self.user_factors.dtype != self.item_factors.dtype:
            raise ValueError("user_factors and item_factors must have one dtype.")
        check_matrix("interactions", self.interactions, self.shape)

    def check_numbers(self) -> None:
        """Refuse NaN and infinite factors."""
        check_finite(self.user_factors, "user_factors")
        check_finite(self.item_factors, "item_factors")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return len(self.user_factors), len(self.item_factors)

    @cached_property
    def index(self) -> Index:
        """The items' factors as a search reads them."""
        return Index.of_finite(self.item_factors)

    def prepare(self, n_threads: int) -> None:
        """Make what belongs to the model and not to a question; it would else be made by the first that needs it."""
        self.index.reach, self.index.rounded, self.index.every_item  # noqa: B018

    def known(self, users: NDArray[Any] | None) -> Answer:
        """Scores of users by position."""
        left = self.user_factors if users is None else self.user_factors[users]
        return Answer(Scores.of_index(left, self.index), StoredRows.taken(self.interactions, users))

    def described(self, users: Newcomers, n_threads: int) -> Answer:
        """Scores of new users, by the factors that fold-in finds."""
        if users.events is not None:
            users = replace(users, events=self.rows_of(users))
        left = self.folded_users(users, n_threads)
        seen = users.events
        if seen is None:
            seen = StoredRows.empty(len(left), len(self.item_factors), left.dtype)
        return Answer(Scores.of_index(left.astype(self.index.dtype, copy=False), self.index), seen)

    def pair_scores(self, users: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
        """Scores of the pairs (users[t], items[t])."""
        return Scores.of_index(self.user_factors, self.index).pairs(users, items, n_threads)

    def rows_of(self, users: Newcomers) -> StoredRows:
        """The events of new users, checked (c × n)."""
        return stored_rows(users.events, len(self.item_factors), self.item_factors.dtype)

    def events_alone(self, users: Newcomers) -> StoredRows:
        """The events of new users of a model that knows neither features nor targets."""
        check_events_alone(users, "users")
        return self.rows_of(users)

    def folded_users(self, users: Newcomers, n_threads: int) -> Array:
        """Factors of new users (c × k)."""
        raise NotImplementedError


def check_events_alone(new: Newcomers, kind: str) -> None:
    """Refuse new users or items of whom a model is told what it does not know."""
    if new.features is not None:
        raise ValueError(f"this model was fitted without features: describe new {kind} by interactions.")
    if any(part is not None for part in (new.targets, new.weights, new.values)):
        raise ValueError(f"this model knows no targets or weights: describe new {kind} by interactions alone.")


@storable
@dataclass(frozen=True, kw_only=True)
class TrainedState(FactorState):
    """Factors that sweeps have learnt: one dict per sweep, the last objective, why training stopped."""

    rank: int
    history: list[dict[str, Any]] = field(metadata=TRAINING_ONLY)
    objective: float | None
    status: Status

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.history)

    def vectors(self, side: int) -> Array:
        """The columns of a side's factors that are learnt: what a cosine should compare."""
        return self.item_factors if side else self.user_factors

    @cached_property
    def unit_items(self) -> Index:
        """Every item's vector, scaled to length 1."""
        vectors = self.vectors(1)
        return (self.index if vectors.shape == self.item_factors.shape else Index.of_finite(vectors)).unit

    @cached_property
    def unit_users(self) -> Index:
        """Every user's vector, scaled to length 1."""
        return Index.of_finite(self.vectors(0)).unit

    def item_vectors(self) -> UnitVectors:
        """Every item's factors, scaled to length 1."""
        return [(1.0, self.unit_items)]

    def user_vectors(self) -> UnitVectors:
        """Every user's factors, scaled to length 1."""
        return [(1.0, self.unit_users)]

    def prepare(self, n_threads: int) -> None:
        """The items' vectors of length 1 besides."""
        super().prepare(n_threads)
        self.unit_items.reach, self.unit_items.rounded  # noqa: B018
