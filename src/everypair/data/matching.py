"""Events matched by id: weights in the rows and columns of ids that are known already, never by position.

A table of events is what `read_events` reads: its result, a path, a data frame or a mapping with columns for user and
item, or a list of tuples. A data frame of numbers with a column per item is events too, named by its columns and its
index.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import as_frame
from everypair.column_names import looks_like_events
from everypair.data.event_log import EventLog, read_like
from everypair.data.events import Events
from everypair.data.ids import Ids, string_array
from everypair.data.named_matrix import named_matrix
from everypair.types import Array
from everypair.words import listed


class IdPair(NamedTuple):
    """The ids of users and of items."""

    users: Ids
    items: Ids


@dataclass(frozen=True)
class Matched:
    """The weights at known ids (csr, users × items) and how many events had none."""

    matrix: Any
    n_unknown: int
    unknown_users: Array
    unknown_items: Array


def as_events(source: Any, name: str, *, verbose: bool = False, log: EventLog | None = None) -> Events | None:
    """Return a table of events with ids; None where ``source`` is a matrix, which has positions only.

    What is not read yet is read as those of a ``log`` were.

    >>> as_events({"user": ["ann"], "item": [7]}, "interactions").item_ids
    Ids(1: 7)
    >>> as_events(np.eye(2), "interactions") is None
    True
    """
    if isinstance(source, Events):
        return source
    if sp.issparse(source):
        return None
    if isinstance(source, str | os.PathLike | Mapping) or _are_tuples(source, name):
        return _read(source, verbose, log)
    frame = as_frame(source, name)
    if frame is None or not all(isinstance(column, str) for column in frame.columns):
        return None
    return _read(source, verbose, log) if looks_like_events(frame.columns) else _wide(frame, name)


def _are_tuples(source: Any, name: str) -> bool:
    """Whether these are events as a list of tuples, one of which holds text; tuples of numbers could be a matrix too.

    >>> _are_tuples([("ann", 7)], "interactions"), _are_tuples([[1, 0], [0, 1]], "interactions")
    (True, False)
    """
    if not (isinstance(source, list) and source and isinstance(source[0], tuple)):
        return False
    if any(isinstance(one, str) for one in source[0]):
        return True
    raise TypeError(
        f"{name} is a list of tuples of numbers: of events make everypair.data.read_events(…), of a matrix "
        "numpy.array(…)."
    )


def match_events(events: Events, ids: IdPair) -> Matched:
    """Put events into the rows and columns of known ids.

    >>> events = Events(sp.csr_array([[1.0, 2.0]]), Ids(["bob"]), Ids(["rain", "blue"]), None, 0)
    >>> matched = match_events(events, IdPair(Ids(["ann", "bob"]), Ids(["blue"])))
    >>> matched.matrix.toarray().tolist(), matched.n_unknown, matched.unknown_items.tolist()
    ([[0.0], [2.0]], 1, ['rain'])
    """
    rows, columns = (find_alike(wanted, own) for wanted, own in zip(ids, (events.user_ids, events.item_ids)))
    entries = sp.coo_array(events.matrix)
    i, j = rows[entries.row], columns[entries.col]
    kept = (i >= 0) & (j >= 0)
    shape = len(ids.users), len(ids.items)
    return Matched(
        sp.csr_array((entries.data[kept], (i[kept], j[kept])), shape=shape),
        int((~kept).sum()),
        events.user_ids.values[rows < 0],
        events.item_ids.values[columns < 0],
    )


def held_out_matrix(events: Events, ids: IdPair, name: str) -> Any:
    """Return held-out events at known ids; those that nothing was learnt about are left out, counted and said."""
    matched = match_events(events, ids)
    if not matched.matrix.nnz:
        raise ValueError(f"{name} has no pair of a user and an item that were seen in training.")
    if matched.n_unknown:
        warnings.warn(
            f"{name}: {matched.n_unknown} of {events.matrix.nnz} pairs are left out, because {_unknown(matched)} "
            "not seen in training.",
            UserWarning,
            stacklevel=4,
        )
    return matched.matrix


def alike(example: Ids, ids: Ids) -> Ids:
    """Return ``ids`` as text where the ``example`` is: a file of a few events can look as if all ids were integers.

    >>> alike(Ids(["7", "x"]), Ids([7, 8]))
    Ids(2: '7', '8')
    """
    if example.are_strings and not ids.are_strings:
        return Ids(string_array([str(one) for one in ids]))
    return ids


def find_alike(among: Ids, ids: Ids) -> NDArray[np.int64]:
    """Return the position of each of ``ids`` ``among`` others, −1 for unknown ones; integers may stand for their text.

    >>> find_alike(Ids(["7", "x"]), Ids([7, 8])).tolist()
    [0, -1]
    """
    return among.find(alike(among, ids))


def _read(source: Any, verbose: bool, log: EventLog | None) -> Events:
    try:
        return read_like(source, log, verbose)
    except (ValueError, TypeError) as failure:
        raise type(failure)(
            f"{failure} (Options such as user=, item= or missing= belong to everypair.data.read_events: give what it "
            "returns.)"
        ) from failure


def _wide(frame: nw.DataFrame[Any], name: str) -> Events:
    """A column per item, a row per user."""
    for column, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise TypeError(
                f"{name} is a frame whose column {column!r} holds {dtype}: as a matrix it has a column of numbers per "
                "item; of a table of events say everypair.data.read_events(frame, user=…, item=…)."
            )
    named = named_matrix(frame, name)
    assert named is not None
    return Events(sp.csr_array(named.values), named.rows, named.columns, None, 0)


def _unknown(matched: Matched) -> str:
    parts = [
        f"{len(ids)} {kind}{'s' * (len(ids) > 1)} ({listed(ids.tolist(), 3)})"
        for kind, ids in (("user", matched.unknown_users), ("item", matched.unknown_items))
        if len(ids)
    ]
    return f"{' and '.join(parts)} {'were' if len(parts) > 1 or not parts[0].startswith('1 ') else 'was'}"
