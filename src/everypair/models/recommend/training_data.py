"""What ``fit`` is given, brought to positions: events become a matrix and ids, everything else follows those ids."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from everypair.check import as_frame
from everypair.data.event_log import EventLog
from everypair.data.matching import IdPair, as_events, held_out_matrix
from everypair.features.named_columns import aligned_rows
from everypair.models.recommend.positions import KINDS

V = TypeVar("V")
BOTH_OR_NEITHER = "give both as events with ids, or both as matrices of the same users and items"


@dataclass(frozen=True)
class TrainingData:
    """Interactions as a matrix, ids where they had some, features, validation and times in the same order.

    ``log`` is what is remembered of events.
    """

    matrix: Any
    ids: IdPair | None
    features: tuple[Any, Any]
    validation: Any
    times: Any
    log: EventLog | None = None

    def named(self, value: V) -> V:
        """A fitted value with these ids."""
        users, items = (None, None) if self.ids is None else self.ids
        return replace(value, user_ids=users, item_ids=items, log=self.log)  # type: ignore[type-var]


def training_data(
    interactions: Any,
    *,
    features: tuple[Any, Any] = (None, None),
    graphs: tuple[Any, Any] = (None, None),
    validation: Any = None,
    times: Any = None,
) -> TrainingData:
    """Read interactions, events with ids or a matrix, and what is said of (users, items) besides.

    >>> data = training_data({"user": ["bob", "ann"], "item": ["rain", "blue"]})
    >>> data.ids.users, data.matrix.toarray().tolist()
    (Ids(2: 'ann', 'bob'), [[1.0, 0.0], [0.0, 1.0]])
    """
    events = as_events(interactions, "interactions", verbose=True)
    if events is None:
        if validation is not None and as_events(validation, "validation") is not None:
            raise ValueError(f"validation has ids and interactions has none: {BOTH_OR_NEITHER}.")
        return TrainingData(interactions, None, features, validation, times)
    ids = IdPair(events.user_ids, events.item_ids)
    features = aligned_features(features, ids)
    for kind, graph in zip(KINDS, graphs):
        if as_frame(graph, f"{kind}_graph") is not None:
            raise TypeError(
                f"{kind}_graph must be a matrix in the order of the events' {kind}_ids: "
                "everypair.features.edge_graph makes one of a list of edges."
            )
    held_out = None if validation is None else as_events(validation, "validation")
    if held_out is not None:
        validation = held_out_matrix(held_out, ids, "validation")
    times = events.times if times is None else times
    return TrainingData(events.matrix, ids, features, validation, times, EventLog.of(events))


def aligned_features(features: tuple[Any, Any], ids: IdPair) -> tuple[Any, Any]:
    """The features of users and items in the order of their ids; how many rows of others there are is said."""
    for side, part in enumerate(features):
        frame = as_frame(part, f"{KINDS[side]}_features")
        if frame is not None and len(frame) > len(ids[side]):
            beyond = f"{len(frame) - len(ids[side]):,} {KINDS[side]}s without events"
            print(f"{KINDS[side]}_features: rows of {beyond} are left out.", file=sys.stderr)
    users, items = (
        None if part is None else aligned_rows(part, ids[side], side, f"{KINDS[side]}_features")
        for side, part in enumerate(features)
    )
    return users, items
