"""Held-out data: (train, test) of the same shape, no entry in both, values kept, reproducible from a seed.

What is split is a matrix or a table of events; the parts of events are events with the same ids, and their times.

Entries are taken in row-major order with ascending columns, duplicates summed first. Dislikes (negative
values) are entries like any other: they are held out with the same chance and keep their sign, and the
metrics count only the positives among them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import as_csr, integer, is_number
from everypair.data.event_pairs import EventRows, Repeats, join_events, repeated_events
from everypair.data.events import Events
from everypair.data.ids import Ids
from everypair.data.matching import as_events
from everypair.data.pairs import kept_pointers

HELD_OUT = ("random", "last", "time")  # ways to hold entries out of the training data


class RowSplit(NamedTuple):
    """Whole rows held out, to evaluate fold-in: train on ``train``, fold in ``fold_in``, score ``test``.

    ``train`` has the rows ``train_rows`` of the original matrix; ``fold_in`` (the events shown) and ``test``
    (the events hidden) have the rows ``test_rows``. All keep every column.

    >>> parts = split_rows(np.ones((10, 4)), test_share=0.2, random_state=0)
    >>> parts.train.shape, parts.fold_in.shape, parts.test.shape, len(parts.test_rows)
    ((8, 4), (2, 4), (2, 4), 2)
    """

    train: Any
    fold_in: Any
    test: Any
    train_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]


def hold_out(
    interactions: Any,
    held_out: str,
    times: Any = None,
    random_state: Any = 0,
    test_share: float = 0.1,
    since: Any = None,
) -> tuple[Any, Any]:
    """Hold out entries by the name of a way: ``"random"``, every row's ``"last"``, or the latest by ``"time"``.

    >>> train, test = hold_out(np.array([[1, 2, 3], [0, 4, 0]]), "last", times=[30, 10, 20, 5])
    >>> test.toarray().tolist()
    [[1, 0, 0], [0, 0, 0]]
    """
    check_held_out(held_out, since)
    if held_out == "random":
        return split_entries(interactions, test_share, random_state)
    if times is None and not (isinstance(interactions, Events) and interactions.times is not None):
        raise ValueError(
            f"held_out={held_out!r} needs the times of the stored pairs: fit(interactions, times=…), or "
            "Entries(matrix, times)."
        )
    if held_out == "last":
        return split_leave_last(interactions, times)
    return split_time(interactions, times, test_share, since=since)


def check_held_out(held_out: Any, since: Any = None) -> None:
    """Refuse a way to hold entries out that there is not, and a moment that it does not need."""
    if held_out not in HELD_OUT:
        raise ValueError(f"held_out must be one of {', '.join(map(repr, HELD_OUT))}, got {held_out!r}.")
    if since is not None:
        if held_out != "time":
            raise ValueError(f"since= belongs to held_out='time', not to {held_out!r}.")
        moment_of(since)


def held_out_words(held_out: str, test_share: float = 0.1, since: Any = None, random_state: Any = 0) -> str:
    """Say which events were held out.

    >>> held_out_words("time", since="2024-03-01")
    'all events since 2024-03-01'
    """
    if held_out == "last":
        return "the last event of every user who has two or more"
    if since is not None:
        return f"all events since {since}"
    share = f"{100 * test_share:g} % of all events"
    return f"the latest {share}" if held_out == "time" else f"{share}, drawn at random (seed {random_state})"


def split_entries(interactions: Any, test_share: float = 0.1, random_state: Any = 0) -> tuple[Any, Any]:
    """Hold out every entry with chance ``test_share``: those where ``default_rng(seed).random(nnz) < share``.

    >>> train, test = split_entries(np.ones((20, 10)), test_share=0.25)
    >>> train.nnz + test.nnz, bool((train + test == 1).toarray().all())
    (200, True)
    """
    events, matrix = _canonical(interactions)
    check_share(test_share, "test_share")
    held_out = np.random.default_rng(random_state).random(matrix.nnz) < test_share
    return _part(events, matrix, ~held_out), _part(events, matrix, held_out)


def split_per_row(
    interactions: Any,
    test_share: float | None = None,
    test_count: int | None = None,
    min_train: int = 1,
    random_state: Any = 0,
) -> tuple[Any, Any]:
    """Hold out a share of every row's entries (rounded, ½ upwards), or a fixed number of them.

    Give either ``test_share`` or ``test_count``. A row keeps at least ``min_train`` entries in train (all
    where it has no more), so short rows may have fewer entries held out, or none.

    >>> train, test = split_per_row(np.ones((3, 5)), test_count=2)
    >>> np.diff(train.indptr).tolist(), np.diff(test.indptr).tolist()
    ([3, 3, 3], [2, 2, 2])
    """
    events, matrix = _canonical(interactions)
    integer("min_train", min_train, 0)
    counts = np.diff(matrix.indptr)
    if (test_share is None) == (test_count is None):
        raise ValueError("Give either test_share (of every row's entries) or test_count (per row), one of them.")
    if test_share is not None:
        check_share(test_share, "test_share")
        wanted = _rounded(test_share * counts)
    else:
        integer("test_count", test_count, 1)
        wanted = np.full_like(counts, test_count)
    wanted = np.minimum(wanted, np.maximum(counts - min_train, 0))
    held_out = _random_entries(matrix, wanted, np.random.default_rng(random_state))
    return _part(events, matrix, ~held_out), _part(events, matrix, held_out)


def split_leave_last(interactions: Any, times: Any = None, count: int = 1) -> tuple[Any, Any]:
    """Hold out the latest ``count`` entries of every row; rows with no more than ``count`` stay in train.

    ``times`` is a sparse matrix that stores a time for exactly the same pairs, or an array (numbers or
    datetime64) in row-major order with ascending columns; events have their own. Of equal times the greater column is
    the later.

    >>> train, test = split_leave_last(np.array([[1, 2, 3], [0, 4, 0]]), times=[30, 10, 20, 5])
    >>> test.toarray().tolist()
    [[1, 0, 0], [0, 0, 0]]
    """
    events, matrix = _canonical(interactions)
    integer("count", count, 1)
    order = np.lexsort((matrix.indices, _aligned_times(_times_of(events, times), matrix), _entry_rows(matrix)))
    counts = np.diff(matrix.indptr)
    wanted = np.where(counts > count, count, 0)
    held_out = np.zeros(matrix.nnz, dtype=bool)
    held_out[order] = _places_from_end(matrix) < np.repeat(wanted, counts)
    return _part(events, matrix, ~held_out), _part(events, matrix, held_out)


def split_time(interactions: Any, times: Any = None, test_share: float = 0.1, *, since: Any = None) -> tuple[Any, Any]:
    """Hold out the latest ``test_share`` of all entries: one moment divides train from test for every row.

    ``times`` is as in :func:`split_leave_last`. Entries at the dividing moment stay in train. ``since`` is that moment
    instead, the first of the test: a number of the times' clock, or a date such as ``"2024-03-01"`` where they are
    dates. Of a pair with several events, in events with ids, the later ones are held out and the others are not: it is
    in both parts, with the weight that it has in each.

    >>> train, test = split_time(np.array([[1, 2, 3], [0, 4, 0]]), times=[30, 10, 20, 5], test_share=0.25)
    >>> test.toarray().tolist()
    [[1, 0, 0], [0, 0, 0]]
    """
    events, matrix = _canonical(interactions)
    check_share(test_share, "test_share")
    values = _aligned_times(_times_of(events, times), matrix)
    if events is None or events.repeats is None or times is not None:
        held_out = _is_late(values, test_share, since)
        return _part(events, matrix, ~held_out), _part(events, matrix, held_out)
    return _split_events(events, matrix, values, events.repeats, test_share, since)


def _split_events(
    events: Events, matrix: Any, values: NDArray[Any], repeats: Repeats, test_share: float, since: Any
) -> tuple[Events, Events]:
    """Cut the events, of which some pairs have several, and join those of a pair in either part."""
    several = repeats.events
    assert several.times is not None
    rows, width = _entry_rows(matrix), matrix.shape[1]
    once = ~np.isin(rows * width + matrix.indices, several.rows.astype(np.int64) * width + several.columns)
    every = EventRows(
        np.concatenate([rows[once], several.rows]),
        np.concatenate([matrix.indices[once], several.columns]),
        np.concatenate([matrix.data[once], several.weights]),
        np.concatenate([values[once], several.times]),
    )
    held_out = _is_late(every.times, test_share, since)
    train, test = (_joined(events, every.where(part), repeats.how) for part in (~held_out, held_out))
    return train, test


def _joined(events: Events, own: EventRows, how: str) -> Events:
    """A part of events, those of one pair joined."""
    if not len(own.rows):
        return replace(events, matrix=0 * events.matrix, times=None, repeats=None)
    pairs = join_events(own, how)
    pairs = pairs.where(pairs.weights != 0)
    indptr = np.searchsorted(pairs.rows, np.arange(events.matrix.shape[0] + 1))
    matrix, times = (
        sp.csr_array((data, pairs.columns, indptr), shape=events.matrix.shape)
        for data in (pairs.weights.astype(events.matrix.dtype), pairs.times)
    )
    repeats = Repeats(repeated_events(own), how).among(pairs.rows, pairs.columns)
    return replace(events, matrix=matrix, times=times, repeats=repeats)


def _is_late(times: Any, test_share: float, since: Any) -> NDArray[np.bool_]:
    """Which events are held out: the latest share, or all from a moment on."""
    if since is None:
        kept = max(1, int(_rounded((1 - test_share) * len(times))))
        return np.asarray(times > np.partition(times, kept - 1)[kept - 1])
    late = np.asarray(times >= moment_of(since, times.dtype.kind == "M"))
    if late.all() or not late.any():
        side = "before" if late.all() else "after"
        raise ValueError(f"no event is {side} since={since!r}: the times go from {times.min()} to {times.max()}.")
    return late


def moment_of(since: Any, dated: bool = False) -> Any:
    """A moment as a number of the times' clock, dates as seconds since 1970, or as a date where times are ``dated``.

    >>> moment_of("1970-01-02"), moment_of(7), moment_of("7.5")
    (86400, 7, 7.5)
    """
    if isinstance(since, str):
        with suppress(ValueError):
            since = float(since)
    if is_number(since) and np.isfinite(since) and not dated:
        return since
    try:
        date = np.datetime64(since, "s")
    except (ValueError, TypeError):
        date = np.datetime64("NaT", "s")
    if np.isnat(date):
        raise ValueError(f"since= must be a number of the times' clock or a date such as '2024-03-01', got {since!r}.")
    return date if dated else int(date.astype(np.int64))


def split_cold_items(interactions: Any, test_share: float = 0.1, random_state: Any = 0) -> tuple[Any, Any]:
    """Hold out whole columns: ``test_share`` of the items that have entries (rounded, at least one) are not in train.

    For items known by features alone: their columns of train are empty, and test has all their entries.

    >>> train, test = split_cold_items(np.ones((3, 10)), test_share=0.2)
    >>> sorted(set(test.indices.tolist()) & set(train.indices.tolist())), len(set(test.indices.tolist()))
    ([], 2)
    """
    events, matrix = _canonical(interactions)
    check_share(test_share, "test_share")
    known = np.unique(matrix.indices)
    if len(known) < 2:
        raise ValueError("Whole items can only be held out of a matrix in which at least two have entries.")
    size = min(max(int(_rounded(test_share * len(known))), 1), len(known) - 1)
    cold = np.random.default_rng(random_state).permutation(known)[:size]
    held_out = np.isin(matrix.indices, cold)
    return _part(events, matrix, ~held_out), _part(events, matrix, held_out)


def split_rows(
    interactions: Any, test_share: float = 0.1, hidden_share: float = 0.2, random_state: Any = 0
) -> RowSplit:
    """Hold out whole rows, and hide a share of each held-out row's entries: what fold-in is evaluated on.

    ``test_share`` of the rows with at least two entries are held out (rounded, at least one). Of each of
    them ``hidden_share`` of the entries is hidden (rounded; at least one is hidden and one is shown).

    >>> split = split_rows(np.ones((10, 5)), test_share=0.3)
    >>> split.train.shape, split.fold_in.nnz, split.test.nnz
    ((7, 5), 12, 3)
    """
    events, matrix = _canonical(interactions)
    check_share(test_share, "test_share")
    check_share(hidden_share, "hidden_share")
    rng = np.random.default_rng(random_state)
    eligible = np.flatnonzero(np.diff(matrix.indptr) >= 2)
    if len(eligible) == 0 or matrix.shape[0] < 2:
        raise ValueError(
            "Whole rows can only be held out of a matrix with at least two rows, one of which has two "
            "entries: one to show and one to hide."
        )
    size = min(max(int(_rounded(test_share * len(eligible))), 1), matrix.shape[0] - 1)
    test_rows = np.sort(rng.permutation(eligible)[:size])
    train_rows = np.setdiff1d(np.arange(matrix.shape[0]), test_rows, assume_unique=True)
    held_out = matrix[test_rows]
    counts = np.diff(held_out.indptr)
    wanted = np.clip(_rounded(hidden_share * counts), 1, counts - 1)
    hidden = _random_entries(held_out, wanted, rng)
    if events is None:
        train, tested = matrix[train_rows], None
    else:
        train, tested = _rows_of(events, train_rows), _rows_of(events, test_rows)
    return RowSplit(train, _part(tested, held_out, ~hidden), _part(tested, held_out, hidden), train_rows, test_rows)


def _canonical(interactions: Any) -> tuple[Events | None, Any]:
    """The events, if they have ids, and their matrix."""
    events = as_events(interactions, "interactions")
    matrix = interactions if events is None else events.matrix
    dtype = matrix.dtype if sp.issparse(matrix) else np.asarray(matrix).dtype
    return events, as_csr(matrix, dtype, "interactions")[0]


def _part(events: Events | None, matrix: Any, chosen: NDArray[np.bool_]) -> Any:
    """Return the chosen entries, as events with the ids of all where there are ids."""
    part = _take(matrix, chosen)
    if events is None:
        return part
    repeats = None if events.repeats is None else events.repeats.among(_entry_rows(part), part.indices)
    times = None if events.times is None else _take(events.times, chosen)
    return replace(events, matrix=part, times=times, repeats=repeats)


def _rows_of(events: Events, rows: NDArray[np.int64]) -> Events:
    return replace(
        events,
        matrix=events.matrix[rows],
        user_ids=Ids(events.user_ids.values[rows]),
        repeats=None,
        times=None if events.times is None else events.times[rows],
    )


def _times_of(events: Events | None, times: Any) -> Any:
    own = times if times is not None or events is None else events.times
    if own is None:
        raise ValueError("a split by time needs times: give them, or events that were read with a time.")
    return own


def _take(matrix: Any, chosen: NDArray[np.bool_]) -> Any:
    """Return the chosen entries (a flag per stored entry) in a matrix of the same shape."""
    indptr = kept_pointers(matrix.indptr, chosen).astype(matrix.indptr.dtype)
    return sp.csr_array((matrix.data[chosen], matrix.indices[chosen], indptr), shape=matrix.shape)


def _entry_rows(matrix: Any) -> NDArray[np.int64]:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _places_from_end(matrix: Any) -> NDArray[np.int64]:
    """Return 0 for the last entry of its row, 1 for the one before, …."""
    return np.repeat(matrix.indptr[1:], np.diff(matrix.indptr)) - 1 - np.arange(matrix.nnz)


def _random_entries(matrix: Any, wanted: NDArray[Any], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Flag ``wanted[i]`` entries of row i, every subset with the same chance."""
    order = np.lexsort((rng.random(matrix.nnz), _entry_rows(matrix)))
    flags = np.zeros(matrix.nnz, dtype=bool)
    flags[order] = _places_from_end(matrix) < np.repeat(wanted, np.diff(matrix.indptr))
    return flags


def _rounded(values: Any) -> Any:
    return np.floor(np.asarray(values) + 0.5).astype(np.int64)


def _aligned_times(times: Any, matrix: Any) -> NDArray[Any]:
    if sp.issparse(times):
        csr, stored = as_csr(times, times.dtype, "times")
        same = csr.shape == matrix.shape and stored == csr.nnz == matrix.nnz
        if not (same and np.array_equal(csr.indptr, matrix.indptr) and np.array_equal(csr.indices, matrix.indices)):
            raise ValueError(
                "times as a sparse matrix must store one time for exactly the pairs of interactions: "
                f"shape {csr.shape} with {stored} entries against {matrix.shape} with {matrix.nnz}, "
                "or other positions."
            )
        values = csr.data
    else:
        values = np.asarray(times)
        if values.shape != (matrix.nnz,):
            raise ValueError(
                f"times must have one entry per stored pair in row-major order, {matrix.nnz}, got shape {values.shape}."
            )
    if values.dtype.kind not in "iufM":
        raise TypeError(f"times must be numbers or numpy datetime64, got {values.dtype}.")
    if np.isnan(values).any() if values.dtype.kind != "M" else np.isnat(values).any():
        raise ValueError("times has missing values (NaN or NaT): drop those pairs or fill in a time.")
    return np.asarray(values)


def check_share(share: Any, name: str) -> None:
    """Refuse what is no share of something."""
    if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0 < share < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, both excluded, got {share!r}.")
