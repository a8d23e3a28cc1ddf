"""Events in positions: those of one pair joined, pairs of rare users and items left out, unused ids forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.ids import Ids
from everypair.types import Array


@dataclass(frozen=True)
class EventRows:
    """Events or pairs: who (``rows``), what (``columns``), how much and, where known, when."""

    rows: Array
    columns: Array
    weights: Array
    times: Array | None

    def where(self, kept: NDArray[np.bool_]) -> EventRows:
        """Return those that are kept."""
        if kept.all():
            return self
        times = None if self.times is None else self.times[kept]
        return EventRows(self.rows[kept], self.columns[kept], self.weights[kept], times)


def join_events(events: EventRows, how: str) -> EventRows:
    """Return one pair for all events of a user and an item, in ascending order, with their latest time.

    ``how`` is "sum", "last" (by time, then by order), "max", or "count" (of positive weights).

    >>> events = EventRows(np.array([1, 0, 1]), np.array([2, 2, 2]), np.array([3.0, 1.0, 2.0]), None)
    >>> pairs = join_events(events, "last")
    >>> pairs.rows.tolist(), pairs.columns.tolist(), pairs.weights.tolist()
    ([0, 1], [2, 2], [1.0, 2.0])
    """
    width = int(events.columns.max()) + 1
    keys, place = np.unique(events.rows.astype(np.int64) * width + events.columns, return_inverse=True)
    if how == "sum":
        weights: Array = np.bincount(place, weights=events.weights)
    elif how == "count":
        weights = np.bincount(place, weights=events.weights > 0)
    elif how == "max":
        weights = np.full(len(keys), -np.inf)
        np.maximum.at(weights, place, events.weights)
    else:
        weights = np.empty(len(keys))
        order: Any = slice(None) if events.times is None else np.argsort(events.times, kind="stable")
        weights[place[order]] = events.weights[order]
    latest = None
    if events.times is not None:
        latest = np.full(len(keys), events.times.min())
        np.maximum.at(latest, place, events.times)
    rows, columns = np.divmod(keys, width)
    return EventRows(rows, columns, weights, latest)


def frequent_pairs(pairs: EventRows, least_items: int, least_users: int) -> NDArray[np.bool_]:
    """Mark the largest set of pairs in which every user has ``least_items`` and every item ``least_users``.

    >>> pairs = EventRows(np.array([0, 0, 1]), np.array([0, 1, 1]), np.ones(3), None)
    >>> frequent_pairs(pairs, 2, 1).tolist(), frequent_pairs(pairs, 2, 2).any()
    ([True, True, False], np.False_)
    """
    kept = np.ones(len(pairs.rows), np.bool_)
    if max(least_items, least_users) == 1:
        return kept
    while True:
        items_of = np.bincount(pairs.rows[kept], minlength=int(pairs.rows.max()) + 1)
        users_of = np.bincount(pairs.columns[kept], minlength=int(pairs.columns.max()) + 1)
        still = kept & (items_of[pairs.rows] >= least_items) & (users_of[pairs.columns] >= least_users)
        if np.array_equal(still, kept):
            return kept
        kept = still


def used_ids(ids: Ids, positions: Array) -> tuple[Ids, Array]:
    """Return the ids that appear among ``positions``, in their order, and the positions among them.

    >>> used_ids(Ids(["a", "b", "c"]), np.array([2, 0, 2]))
    (Ids(2: 'a', 'c'), array([1, 0, 1]))
    """
    used = np.zeros(len(ids), np.bool_)
    used[positions] = True
    if used.all():
        return ids, positions
    return Ids._of_distinct(ids.values[used]), (np.cumsum(used) - 1)[positions]
