"""New events into a fitted value: new items, then what known users have further, then new users.

New items come first, folded in by the known users who have them; then known users with further events are folded in
anew with all that they have now; then new users, each by all of their events. Items that were there stay as they are.
What is known by features alone comes too. Nothing is changed where anything is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import one_of
from everypair.data.event_log import EventLog, read_like
from everypair.data.events import Events
from everypair.data.ids import Ids
from everypair.data.matching import IdPair, alike, match_events
from everypair.features.named_columns import described_rows, ids_of
from everypair.models.recommend.by_id import described, ids_of_value
from everypair.models.recommend.fitted import CAPABILITIES, Answer, Newcomers, ReadsFeatures
from everypair.models.recommend.growth import merged
from everypair.models.recommend.positions import KINDS, checked_rows
from everypair.problem.layout import LEFT, RIGHT

FEW = 0.05  # of the users and of the items known: less is another system, or columns in another order
SMALL = 10  # users and items, up to which all may be new


class Update(NamedTuple):
    """How many users and items were added, known users folded in anew, and pairs were not later than all before."""

    new_users: int
    new_items: int
    folded_in: int
    not_later: int


def updated(value: Any, events: Any, tables: tuple[Any, Any], known: str, n_threads: int) -> tuple[Any, Update]:
    """A fitted value with further events and with what ``tables`` say of (users, items) that are new."""
    one_of("known", known, ("fold-in", "ignore"))
    have = ids_of_value(value)
    if have is None:
        raise ValueError("this model was fitted on a matrix and has no ids that events could be matched to.")
    if events is None and tables == (None, None):
        raise ValueError("give events, or a table of features of new users or items.")
    log = value.log or EventLog()
    read = _read(events, log, have)
    if log.has(read):
        raise ValueError("these very events have been read already: the model has them, and nothing is changed.")
    _check_known(read, have)
    before, folded = value.shape, 0
    value = _with_new(value, RIGHT, read, tables[RIGHT], n_threads)
    if known == "fold-in":
        value, folded = _folded_in(value, read, have, log, n_threads)
    value = _with_new(value, LEFT, read, tables[LEFT], n_threads)
    counts = Update(value.shape[LEFT] - before[LEFT], value.shape[RIGHT] - before[RIGHT], folded, log.late(read))
    return replace(value, log=log if events is None else log.after(read)), counts


def with_newcomers(value: Any, side: int, new: Newcomers, ids: Ids, n_threads: int) -> Any:
    """A fitted value with new users or items of these ids behind its own."""
    known = ids_of_value(value)
    assert known is not None
    longer = known[side].append(ids)
    grown = value.grown(side, new, n_threads)
    added = grown.shape[side] - value.shape[side]
    if added != len(ids):
        raise ValueError(f"there are {len(ids)} ids for {added} new {KINDS[side]}s: give one each.")
    return with_longer_table(replace(grown, **{f"{KINDS[side]}_ids": longer}), side, len(ids))


def with_longer_table(value: Any, side: int, count: int) -> Any:
    """A value that has grown, with room in its table of items."""
    if side == LEFT or value.item_table is None:
        return value
    return replace(value, item_table=value.item_table.longer(count))


def further(value: Any, users: NDArray[Any], more: Any, n_threads: int, unknown: str = "error") -> Answer:
    """Scores of known users, by position, who have ``more`` besides: a list of items, or a row, each."""
    if not issubclass(type(value), CAPABILITIES["update"]):
        raise ValueError("more= needs a model that takes in further events, one that has update.")
    own = described(value, LEFT, Newcomers(more), name="more", unknown=unknown)
    if own.ids is not None:
        raise TypeError("more= takes a list of items for every user, in the order of users.")
    rows = checked_rows(own.newcomers.events, value.shape[RIGHT], value.interactions.dtype, "more")
    if rows.shape[0] != len(users):
        raise ValueError(f"more= must have a list of items for each of the {len(users)} users, got {rows.shape[0]}.")
    log = value.log or EventLog()
    answer: Answer = value.with_events(users, merged(value.interactions[users], rows, log.joined), n_threads)
    return answer


def _read(events: Any, log: EventLog, have: IdPair) -> Events:
    """Events as they were read before, their ids as text where those of the model are."""
    if events is None:
        empty = Ids(np.empty(0, np.int64))
        return Events(sp.csr_array((0, 0), dtype=np.float32), empty, empty, None, 0)
    if not isinstance(events, Events):
        if sp.issparse(events) or (isinstance(events, np.ndarray) and events.dtype.kind in "biuf"):
            raise TypeError("update takes events with ids: a file, a table or what read_events returns.")
        events = read_like(events, log)
    return replace(events, user_ids=alike(have.users, events.user_ids), item_ids=alike(have.items, events.item_ids))


def _check_known(events: Events, have: IdPair) -> None:
    """Refuse events nearly all of whose ids are new."""
    own = events.user_ids, events.item_ids
    sizes = [len(ids) for ids in own]
    if sum(sizes) <= SMALL:
        return
    found = [int((mine.find(ids.values) >= 0).sum()) for mine, ids in zip(have, own)]
    if any(count >= FEW * size for count, size in zip(found, sizes)):
        return
    raise ValueError(
        f"the model knows {found[LEFT]} of the {sizes[LEFT]} users and {found[RIGHT]} of the {sizes[RIGHT]} items "
        f"({own[LEFT][0]!r} and {own[RIGHT][0]!r} beside {have.users[0]!r} and {have.items[0]!r}): are the columns "
        "swapped, or are these ids of another kind?"
    )


def _folded_in(value: Any, events: Events, have: IdPair, log: EventLog, n_threads: int) -> tuple[Any, int]:
    """Known users with all that they have now, and how many of them have something further."""
    items = ids_of_value(value)
    assert items is not None
    more = match_events(events, IdPair(have.users, items.items)).matrix
    users = np.flatnonzero(np.diff(more.indptr))
    if not len(users):
        return value, 0
    before = match_events(events, have).matrix  # what new items have is stored already, with them
    before.resize(more.shape)
    return value.refreshed(merged(value.interactions, before, log.joined), users, n_threads), len(users)


def _with_new(value: Any, side: int, events: Events, table: Any, n_threads: int) -> Any:
    """The value with users or items of the events, or of a table of features, that it does not know."""
    have = ids_of_value(value)
    assert have is not None
    reader = value.feature_map(side) if isinstance(value, ReadsFeatures) else None
    if table is not None and reader is None:
        raise ValueError(f"this model was fitted without {KINDS[side]}_features: leave those of new ones out.")
    parts = None if table is None else _Table.of(table, reader, side, have[side])
    new = _unknown((events.user_ids, events.item_ids)[side], have[side])
    if len(new):
        other = have[1 - side]
        matched = match_events(events, IdPair(new, other) if side == LEFT else IdPair(other, new)).matrix
        counts = np.diff(matched.indptr) if side == LEFT else np.bincount(matched.indices, minlength=len(new))
        described_too = np.zeros(len(new), bool) if parts is None else parts.has(new)
        alone = (counts == 0) & described_too  # by features, which say more than no events do
        for chosen, by_features in ((~alone & described_too, True), (~alone & ~described_too, False)):
            if chosen.any():
                own = Ids(new.values[chosen])
                rows = matched[chosen] if side == LEFT else matched[:, chosen]
                features = parts.rows(own) if parts is not None and by_features else None
                value = with_newcomers(value, side, Newcomers(rows, features), own, n_threads)
    if parts is not None:
        have = ids_of_value(value)
        assert have is not None
        rest = _unknown(parts.ids, have[side])
        if len(rest):
            value = with_newcomers(value, side, Newcomers(features=parts.rows(rest)), rest, n_threads)
    return value


def _unknown(ids: Ids, have: Ids) -> Ids:
    return Ids(ids.values[have.find(ids.values) < 0])


class _Table(NamedTuple):
    """Features of later users or items, read as those of training were, with their ids."""

    ids: Ids
    rows: Any  # features of some ids

    @classmethod
    def of(cls, source: Any, reader: Any, side: int, known: Ids) -> _Table:
        """Read a file, or a table in memory."""
        seen = reader.seen()
        if seen.encoder is not None:
            own = seen.encoder.ids_of(source, known)
            return cls(own, lambda wanted: seen.encoder.transform(source, wanted, extra="drop"))
        name = f"{KINDS[side]}_features"
        parts = described_rows(source, reader.seen, side, name)
        found = ids_of(parts)
        if found is None:
            raise ValueError(f"{name} of an update need ids: give a data frame with a column or an index of ids.")
        own = alike(known, found)

        def rows(wanted: Ids) -> Any:
            places = own.find(wanted.values)
            if isinstance(parts, dict):
                return {group: replace(part, matrix=part.matrix[places], ids=None) for group, part in parts.items()}
            return replace(parts, matrix=parts.matrix[places], ids=None)

        return cls(own, rows)

    def has(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of some ids it describes."""
        return np.asarray(self.ids.find(ids.values) >= 0)
