"""What a model remembers of the events that it has read: how they were read, up to when they go, and which they were.

Events that come later are read in the same way, and the same events are not taken twice: a batch that is repeated would
else double what everybody has. Which they were is a hash of ids and weights, so that a renamed file is the same events.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from everypair.check import as_frame
from everypair.data.event_columns import ROLES
from everypair.data.events import Events, read_events

REMEMBERED = 64  # tables of events, the latest ones
OF_TEXT = ("delimiter", "header", "quote", "encoding")


@dataclass(frozen=True)
class EventLog:
    """``reading`` are arguments of ``read_events``, ``latest`` is the time of the last event, ``marks`` are hashes.

    ``sources`` are the tables: the name and size of a file, the number of pairs, the first and the last time.

    >>> events = read_events([("ann", "rain", 4.0), ("bob", "rain", 1.0)], min_rating=3)
    >>> log = EventLog.of(events)
    >>> log.reading, log.has(events), read_like([("bob", "rain", 2.0), ("cem", "rain", 5.0)], log).user_ids
    ({'min_rating': 3}, True, Ids(1: 'cem'))
    """

    reading: Mapping[str, Any] = field(default_factory=dict)
    latest: float | None = None
    marks: tuple[str, ...] = ()
    sources: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, events: Events) -> Self:
        """What is remembered of the events that a model is fitted on."""
        return cls(dict(events.reading), _latest(events), (mark_of(events),), (_source(events),))

    @property
    def joined(self) -> str:
        """What several events of one pair become: their "sum", the "last", the "max" or their "count"."""
        how = self.reading.get("duplicates", "auto")
        return how if how != "auto" else "sum" if self.reading.get("min_rating") is None else "last"

    def has(self, events: Events) -> bool:
        """Whether these very events were read already."""
        return mark_of(events) in self.marks

    def late(self, events: Events) -> int:
        """Number of pairs that are not later than the last event that was read: they may have been read already."""
        if self.latest is None or events.times is None:
            return 0
        return int(np.count_nonzero(events.times.data <= self.latest))

    def after(self, events: Events) -> EventLog:
        """The log once these events were read too."""
        moments = [one for one in (self.latest, _latest(events)) if one is not None]
        marks = (*self.marks, mark_of(events))[-REMEMBERED:]
        sources = (*self.sources, _source(events))[-REMEMBERED:]
        return replace(self, latest=max(moments, default=None), marks=marks, sources=sources)


def read_like(source: Any, log: EventLog | None, verbose: bool = False, **options: Any) -> Events:
    """Read later events as those before; ``options`` are arguments of ``read_events`` that replace the remembered ones.

    A column that was named is looked for where a table has it; what belongs to text is left out for tables in memory.
    """
    known = {} if log is None else dict(log.reading)
    if not isinstance(source, str | os.PathLike):
        names = _names(source)
        absent = [] if names is None else [role for role in ROLES if known.get(role) not in (None, *names)]
        known = {name: value for name, value in known.items() if name not in (*OF_TEXT, *absent)}
    return read_events(source, verbose=verbose, **(known | options))


def mark_of(events: Events) -> str:
    """A hash of who has what, with its weight.

    >>> one, other = read_events([("ann", "rain"), ("bob", "blue")]), read_events([("bob", "blue"), ("ann", "rain")])
    >>> mark_of(one) == mark_of(other), mark_of(one) == mark_of(read_events([("ann", "rain")]))
    (True, False)
    """
    found = hashlib.blake2b(digest_size=16)
    matrix = events.matrix
    named = [array for ids in (events.user_ids, events.item_ids) for array in ids.to_arrays().values()]
    arrays = [*named, matrix.indptr, matrix.indices]
    for array in (*(np.asarray(one, np.int64) if one.dtype.kind in "iu" else one for one in arrays), matrix.data):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _source(events: Events) -> dict[str, Any]:
    times = None if events.times is None or not events.times.nnz else events.times.data
    span = {} if times is None else {"first": times.min().item(), "last": times.max().item()}
    return {**events.source, "pairs": int(events.matrix.nnz), **span}


def _latest(events: Events) -> float | None:
    return None if events.times is None or not events.times.nnz else float(events.times.data.max())


def _names(source: Any) -> list[Any] | None:
    """The columns of a table in memory, None of rows without names."""
    if isinstance(source, Mapping):
        return list(source)
    frame = as_frame(source, "events")
    return None if frame is None else list(frame.columns)
