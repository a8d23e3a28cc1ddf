"""Questions by id become positions before a fitted value is asked; what describes new users and items becomes matrices.

    ["ann"] → [0],     [["blue", "rain"]] → a row per new user,     a table of events → its matrix and its ids

Fitted values know positions alone. A model that was fitted on a matrix has no ids: its questions are positions already,
and are checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from everypair.check import is_number
from everypair.data.ids import Ids, id_array
from everypair.data.matching import IdPair, alike, as_events, find_alike, match_events
from everypair.data.rows import StoredRows
from everypair.features.named_columns import Seen, aligned_rows, described_rows, ids_of
from everypair.models.recommend.fitted import Newcomers, ReadsFeatures
from everypair.models.recommend.positions import KINDS, checked_positions
from everypair.problem.layout import LEFT
from everypair.types import Array


class Described(NamedTuple):
    """New users or items in matrices, and their ids where they have some."""

    newcomers: Newcomers
    ids: Ids | None


def ids_of_value(value: Any) -> IdPair | None:
    """The ids of a fitted value, None where it was fitted on a matrix."""
    return None if value.user_ids is None or value.item_ids is None else IdPair(value.user_ids, value.item_ids)


def positions_of(value: Any, side: int, entities: Any) -> Array:
    """Positions of users or items; users in the place of items, or items in that of users, are called so."""
    ids, kind = ids_of_value(value), KINDS[side]
    if ids is None:
        return checked_positions(entities, value.shape[side], kind)
    mine, other = ids[side], ids[1 - side]
    names = id_array(entities, f"{kind}s")
    if len(names) and len(mine) and mine.values.dtype == other.values.dtype == names.dtype:
        found = mine.places(names)
        if found.min() >= 0:
            return found
        strange = names[found < 0]
        if (other.find(strange) >= 0).all():
            raise ValueError(
                f"{strange[0]!r} is one of the {KINDS[1 - side]}s, not of the {kind}s: are the arguments swapped?"
            )
    return mine.index(names, kind)


def position_of(value: Any, side: int, entity: Any) -> int:
    """The position of one user or one item."""
    positions = positions_of(value, side, entity)
    if positions.size != 1:
        raise ValueError(f"explain takes one {KINDS[side]}, got {positions.size}.")
    return int(positions[0])


def described(
    value: Any, side: int, new: Newcomers, ids: Any = None, name: str = "interactions", unknown: str = "error"
) -> Described:
    """The events and features of new users or items as matrices, and their ids, where they have some.

    ``ids`` are those that the caller gives: tables are matched to them. ``name`` is what the events are called. Tables
    are read as the events of training were; ``unknown="ignore"`` leaves out what the events have of the other side and
    the model does not know.
    """
    known = ids_of_value(value)
    if known is None:
        if ids is not None:
            raise ValueError("this model was fitted on a matrix and has no ids: leave ids= out.")
        return Described(new, None)
    own = None if ids is None else Ids(ids)
    features, events = new.features, new.events
    if features is not None:
        reader = value.feature_map(side) if isinstance(value, ReadsFeatures) else None
        features = described_rows(
            features, reader.seen if reader is not None else lambda group: Seen(), side, "features"
        )
    if events is not None:
        own, events = _events_of(value, side, events, name, own, unknown)
    if features is not None:
        if own is not None and ids_of(features) is not None:
            features = aligned_rows(features, own, side, "features")
        own = ids_of(features) if own is None and events is None else own
    return Described(Newcomers(events, features, new.targets, new.weights, new.values), own)


def _events_of(value: Any, side: int, source: Any, name: str, ids: Ids | None, unknown: str) -> tuple[Ids | None, Any]:
    """The events of new entities as a matrix, rows of users or columns of items, and their ids."""
    known = IdPair(value.user_ids, value.item_ids)
    other = known[1 - side]
    if _are_lists(source):
        rows = _from_lists(source, other, name, side, unknown, value.interactions.dtype)
        return ids, rows if side == LEFT else sp.csr_array(rows.tocsr().T)
    events = as_events(source, name, log=value.log)
    if events is None:
        return ids, source
    own = alike(known[side], (events.user_ids, events.item_ids)[side])
    if ids is None:
        ids = own
    elif set(find_alike(ids, own).tolist()) != set(range(len(ids))) or len(own) != len(ids):
        raise ValueError(f"ids must be those of {name}, {own!r}, in any order; got {ids!r}.")
    matched = match_events(events, IdPair(ids, other) if side == LEFT else IdPair(other, ids))
    strange = (matched.unknown_items, matched.unknown_users)[side]
    if len(strange) and unknown == "error":
        other.index(strange, KINDS[1 - side])  # which names them and those they are like
    return ids, matched.matrix


def _are_lists(source: Any) -> bool:
    """Whether events are a list of lists of ids; arrays of numbers and matrices have positions."""
    if isinstance(source, np.ndarray):
        return source.dtype.kind in "OU"
    return isinstance(source, Iterable) and not (
        isinstance(source, str | Mapping)
        or sp.issparse(source)
        or hasattr(source, "shape")
        or hasattr(source, "columns")
    )


def _from_lists(source: Iterable[Any], ids: Ids, name: str, side: int, unknown: str, dtype: Any) -> StoredRows:
    """[["blue", "rain"]], or [{"blue": 2.0}] with weights, as a row for each of the new."""
    listed = list(source)
    mine, other = KINDS[side], KINDS[1 - side]
    for one in listed:
        if isinstance(one, str) or not isinstance(one, Iterable):
            raise TypeError(
                f"{name} must have a list of {other}s for every new {mine}, or be a table of events or a matrix; got "
                f"{type(one).__name__} {one!r:.40} in the place of a list, as in [[{one!r:.40}]]."
            )
    flat = [entry for one in listed for entry in one]
    weights, weighted = np.ones(len(flat), dtype), any(isinstance(one, Mapping) for one in listed)
    if weighted:
        each = (one.values() if isinstance(one, Mapping) else [1.0] * len(one) for one in listed)
        given = [weight for one in each for weight in one]
        if not all(map(is_number, given)):
            raise TypeError(f"{name}: the weights of {{{other}: weight}} must be numbers.")
        weights = np.asarray(given, np.float64)
    lengths = list(map(len, listed))
    if not flat:
        columns = np.empty(0, np.int64)
    elif unknown == "error":
        columns = ids.index(flat, other)
    else:
        columns = ids.find(flat)
        there = columns >= 0
        owner = np.repeat(np.arange(len(listed)), lengths)
        lengths = np.bincount(owner[there], minlength=len(listed)).tolist()
        columns, weights = columns[there], weights[there]
    return StoredRows.of_lists(lengths, columns, weights, len(ids), sound=not weighted)
