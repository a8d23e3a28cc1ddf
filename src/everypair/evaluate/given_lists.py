"""Lists that are given, those of another system or of an arm of a trial: where the test positives stand in them.

A table with a row per recommendation: user, item, and its rank or its score (else in the order of its rows). A positive
that is in no list has no rank, so that metrics of the first k places are all that such lists have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import as_frame
from everypair.column_names import find_role
from everypair.data.ids import Ids
from everypair.data.matching import IdPair, as_events, find_alike
from everypair.evaluate.by_id import without_ids
from everypair.metrics.means import Metrics
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.per_row import AT_K, average_rows, coverage, rows_error
from everypair.metrics.ranking import NEVER, Ranking, check_truth, split_repeats


def are_lists(model: Any) -> bool:
    """Whether this is a table of recommendations and no model."""
    return not hasattr(model, "score_users") and (isinstance(model, dict) or as_frame(model, "lists") is not None)


def ranking_of_lists(lists: Any, train: Any, test: Any, longest: int, repeats: str) -> tuple[Ranking, int]:
    """Where the test positives of every user stand in given lists, and how many the user has already."""
    events = as_events(train, "train")
    ids = None if events is None else IdPair(events.user_ids, events.item_ids)
    _, train, test, _ = without_ids(None, train, test)
    seen, positives = stored_pattern(train, "train"), positive_pattern(test, "test")
    seen, positives, left_out = split_repeats(seen, positives, repeats, "train", "test")
    check_truth(seen, positives, "train", "test")
    users, items, places = _places(lists, ids, positives.shape)
    best = np.full(positives.shape[1], NEVER, np.int32)
    shown = (places < longest) & (np.diff(positives.indptr)[users] > 0)
    np.minimum.at(best, items[shown], places[shown])
    listed = sp.csr_array((places + 1, (users, items)), shape=positives.shape)
    found = np.asarray(listed[np.repeat(np.arange(len(seen.indptr) - 1), np.diff(positives.indptr)), positives.indices])
    ranks = np.where(found > 0, found - 1, NEVER).ravel().astype(np.int32)
    owner = np.repeat(np.arange(positives.shape[0]), np.diff(positives.indptr))
    candidates = positives.shape[1] - np.diff(seen.indptr)
    ordered = ranks[np.lexsort((ranks, owner))]
    return Ranking(positives.indptr.astype(np.int64), ordered, candidates, np.zeros(positives.shape[0]), best), left_out


def metrics_of_lists(lists: Any, train: Any, test: Any, ks: Sequence[int], repeats: str, average: str) -> Metrics:
    """The metrics of the first k places."""
    ranking, left_out = ranking_of_lists(lists, train, test, max(ks, default=0), repeats)
    means, errors = {}, {}
    for k in ks:
        for name, metric in AT_K.items():
            values = metric(ranking, k)
            means[f"{name}@{k}"], errors[f"{name}@{k}"] = average_rows(values, average), rows_error(values, average)
        means[f"coverage@{k}"] = coverage(ranking, k)
    return Metrics(means, errors, left_out)


def _places(lists: Any, ids: IdPair | None, shape: tuple[int, int]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Users, items and 0-based places of the recommendations to known users of known items, the first of each."""
    frame = None if isinstance(lists, dict) else as_frame(lists, "lists")
    names = list(lists) if frame is None else frame.columns
    columns = {}
    for role in ("user", "item"):
        found = find_role(names, role)
        if len(found) != 1:
            raise ValueError(f"lists need a column of {role}s: the columns are {', '.join(map(str, names))}.")
        columns[role] = np.asarray(lists[found[0]] if frame is None else frame[found[0]].to_numpy())
    order = next((name for name in ("rank", "score") if name in names), None)
    size = len(columns["user"])
    key = np.arange(size) if order is None else np.asarray(lists[order] if frame is None else frame[order].to_numpy())
    users, items = (
        _positions(columns[role], None if ids is None else ids[side], shape[side], role)
        for side, role in enumerate(("user", "item"))
    )
    by_place = np.lexsort((np.arange(size), -key if order == "score" else key, users))
    users, items = users[by_place], items[by_place]
    starts = np.concatenate([[True], users[1:] != users[:-1]]) if size else np.zeros(0, bool)
    places = np.arange(size) - np.maximum.accumulate(np.where(starts, np.arange(size), 0))
    kept = np.flatnonzero((users >= 0) & (items >= 0))
    _, first = np.unique(users[kept].astype(np.int64) * shape[1] + items[kept], return_index=True)
    kept = kept[np.sort(first)]
    return users[kept], items[kept], places[kept]


def _positions(values: NDArray[Any], ids: Ids | None, size: int, role: str) -> NDArray[np.int64]:
    if ids is None:
        if values.dtype.kind not in "iu":
            raise TypeError(f"the {role}s of lists must be positions where train is a matrix, got {values.dtype}.")
        return np.where((values >= 0) & (values < size), values, -1).astype(np.int64)
    distinct, inverse = np.unique(values.astype(object) if values.dtype.kind in "OU" else values, return_inverse=True)
    return find_alike(ids, Ids(distinct))[inverse]
