"""From files of events to shards of pairs, on the workers: ids are numbered there and never come to the client.

    files → read and joined, file by file → runs of files together → ids numbered → pairs by users and by items

Rows, columns and weights are those that :func:`everypair.data.read_events` gives for one table of all files, but for
the rounding of sums of fractional weights over several of them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import pairwise
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.event_columns import AUTO, ROLES
from everypair.data.event_pairs import EventRows, used_ids
from everypair.data.events import NO_EVENTS, NOTHING_LEFT, JoinedEvents, read_events, read_joined
from everypair.data.tables import TextOptions
from everypair.distribute.pieces import Sized
from everypair.distribute.reading.event_shards import Cut, only_used
from everypair.distribute.reading.id_numbers import Numbered, numbered_ids
from everypair.distribute.reading.summaries import naming, summaries
from everypair.distribute.sharded_pairs import ShardedPairs
from everypair.distribute.tasks import Tasks
from everypair.parallel import Chunk
from everypair.problem.layout import LEFT, RIGHT
from everypair.types import Array

KINDS = ("user", "item")
TEXT = ("delimiter", "header", "quote", "encoding")
JOINS = {"sum": "sum", "count": "sum", "max": "max", "last": "last"}  # how pairs of several files are joined
GROUPS_OF_WORKER = 4  # files that are handled together,
GROUP_EVENTS = 2**23  # unless they would have more events than this


@dataclass(frozen=True)
class FileEvents(Sized):
    """Events of some files: distinct ids of users and of items, ascending, and pairs in these positions."""

    ids: tuple[Array, Array]
    pairs: EventRows


@dataclass(frozen=True)
class EventFileSummary:
    """What the client knows of a file."""

    name: str
    columns: Mapping[str, Any]
    strings: tuple[bool, bool]  # whether ids of users and of items are
    how: str
    events: int
    note: str  # what was guessed of the columns


def pairs_from_events(
    tasks: Tasks, sources: Sequence[Any], options: Mapping[str, Any], shards: tuple[int | None, int | None], dtype: Any
) -> ShardedPairs:
    """Read files (or futures of data frames) on the workers and cut their pairs both ways."""
    parameters = signature(read_events).parameters
    for name in options:
        if name not in parameters or name == "source":
            raise ValueError(f"read= has {name!r}, which is no option of read_events: leave it out.")
        if name in ("min_user_events", "min_item_events") and options[name] != 1:
            raise ValueError(f"on a cluster {name} is not known file by file: leave it out of read=.")
    parts, how = _read_all(tasks, sources, options)
    numbered = _numbered(tasks, parts, LEFT), _numbered(tasks, parts, RIGHT)
    coded = tasks.start([
        tasks.task("code", _code, part, users, items)
        for part, users, items in zip(parts, numbered[LEFT].numbers, numbered[RIGHT].numbers)
    ])  # fmt: skip
    shape, ids = (numbered[LEFT].size, numbered[RIGHT].size), (numbered[LEFT].runs, numbered[RIGHT].runs)
    if not min(shape):
        raise ValueError(NOTHING_LEFT)
    cut = Cut(shards, JOINS[how], dtype)
    pairs = cut(tasks, coded, shape, ids)
    if not pairs.nnz:
        raise ValueError(NOTHING_LEFT)
    if not all(stored.all() for stored in pairs.stored):
        pairs = cut(tasks, *only_used(coded, pairs))
    if not pairs.n_positives:
        raise ValueError("the events have no positive weight: there is nothing to learn from.")
    return pairs


def _read_all(tasks: Tasks, sources: Sequence[Any], options: Mapping[str, Any]) -> tuple[list[Any], str]:
    """Read the first file with columns as they are found, and all others by these names; then join runs of files."""
    places = [tasks.workers[number * len(tasks.workers) // len(sources)] for number in range(len(sources))]
    names = [one if isinstance(one, str) else f"partition {number}" for number, one in enumerate(sources)]
    (first,) = tasks.start([tasks.task("read", _read, sources[0], dict(options), names[0], place=places[0])])
    (pattern,) = summaries(tasks, [first], _summary)
    if pattern.note and options.get("verbose", True):
        print(pattern.note, file=sys.stderr)
    unused = [role for role in ("weight", "time") if _may_have(role, pattern, options)]
    chosen = {**options, **pattern.columns, **dict.fromkeys(unused, AUTO)}
    others = [
        tasks.task("read", _read, source, chosen, name, place=place)
        for source, name, place in zip(sources[1:], names[1:], places[1:])
    ]
    read = [first, *tasks.start(others)]
    every: list[EventFileSummary] = summaries(tasks, read, _summary)
    for one in every:
        _refuse_others(one, pattern, unused)
    if not any(one.events for one in every):
        raise ValueError(NOTHING_LEFT)
    parts = [tasks.task("events", getitem, one, 0) for one in read]
    together = [
        tasks.task("together", _together, parts[start:stop], place=places[start])
        for start, stop in _groups([one.events for one in every], GROUPS_OF_WORKER * len(tasks.workers))
    ]
    return tasks.start(together), pattern.how


def _refuse_others(one: EventFileSummary, first: EventFileSummary, unused: list[str]) -> None:
    """Refuse a file whose ids are of another type than the first one's, or which has a column that this one lacks."""
    for kind, mine, other in zip(KINDS, one.strings, first.strings):
        if mine != other:
            types = ("integers", "strings")
            raise ValueError(
                f"{one.name}: column {first.columns[kind]!r} holds {types[mine]}, but {types[other]} in {first.name}: "
                'say ids="string" in read=, or write the files alike.'
            )
    for role in unused:
        if one.columns[role] is not None:
            raise ValueError(
                f"{one.name}: column {one.columns[role]!r} looks like a {role}, and {first.name} has none: write the "
                f"files alike, or say {role}=None in read=."
            )


def _may_have(role: str, first: EventFileSummary, options: Mapping[str, Any]) -> bool:
    """Whether other files may have a weight, or a time that counts, which the first one has not."""
    wanted = role == "weight" or first.how == "last"
    return wanted and first.columns[role] is None and options.get(role, AUTO) == AUTO


def _groups(events: Sequence[int], wanted: int) -> list[Chunk]:
    """Runs of files of about equally many events: as many as are wanted, or more where there are many events."""
    count = min(len(events), max(wanted, sum(events) // GROUP_EVENTS))
    if count == len(events):
        return [(number, number + 1) for number in range(count)]
    before = np.concatenate([[0], np.cumsum(events)])
    cuts = np.searchsorted(before, np.linspace(0, before[-1], count + 1))
    return list(pairwise(np.unique(np.concatenate([[0], cuts[1:-1], [len(events)]])).tolist()))


def _numbered(tasks: Tasks, parts: list[Any], side: int) -> Numbered:
    ids = tasks.start([tasks.task("ids", _ids, part, side) for part in parts])
    return numbered_ids(tasks, ids, tasks.get([tasks.task("size", len, one) for one in ids]))


def _read(source: Any, options: dict[str, Any], name: str) -> tuple[FileEvents, EventFileSummary]:
    """The events of one file, or of one partition of a data frame, those of a pair joined."""
    bound = signature(read_events).bind(source, **options)
    bound.apply_defaults()
    chosen = bound.arguments
    with naming(name):
        joined = _joined(source, chosen)
    ordered = joined.how == "last"
    pairs = joined.pairs
    narrow = pairs.weights.astype(np.float32)
    if not (ordered or (joined.how == "max" and chosen["min_rating"] is None)):
        pairs, narrow = (
            pairs.where(pairs.weights != 0),
            narrow[pairs.weights != 0],
        )  # else a 0 may outweigh another file's event
    users, rows = used_ids(joined.ids[LEFT], pairs.rows)
    items, columns = used_ids(joined.ids[RIGHT], pairs.columns)
    weights = narrow if np.array_equal(narrow, pairs.weights) else pairs.weights
    rows, columns = rows.astype(np.int32), columns.astype(np.int32)
    part = FileEvents((users.values, items.values), EventRows(rows, columns, weights, pairs.times if ordered else None))
    columns_used = {role: joined.columns[role] for role in ROLES if role != "time" or ordered}
    strings = joined.ids[LEFT].are_strings, joined.ids[RIGHT].are_strings
    return part, EventFileSummary(name, {"time": None, **columns_used}, strings, joined.how, len(rows), joined.note)


def _joined(source: Any, options: Mapping[str, Any]) -> JoinedEvents:
    try:
        return read_joined(
            source, {role: options[role] for role in ROLES}, text=TextOptions(*(options[name] for name in TEXT)),
            **{name: options[name] for name in ("min_rating", "dislike_weight", "duplicates", "missing", "ids")},
        )  # fmt: skip
    except ValueError as failure:
        if NO_EVENTS not in str(failure):
            raise
        way = "Leave the file out." if isinstance(source, str) else "Leave it out of the data frame."
        raise ValueError(f"{failure} {way}") from None


def _summary(read: tuple[FileEvents, EventFileSummary]) -> EventFileSummary:
    return read[1]


def _together(parts: list[FileEvents]) -> FileEvents:
    """The events of several files, one after the other."""
    if len(parts) == 1:
        return parts[0]
    ids = [np.unique(np.concatenate([part.ids[side] for part in parts])) for side in (LEFT, RIGHT)]
    places = [[np.searchsorted(ids[side], part.ids[side]).astype(np.int32) for part in parts] for side in (LEFT, RIGHT)]
    rows = np.concatenate([place[part.pairs.rows] for place, part in zip(places[LEFT], parts)])
    columns = np.concatenate([place[part.pairs.columns] for place, part in zip(places[RIGHT], parts)])
    weights = np.concatenate([part.pairs.weights for part in parts])
    timed = [part.pairs.times for part in parts if part.pairs.times is not None]
    return FileEvents(
        (ids[LEFT], ids[RIGHT]), EventRows(rows, columns, weights, np.concatenate(timed) if timed else None)
    )


def _ids(part: FileEvents, side: int) -> Array:
    return part.ids[side]


def _code(part: FileEvents, users: NDArray[np.int64], items: NDArray[np.int64]) -> EventRows:
    """Events in positions of all ids."""
    pairs = part.pairs
    return EventRows(
        users.astype(np.int32)[pairs.rows], items.astype(np.int32)[pairs.columns], pairs.weights, pairs.times
    )
