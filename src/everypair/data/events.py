"""From a table of events (who, what, and perhaps how much and when) to a matrix with ids.

    x_ij = Σ w_e, the last, the largest or the number of the w_e over the events e of user i and item j

With `min_rating` θ an event's weight is 1 where its rating is at least θ, and −(dislike weight) or nothing below.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from everypair.check import integer, is_number
from everypair.data.event_columns import AUTO, ROLES, EventColumns, choose_columns
from everypair.data.event_pairs import (
    EventRows,
    Repeats,
    frequent_pairs,
    join_events,
    repeated_events,
    used_ids,
)
from everypair.data.ids import Ids
from everypair.data.tables import ID_TYPES, Column, Problems, Table, TextOptions, open_table
from everypair.types import Array

NO_EVENTS = "The table has no events"
NOTHING_LEFT = "No event is left: all weights are 0 or below min_rating."
DUPLICATES = ("auto", "sum", "last", "max", "count")


@dataclass(frozen=True)
class Events:
    """Users × items: ``matrix[i, j]`` is the weight of user i and item j (csr, float32), never 0 where it is stored.

    ``user_ids`` and ``item_ids`` name rows and columns, ascending; each has an entry. ``times`` stores the latest time
    of every pair in the same pattern (``None`` without times; dates become seconds since 1970). ``duplicates`` counts
    the events that were joined with another one of the same pair. ``columns`` says which column was read as what.
    ``dropped`` counts what was left out and why: events with something ``"missing"`` or ``"below min_rating"``, pairs
    of ``"weight 0"`` and those of ``"rare"`` users or items. ``reading`` are the arguments of ``read_events`` that were
    not the usual ones: a model reads later events by them. ``repeats`` are the events of pairs that have
    several, with their times: what a split by time needs. ``source`` is the name and the size of the file.

    >>> events = read_events([("ann", "rain"), ("bob", "rain"), ("bob", "rain"), ("bob", "blue")])
    >>> events.matrix.toarray().tolist(), events.item_ids, events.duplicates
    ([[0.0, 1.0], [1.0, 2.0]], Ids(2: 'blue', 'rain'), 1)
    """

    matrix: Any
    user_ids: Ids
    item_ids: Ids
    times: Any
    duplicates: int
    columns: Mapping[str, Hashable | None] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    repeats: Repeats | None = None
    source: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        users, items = self.matrix.shape
        parts = [f"{users:,} users × {items:,} items, {self.matrix.nnz:,} pairs"]
        parts += [f"{self.duplicates:,} events joined"] * bool(self.duplicates)
        parts += [f"{count:,} left out ({why})" for why, count in self.dropped.items()]
        return f"Events({', '.join(parts)}{', with times' * (self.times is not None)})"

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Events are no array; scikit-learn, which asks for one, cuts them as entries."""
        raise TypeError(
            "events are no array: scikit-learn's searches take everypair.data.Entries(events), other functions "
            "events.matrix."
        )


def read_events(
    source: Any,
    *,
    user: Hashable = AUTO,
    item: Hashable = AUTO,
    weight: Hashable | None = AUTO,
    time: Hashable | None = AUTO,
    min_rating: float | None = None,
    dislike_weight: float = 0.0,
    duplicates: Literal["auto", "sum", "last", "max", "count"] = "auto",
    missing: Literal["error", "drop"] = "error",
    min_user_events: int = 1,
    min_item_events: int = 1,
    ids: Literal["auto", "string", "integer"] = "auto",
    delimiter: str | None = None,
    header: bool | Sequence[str] | None = None,
    quote: str | None = '"',
    encoding: str = "utf-8",
    verbose: bool = True,
) -> Events:
    """Turn a table of events into a matrix with ids.

    Parameters
    ----------
    source
        A file: CSV, TSV or other delimited text or JSON lines, plain, gzip or zstd; Parquet or Arrow; npz with an array
        per column. Or a data frame (pandas, polars, pyarrow, …), a mapping from column names to arrays, or rows
        ``(user, item)``, ``(user, item, weight)``, ``(user, item, weight, time)``.
    user, item, weight, time
        The columns, by name or by position. ``"auto"`` finds the usual names and says in one line what it took;
        ``None`` does without weight or time. Without a weight every event counts 1; a negative weight is a dislike.
        Times are ISO dates or numbers of any clock.
    min_rating
        For ratings: an event is a positive of weight 1 where its rating is at least this, and left out where it is
        lower. ``weight`` then names the ratings.
    dislike_weight
        With `min_rating`: keep lower ratings as dislikes of this weight. Small ones, such as 0.02, are a good start.
    duplicates
        Several events of one pair: their ``"sum"``, the ``"last"`` (by time if there is one, else by order), the
        ``"max"``, or their ``"count"``, whatever their weights. ``"auto"`` is the sum, with `min_rating` the last.
    missing
        Events without user, item, weight or time (empty, NULL, NaN, NA, None): an ``"error"``, or ``"drop"``.
    min_user_events, min_item_events
        Leave out users with fewer different items and items with fewer different users, until none is left that has.
    ids
        ``"auto"``: what the table holds; in text, integers where all ids of a column are (and none has a leading
        zero), else strings. ``"string"`` and ``"integer"`` insist.
    delimiter, header, quote, encoding
        Of a text file. ``None`` finds delimiter and header; ``header=["user", "item"]`` names the columns of a file
        that has none; ``quote=None`` takes quotes for characters.
    verbose
        Say on standard error what was guessed.

    Examples
    --------
    >>> events = read_events({"user": ["ann", "bob", "ann"], "item": [7, 7, 5]})
    >>> events.matrix.toarray().tolist(), events.user_ids, events.item_ids
    ([[1.0, 1.0], [0.0, 1.0]], Ids(2: 'ann', 'bob'), Ids(2: 5, 7))
    >>> read_events([("ann", 7, 5.0), ("ann", 8, 2.0), ("bob", 7, 4.0)], min_rating=4).dropped
    {'below min_rating': 1}
    """
    least = integer("min_user_events", min_user_events), integer("min_item_events", min_item_events)
    reading = _unusual(
        user=user, item=item, weight=weight, time=time, min_rating=min_rating, dislike_weight=dislike_weight,
        duplicates=duplicates, missing=missing, ids=ids, delimiter=delimiter, header=header, quote=quote,
        encoding=encoding,
    )  # fmt: skip
    read = read_joined(
        source, {"user": user, "item": item, "weight": weight, "time": time}, min_rating=min_rating,
        dislike_weight=dislike_weight, duplicates=duplicates, missing=missing, ids=ids,
        text=TextOptions(delimiter, header, quote, encoding),
    )  # fmt: skip
    if verbose and read.note:
        print(read.note, file=sys.stderr)
    source_name, pairs, dropped = read.source_name, read.pairs, dict(read.dropped)
    stored = pairs.weights.astype(np.float32) != 0
    if not stored.all() and min_rating is None:
        dropped["weight 0"] = int((~stored).sum())
    pairs = pairs.where(stored)
    if len(pairs.rows) == 0:
        raise ValueError(f"{source_name}{NOTHING_LEFT}")
    kept = frequent_pairs(pairs, *least)
    if not kept.all():
        dropped["rare"] = int((~kept).sum())
        pairs = pairs.where(kept)
    if len(pairs.rows) == 0:
        raise ValueError(
            f"{source_name}No event is left: no users have {least[0]} items that have {least[1]} users each. Lower "
            "min_user_events or min_item_events."
        )
    user_ids, rows = used_ids(read.ids[0], pairs.rows)
    item_ids, places = used_ids(read.ids[1], pairs.columns)
    shape = len(user_ids), len(item_ids)
    repeats = None if read.repeats is None else read.repeats.among(pairs.rows, pairs.columns, (rows, places))
    indptr = np.searchsorted(rows, np.arange(shape[0] + 1))
    return Events(
        matrix=sp.csr_array((pairs.weights.astype(np.float32), places, indptr), shape=shape),
        user_ids=user_ids,
        item_ids=item_ids,
        times=None if pairs.times is None else sp.csr_array((pairs.times, places, indptr), shape=shape),
        duplicates=read.duplicates,
        columns=read.columns,
        dropped=dropped,
        reading=reading,
        repeats=repeats,
        source=_file_of(source),
    )


def _file_of(source: Any) -> dict[str, Any]:
    """The name and the size of a file, nothing of a table in memory."""
    if not isinstance(source, str | os.PathLike):
        return {}
    path = Path(source)
    return {"file": path.name, "bytes": path.stat().st_size}


def _unusual(**given: Any) -> dict[str, Any]:
    """Arguments of ``read_events`` that are not their defaults and can be written down."""
    usual = {name: one.default for name, one in signature(read_events).parameters.items()}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value != usual[name] and (value is None or isinstance(value, str | int | float | list | tuple))
    }


@dataclass(frozen=True)
class JoinedEvents:
    """A table's events in positions of its ``ids``, those of a pair joined; weights may be 0.

    ``how`` they were joined is said without "auto". The rest is as in :class:`Events`.
    """

    source_name: str
    ids: tuple[Ids, Ids]
    pairs: EventRows
    how: str
    duplicates: int
    columns: Mapping[str, Hashable | None]
    dropped: Mapping[str, int]
    note: str  # what was guessed of the columns
    repeats: Repeats | None = None


def read_joined(
    source: Any,
    columns: Mapping[str, Any],
    *,
    min_rating: float | None,
    dislike_weight: float,
    duplicates: str,
    missing: str,
    ids: str,
    text: TextOptions,
) -> JoinedEvents:
    """Read a table as :func:`read_events` does, but for what it leaves out of the pairs."""
    _check_options(min_rating, dislike_weight, duplicates, missing, ids)
    if duplicates == "auto":
        duplicates = "sum" if min_rating is None else "last"
    if duplicates == "count" and min_rating is None and columns["weight"] not in (AUTO, None):
        raise ValueError(f"duplicates='count' does not look at weights: leave out weight={columns['weight']!r}.")
    table = open_table(source, text, list(columns.values()))
    chosen = choose_columns(table, dict(columns), min_rating, duplicates == "count" and min_rating is None)
    read, chosen = _read(table, chosen, missing, ids)
    dropped: dict[str, int] = {}
    events = _present(read, dropped)
    if len(events.rows) == 0:
        raise ValueError(f"{table.source_name}{NO_EVENTS}{' without missing values' if dropped else ''}.")
    if min_rating is not None:
        below = events.weights < min_rating
        events = replace(events, weights=np.where(below, -float(dislike_weight), 1.0))
        if below.any() and not dislike_weight:
            dropped["below min_rating"] = int(below.sum())
    pairs = join_events(events, duplicates)
    if np.abs(pairs.weights).max() > np.finfo(np.float32).max:
        raise ValueError(f"Column {chosen.weight!r} adds up to weights beyond the range of float32: rescale it.")
    users, items = read["user"].ids, read["item"].ids
    assert users is not None
    assert items is not None
    notes = [
        chosen.note,
        *(_float_note(getattr(chosen, role), one) for role, one in (("user", users), ("item", items))),
    ]
    note = "; ".join(filter(None, notes))
    repeats = None
    if pairs.times is not None and len(pairs.rows) < len(events.rows):
        repeats = Repeats(repeated_events(events), duplicates)
    return JoinedEvents(
        table.source_name, (users, items), pairs, duplicates, len(events.rows) - len(pairs.rows),
        {role: getattr(chosen, role) for role in ROLES}, dropped, f"{table.source_name}{note}." if note else "",
        repeats,
    )  # fmt: skip


def _check_options(min_rating: Any, dislike_weight: Any, duplicates: Any, missing: Any, ids: Any) -> None:
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates must be one of {', '.join(DUPLICATES)}, got {duplicates!r}.")
    if missing not in ("error", "drop"):
        raise ValueError(f'missing must be "error" or "drop", got {missing!r}.')
    if ids not in ID_TYPES:
        raise ValueError(f"ids must be one of {', '.join(ID_TYPES)}, got {ids!r}.")
    if min_rating is not None and not (is_number(min_rating) and np.isfinite(min_rating)):
        raise ValueError(f"min_rating must be a number, the lowest rating of a positive, or None, got {min_rating!r}.")
    if not (is_number(dislike_weight) and 0 <= dislike_weight < np.inf):
        raise ValueError(f"dislike_weight must be a number ≥ 0, got {dislike_weight!r}.")
    if dislike_weight and min_rating is None:
        raise ValueError("dislike_weight belongs to ratings: say with min_rating= which of them are dislikes.")
    if dislike_weight and duplicates == "count":
        raise ValueError("duplicates='count' has no dislikes: choose 'last', 'max' or 'sum'.")


def _read(table: Table, chosen: EventColumns, missing: str, ids: str) -> tuple[dict[str, Column], EventColumns]:
    """Return the column of each role; a time that was only guessed and cannot be read is left out."""
    kinds = {"user": "id", "item": "id", "weight": "number", "time": "moment"}
    names = {role: name for role in ROLES if (name := getattr(chosen, role)) is not None}
    problems = Problems(table.source_name)
    read = table.read({name: kinds[role] for role, name in names.items()}, problems, ids)
    columns = {role: read[name] for role, name in names.items()}
    _check_lengths(columns, names)
    if missing == "error":
        for role, column in columns.items():
            if column.missing is not None:
                problems.add(_missing_sentence(role, names[role], column.missing, table), about=names[role])
    of_time = problems.take(chosen.time) if "time" in chosen.guessed else []
    problems.report()
    if of_time:
        del columns["time"]
        said = f"{chosen.note}; time is left out: {of_time[0].sentence.rstrip('.')}"
        chosen = replace(chosen, time=None, note=said)
    return columns, chosen


def _check_lengths(columns: dict[str, Column], names: dict[str, Hashable]) -> None:
    """Refuse columns of a mapping that do not fit each other."""
    lengths = {role: len(column.values) for role, column in columns.items()}
    size = lengths["user"]
    if lengths["item"] != size:
        raise ValueError(
            f"Columns {names['user']!r} and {names['item']!r} differ in length: {size} and {lengths['item']}."
        )
    for role in ("weight", "time"):
        if lengths.get(role, size) != size:
            raise ValueError(f"Column {names[role]!r} must have one {role} per event, {size}, got {lengths[role]}.")


def _float_note(name: Hashable, ids: Ids) -> str:
    """Say that ids are strings such as "1.0", as a frame writes integers where some are missing."""
    if not ids.are_strings or not len(ids) or not all(one.removesuffix(".0").isdecimal() for one in ids):
        return ""
    if not any(one.endswith(".0") for one in ids):
        return ""
    return f"ids of {name!r} look like floats ({ids[0]!r}) and are taken as text: elsewhere the same may be integers"


def _missing_sentence(role: str, name: Hashable, missing: Array, table: Table) -> str:
    count, where = int(missing.sum()), table.where(int(np.argmax(missing)))
    what = {"weight": "NaN or missing weights", "time": "missing times"}.get(role)
    found = f"{count} missing value{'s' * (count > 1)}, the first" if what is None else f"{what}, {count}, the first"
    other = f", or {role}=None does without" if what else ""
    return f"Column {name!r} has {found} in {where}: missing='drop' leaves those events out{other}."


def _present(columns: dict[str, Column], dropped: dict[str, int]) -> EventRows:
    """Return the events of which nothing is missing."""
    absent = [column.missing for column in columns.values() if column.missing is not None]
    kept: Any = slice(None)
    if absent:
        kept = ~np.logical_or.reduce(absent)
        dropped["missing"] = int((~kept).sum())
    rows = columns["user"].values[kept]
    return EventRows(
        rows,
        columns["item"].values[kept],
        columns["weight"].values[kept] if "weight" in columns else np.ones(len(rows)),
        columns["time"].values[kept] if "time" in columns else None,
    )
