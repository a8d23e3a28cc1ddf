"""Models that speak ids: questions by id become positions, and positions in the answer become ids again.

    recommend(["ann"])  →  recommend([0])  →  [[3, 1]]  →  [["rain", "blue"]]

The models work in positions and know nothing of this. Their public methods are marked, each with one of three
decorators: ``fits`` reads events, ``asks`` translates a question and its answer, ``grows`` keeps the ids of what is
added. A marked method of a model that was fitted on a matrix is called as it is.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from everypair.check import as_frame, is_number
from everypair.data.ids import Ids, id_array, named_filter
from everypair.data.matching import Known, alike, as_events, find_alike, held_out_matrix, match_events
from everypair.features.named_columns import Seen, aligned_rows, described_rows, ids_of
from everypair.models.recommend.answers import DEFAULT, form_of, named, ranked_table
from everypair.models.recommend.recommender import in_positions, known_ids
from everypair.problem.layout import LEFT
from everypair.types import Array

P = ParamSpec("P")
R = TypeVar("R")
KINDS = ("user", "item")
EVENTS = ("interactions", "rows", "columns")  # what methods call the events of new users or items
BOTH_OR_NEITHER = "give both as events with ids, or both as matrices of the same users and items"


@dataclass(frozen=True)
class Question:
    """A model that is asked, its ids, and the arguments of the call, which become positions one by one."""

    model: Any
    known: Known | None
    arguments: dict[str, Any]
    side: int

    def askers(self) -> Array | None:
        """Who the answers are for, where it is known before: those who are named, or all users."""
        asked = self.arguments.get("users", self.arguments.get("items"))
        if asked is not None:
            return (
                np.atleast_1d(asked)
                if self.known is None
                else id_array(asked, "users" if "users" in self.arguments else "items")
            )
        if self.known is None or any(self.arguments.get(name) is not None for name in (*EVENTS, "features")):
            return None
        return self.known.users.values

    def translate(self) -> None:
        """Turn every id among the arguments into a position."""
        if self.known is None:
            return
        given = self.arguments
        for side, kind in enumerate(KINDS):
            for name in (kind, f"{kind}s"):
                if given.get(name) is not None:
                    given[name] = self._positions(given[name], side)
        for name in ("allow", "block"):
            if name in given:
                given[name] = named_filter(given[name], self.known.items, "item")

    def _positions(self, ids: Any, side: int) -> Array:
        """Positions of ids; users in the place of items, or items in that of users, are called so."""
        assert self.known is not None
        mine, other = self.known[side], self.known[1 - side]
        asked = id_array(ids, f"{KINDS[side]}s")
        if len(asked) and len(mine) and mine.values.dtype == other.values.dtype == asked.dtype:
            strange = asked[mine.find(asked) < 0]
            if len(strange) and (other.find(strange) >= 0).all():
                raise ValueError(
                    f"{strange[0]!r} is one of the {KINDS[1 - side]}s, not of the {KINDS[side]}s: are the arguments "
                    "swapped?"
                )
        return mine.index(asked, KINDS[side])

    def describe(self, ids: Ids | None = None) -> Ids | None:
        """Turn the events and features of new users or items into matrices; return their ids, where they have some.

        ``ids`` are those that the caller gives: tables are matched to them.
        """
        assert self.known is not None
        given = self.arguments
        name = next((name for name in EVENTS if given.get(name) is not None), None)
        features = given.get("features")
        if features is not None:
            reader = self.model._feature_map(self.side)
            features = described_rows(
                features, reader.seen if reader is not None else lambda group: Seen(), self.side, "features"
            )
        if name is not None:
            ids, given[name] = self._rows(given[name], name, ids)
        if features is not None:
            if ids is not None and ids_of(features) is not None:
                features = aligned_rows(features, ids, self.side, "features")
            ids = ids_of(features) if ids is None and name is None else ids
            given["features"] = features
        return ids

    def _rows(self, source: Any, name: str, ids: Ids | None) -> tuple[Ids | None, Any]:
        """The events of new entities as a matrix: rows of users, or columns of items."""
        assert self.known is not None
        side, other = self.side, self.known[1 - self.side]
        events = None if _are_lists(source) else as_events(source, name)
        if events is not None:
            own = alike(self.known[side], (events.user_ids, events.item_ids)[side])
            if ids is None:
                ids = own
            elif set(find_alike(ids, own).tolist()) != set(range(len(ids))) or len(own) != len(ids):
                raise ValueError(f"ids must be those of {name}, {own!r}, in any order; got {ids!r}.")
            matched = match_events(events, Known(ids, other) if side == LEFT else Known(other, ids))
            unknown = (matched.unknown_items, matched.unknown_users)[side]
            if len(unknown):
                other.index(unknown, KINDS[1 - side])  # which names them and those they are like
            return ids, matched.matrix
        if not _are_lists(source):
            return ids, source
        rows = _from_lists(source, other, name, side)
        return ids, rows if side == LEFT else sp.csr_array(rows.T)


def fits(method: Callable[P, R]) -> Callable[P, R]:
    """Mark a ``fit`` that takes events as well as a matrix: the model then speaks their ids."""
    signature = inspect.signature(method)

    @wraps(method)
    def fit(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return method(*args, **kwargs)  # which says what is wrong
        model, given = bound.arguments["self"], bound.arguments
        if given.get("client") is not None:
            return method(*args, **kwargs)  # whose workers read the events
        events = as_events(given["interactions"], "interactions", verbose=True)
        if events is None:
            if given.get("validation") is not None and as_events(given["validation"], "validation") is not None:
                raise ValueError(f"validation has ids and interactions has none: {BOTH_OR_NEITHER}.")
            return method(*args, **kwargs)
        known = Known(events.user_ids, events.item_ids)
        given["interactions"] = events.matrix
        if "times" in signature.parameters and given.get("times") is None:
            given["times"] = events.times
        align_side_information(given, known)
        if given.get("validation") is not None:
            held_out = as_events(given["validation"], "validation")
            if held_out is not None:
                given["validation"] = held_out_matrix(held_out, known, "validation")
        learner = given["self"] = _unfitted(model)
        method(*bound.args, **bound.kwargs)
        model.state_ = replace(learner.state_, user_ids=known.users, item_ids=known.items)
        return model

    return fit


def align_side_information(given: dict[str, Any], known: Known) -> None:
    """Bring the features among the arguments of a ``fit`` into the order of the ids; graphs must have it already."""
    for side, name in enumerate(("left", "right")):
        if given.get(f"{name}_features") is not None:
            features = f"{name}_features"
            given[features] = aligned_rows(given[features], known[side], side, features)
        if as_frame(given.get(f"{name}_graph"), f"{name}_graph") is not None:
            raise TypeError(
                f"{name}_graph must be a matrix in the order of the events' {KINDS[side]}_ids: "
                "everypair.features.edge_graph makes one of a list of edges."
            )


def asks(side: int = LEFT, answer: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a method that is asked by id.

    ``side`` says whether events and features in the question describe new users or new items; ``answer`` what comes
    back: ``"item"`` or ``"user"`` for ranked ones with their scores, ``"why"`` for an explanation, None for numbers.
    """

    def mark(method: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(method)

        @wraps(method)
        def ask(*args: P.args, **kwargs: P.kwargs) -> R:
            model: Any = args[0]
            known, form = known_ids(model), form_of(model)
            if known is None and (form == DEFAULT or answer in (None, "why")):
                return method(*args, **kwargs)
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return method(*args, **kwargs)  # which says what is wrong
            check_is_fitted(model)
            given = bound.arguments
            question = Question(model, known, given, side)
            askers = question.askers()
            question.translate()
            described = None if known is None else question.describe()
            given["self"] = in_positions(model)
            result: Any = method(*bound.args, **bound.kwargs)
            if answer is None:
                return result
            if answer == "why":
                assert known is not None
                return result._replace(items=known.items.names(result.items))
            found, scores = result
            found = named(found, None if known is None else known[KINDS.index(answer)])
            if form == DEFAULT:
                return found, scores  # type: ignore[return-value]
            if askers is None:
                askers = np.arange(len(found)) if described is None else described.values
            asker = "item" if "items" in given else "user"
            column = f"similar_{answer}" if asker == answer else answer
            return ranked_table(form, (asker, askers), (column, found), scores)

        return ask

    return mark


def grows(side: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a method that adds users or items: their ids are given, or those of the tables that describe them."""

    def mark(method: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(method)

        @wraps(method)
        def add(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return method(*args, **kwargs)  # which says what is wrong
            model, given = bound.arguments["self"], bound.arguments
            check_is_fitted(model)
            known, wanted = known_ids(model), given.pop("ids", None)
            if known is None:
                if wanted is not None:
                    raise ValueError("this model was fitted on a matrix and has no ids: leave ids= out.")
                return method(*bound.args, **bound.kwargs)
            ids = Question(model, known, given, side).describe(None if wanted is None else Ids(wanted))
            if ids is None:
                raise ValueError(
                    f"the new {KINDS[side]}s need ids: ids=[…], or a table of their events or features that has them."
                )
            longer = known[side].append(ids)
            grown = given["self"] = in_positions(model)
            added: Any = method(*bound.args, **bound.kwargs)
            if len(added) != len(ids):
                raise ValueError(f"there are {len(ids)} ids for {len(added)} new {KINDS[side]}s: give one each.")
            kept = known._replace(**{f"{KINDS[side]}s": longer})
            model.state_ = replace(grown.state_, user_ids=kept.users, item_ids=kept.items)
            return ids.values  # type: ignore[return-value]

        return add

    return mark


def _unfitted(model: Any) -> Any:
    """A copy of the model with its parameters and nothing it has learnt."""
    twin = copy.copy(model)
    vars(twin).pop("state_", None)
    vars(model).pop("sharded_", None)  # of an earlier training on a cluster
    return twin


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


def _from_lists(source: Iterable[Any], ids: Ids, name: str, side: int) -> Any:
    """[["blue", "rain"]], or [{"blue": 2.0}] with weights, as a matrix with a row for each of the new."""
    listed = list(source)
    mine, other = KINDS[side], KINDS[1 - side]
    for one in listed:
        if isinstance(one, str) or not isinstance(one, Iterable):
            raise TypeError(
                f"{name} must have a list of {other}s for every new {mine}, or be a table of events or a matrix; got "
                f"{type(one).__name__} {one!r:.40} in the place of a list, as in [[{one!r:.40}]]."
            )
    flat = [entry for one in listed for entry in one]
    weights = [weight for one in listed for weight in (one.values() if isinstance(one, Mapping) else [1.0] * len(one))]
    if not all(map(is_number, weights)):
        raise TypeError(f"{name}: the weights of {{{other}: weight}} must be numbers.")
    columns = ids.index(flat, other) if flat else np.empty(0, np.int64)
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in listed])]).astype(np.int64)
    rows = sp.csr_array((np.asarray(weights, np.float64), columns, indptr), shape=(len(listed), len(ids)))
    rows.sum_duplicates()
    return rows
