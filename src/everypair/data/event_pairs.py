"""Events in positions: those of one pair joined, pairs of rare users and items left out, unused ids forgotten."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Repeats:
    """The events of pairs that have several, with times, and ``how`` those of one pair are joined."""

    events: EventRows
    how: str

    def among(self, rows: Array, columns: Array, places: tuple[Array, Array] | None = None) -> Repeats | None:
        """Those of the pairs (rows[t], columns[t]), which ascend; ``places`` is where these pairs are from now on."""
        events = self.events
        width = 1 + int(max(columns.max(initial=0), events.columns.max(initial=0)))
        keys = rows.astype(np.int64) * width + columns
        wanted = events.rows.astype(np.int64) * width + events.columns
        found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        kept = np.flatnonzero(keys[found] == wanted) if len(keys) else np.empty(0, np.int64)
        if not len(kept):
            return None
        times = None if events.times is None else events.times[kept]
        new = (rows, columns) if places is None else places
        return Repeats(EventRows(new[0][found[kept]], new[1][found[kept]], events.weights[kept], times), self.how)


def repeated_events(events: EventRows) -> EventRows:
    """The events of pairs that have several.

    >>> events = EventRows(np.array([1, 0, 1]), np.array([2, 2, 2]), np.array([3.0, 1.0, 2.0]), np.array([9, 8, 7]))
    >>> repeated_events(events).times.tolist()
    [9, 7]
    """
    order, rows, columns = _sorted_by_pair(events.rows, events.columns)
    same = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    several = np.zeros(len(order), np.bool_)
    several[1:] |= same
    several[:-1] |= same
    kept = np.zeros(len(order), np.bool_)
    kept[order[several]] = True
    return events.where(kept)


def join_events(events: EventRows, how: str) -> EventRows:
    """Return one pair for all events of a user and an item, in ascending order, with their latest time.

    ``how`` is "sum", "last" (by time, then by order), "max", or "count" (of positive weights).

    >>> events = EventRows(np.array([1, 0, 1]), np.array([2, 2, 2]), np.array([3.0, 1.0, 2.0]), None)
    >>> pairs = join_events(events, "last")
    >>> pairs.rows.tolist(), pairs.columns.tolist(), pairs.weights.tolist()
    ([0, 1], [2, 2], [1.0, 2.0])
    """
    order, rows, columns = _sorted_by_pair(events.rows, events.columns)
    first = np.ones(len(order), np.bool_)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    starts = np.flatnonzero(first)
    weights: Array = events.weights[order]
    times = None if events.times is None else events.times[order]
    del order
    latest = None if times is None else np.maximum.reduceat(times, starts)
    if how == "max":
        weights = np.maximum.reduceat(weights, starts)
    elif how == "last":
        pair = np.cumsum(first) - 1
        of_last = np.arange(len(pair))
        if times is not None and latest is not None:
            of_last = np.flatnonzero(times == latest[pair])
        last = np.empty(len(starts), np.int64)
        last[pair[of_last]] = of_last  # of several the one that comes last
        weights = weights[last]
    else:
        weights = np.add.reduceat(weights if how == "sum" else weights > 0, starts, dtype=np.float64)
    return EventRows(rows[starts], columns[starts], weights, latest)


def _sorted_by_pair(rows: Array, columns: Array) -> tuple[Array, Array, Array]:
    """Return the order of events by row, then column, then as they come, and rows and columns in it.

    Row, column and number of an event are the bits of one integer: numpy sorts those with vector instructions, in an
    eighth of the time of an argsort. Where they need more than 63 bits, the number is left to a stable argsort.
    """
    count, width = len(rows), int(columns.max()).bit_length()
    key: Array = (rows.astype(np.int64) << width) | columns
    bits = (count - 1).bit_length()
    if int(rows.max()).bit_length() + width + bits < 64:
        key <<= bits
        key |= np.arange(count)
        key.sort()
        order: Array = key & ((1 << bits) - 1)
        key >>= bits
    else:
        order = np.argsort(key, kind="stable")
        key = key[order]
    return order, (key >> width).astype(rows.dtype), (key & ((1 << width) - 1)).astype(columns.dtype)


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
