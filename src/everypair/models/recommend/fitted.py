"""What recommenders learn answers in positions, behind one Protocol; what only some can do is a Protocol of its own.

A fitted value is frozen: methods that would change it return another one. ``n_threads`` is the caller's choice, and no
answer depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from numpy.typing import NDArray

from everypair.data.event_log import EventLog
from everypair.data.ids import Ids
from everypair.data.item_table import ItemTable
from everypair.data.record import Record
from everypair.data.rows import StoredRows
from everypair.features.feature_map import FeatureMap
from everypair.models.recommend.explanation import Explanation
from everypair.retrieve import Scores
from everypair.retrieve.similar import UnitVectors
from everypair.types import Array


@dataclass(frozen=True)
class Newcomers:
    """Users or items that training did not see: their events, their features, or both.

    ``events`` has a row per new user (c × n) or a column per new item (m × c), ``targets`` has its pattern; ``weights``
    and ``values`` are their p and their rows of Ũ; ``centers`` is what features say of them, if that is known already.
    """

    events: Any = None
    features: Any = None
    targets: Any = None
    weights: Any = None
    values: Any = None
    centers: Any = None


class Answer(NamedTuple):
    """Scores of a few users and the items that they have."""

    scores: Scores
    seen: StoredRows


@runtime_checkable
class Fitted(Protocol):
    """Scores of users that training saw, or of new ones."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        ...

    def known(self, users: NDArray[Any] | None) -> Answer:
        """Scores of users by position, of all of them by default."""
        ...

    def described(self, users: Newcomers, n_threads: int) -> Answer:
        """Scores of users that training did not see."""
        ...

    def pair_scores(self, users: NDArray[Any], items: NDArray[Any], n_threads: int) -> Array:
        """Scores of the pairs (users[t], items[t])."""
        ...


@runtime_checkable
class Prepares(Protocol):
    """Something belongs to the value and not to a question; it is made by the first that needs it, or before."""

    def prepare(self, n_threads: int) -> None:
        """Make it now. Several threads may ask at once: what they make is the same."""
        ...


@runtime_checkable
class ComparesItems(Protocol):
    """Every item is a vector, and cosines say which are alike."""

    def item_vectors(self) -> UnitVectors:
        """Vectors of length 1 of all items, with weights where there are several kinds."""
        ...


@runtime_checkable
class ComparesUsers(Protocol):
    """Every user is a vector."""

    def user_vectors(self) -> UnitVectors:
        """Vectors of length 1 of all users."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A score is a sum over what the user did."""

    def explain(self, user: int, item: int, n: int | None) -> Explanation:
        """Split the score of a pair into contributions of the user's stored pairs and a base."""
        ...


@runtime_checkable
class FoldsInUsers(Protocol):
    """New users have factors."""

    def folded_users(self, users: Newcomers, n_threads: int) -> Array:
        """Factors of new users (c × k)."""
        ...


@runtime_checkable
class FoldsInItems(Protocol):
    """New items have factors."""

    def folded_items(self, items: Newcomers, n_threads: int) -> Array:
        """Factors of new items (c × k)."""
        ...


@runtime_checkable
class Grows(Protocol):
    """New users and items can be appended; nothing that was learnt changes."""

    def grown(self, side: int, newcomers: Newcomers, n_threads: int) -> Self:
        """The value with the newcomers behind those it knows."""
        ...


@runtime_checkable
class Refreshes(Grows, Protocol):
    """Users who are known take in further events: what follows from their own events is solved again."""

    def with_events(self, users: NDArray[Any], rows: Any, n_threads: int) -> Answer:
        """Scores of known users if they had these events (csr, a row per user), or a sentence on why there are none."""
        ...

    def refreshed(self, interactions: Any, users: NDArray[Any], n_threads: int) -> Self:
        """The value with these interactions in the place of its own, which differ in the rows of the ``users``."""
        ...


@runtime_checkable
class ReadsFeatures(Protocol):
    """Features of later users or items are read as training read them."""

    def feature_map(self, side: int) -> FeatureMap | None:
        """How features of a side are read; None where training saw none."""
        ...


@dataclass(frozen=True, kw_only=True)
class NamedValue:
    """Ids of users and items, both or neither: a model fitted on a matrix knows positions only.

    ``log`` is what a model with ids remembers of the events that it has read, ``item_table`` what is known of items to
    show them and to choose by, ``record`` where the model comes from.
    """

    user_ids: Ids | None = None
    item_ids: Ids | None = None
    log: EventLog | None = None
    item_table: ItemTable | None = None
    record: Record | None = None

    def without_ids(self) -> Self:
        """The same value, of positions alone."""
        return replace(self, user_ids=None, item_ids=None, log=None)


CAPABILITIES: dict[str, type] = {
    "similar_items": ComparesItems,
    "similar_users": ComparesUsers,
    "explain": Explains,
    "fold_in_users": FoldsInUsers,
    "fold_in_items": FoldsInItems,
    "add_users": Grows,
    "add_items": Grows,
    "update": Refreshes,
}
