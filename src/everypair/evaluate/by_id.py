"""A model and its data brought to positions: events are matched by id, whoever has the ids."""

from __future__ import annotations

from typing import Any, NamedTuple

from everypair.data.matching import IdPair, as_events, held_out_matrix
from everypair.models.recommend.recommender import in_positions, known_ids


class InPositions(NamedTuple):
    """What :func:`~everypair.evaluate.ranking_metrics` takes, without ids."""

    model: Any
    train: Any
    test: Any
    fold_in: Any


def without_ids(model: Any, train: Any, test: Any, fold_in: Any = None) -> InPositions:
    """Match events to the ids of the model, or to those of ``train`` where it has none; matrices stay as they are.

    ``test`` belongs to the users of ``fold_in`` where that is given. Pairs of unknown users or items are left out,
    counted and said.

    >>> from everypair import Popularity
    >>> train = {"user": ["ann", "bob", "bob"], "item": ["blue", "blue", "rain"]}
    >>> without_ids(Popularity().fit(train), train, {"user": ["ann"], "item": ["rain"]}).test.toarray().tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    sources = {"train": train, "test": test, "fold_in": fold_in}
    events = {
        name: table
        for name, source in sources.items()
        if source is not None and (table := as_events(source, name)) is not None
    }
    ids = known_ids(model)
    if ids is None and "train" in events:
        ids = IdPair(events["train"].user_ids, events["train"].item_ids)
    if events and ids is None:
        raise ValueError(
            f"{' and '.join(events)} {'has' if len(events) == 1 else 'have'} ids, but the model has none to match them "
            "with: fit it on events, or give matrices."
        )
    for name, table in events.items():
        assert ids is not None
        users = ids.users
        if name != "train" and fold_in is not None:
            if "fold_in" not in events:
                raise ValueError("test has ids and fold_in has none: give both as events, or both as matrices.")
            users = events["fold_in"].user_ids
        sources[name] = held_out_matrix(table, IdPair(users, ids.items), name)
    return InPositions(in_positions(model), **sources)
