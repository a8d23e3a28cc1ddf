"""Held-out data: (train, test) of the same shape, no entry in both, values kept, reproducible from a seed.

What is split is a matrix or a table of events; the parts of events are events with the same ids, and their times.

Entries are taken in row-major order with ascending columns, duplicates summed first. Dislikes (negative
values) are entries like any other: they are held out with the same chance and keep their sign, and the
metrics count only the positives among them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import as_csr, integer
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
    interactions: Any, held_out: str, times: Any = None, random_state: Any = 0, test_share: float = 0.1
) -> tuple[Any, Any]:
    """Hold out entries by the name of a way: ``"random"``, every row's ``"last"``, or the latest by ``"time"``.

    >>> train, test = hold_out(np.array([[1, 2, 3], [0, 4, 0]]), "last", times=[30, 10, 20, 5])
    >>> test.toarray().tolist()
    [[1, 0, 0], [0, 0, 0]]
    """
    check_held_out(held_out)
    if held_out == "random":
        return split_entries(interactions, test_share, random_state)
    if times is None:
        raise ValueError(
            f"held_out={held_out!r} needs the times of the stored pairs: fit(interactions, times=…), or "
            "Entries(matrix, times)."
        )
    return split_leave_last(interactions, times) if held_out == "last" else split_time(interactions, times, test_share)


def check_held_out(held_out: Any) -> None:
    """Refuse a way to hold entries out that there is not."""
    if held_out not in HELD_OUT:
        raise ValueError(f"held_out must be one of {', '.join(map(repr, HELD_OUT))}, got {held_out!r}.")


def split_entries(interactions: Any, test_share: float = 0.1, random_state: Any = 0) -> tuple[Any, Any]:
    """Hold out every entry with chance ``test_share``: those where ``default_rng(seed).random(nnz) < share``.

    >>> train, test = split_entries(np.ones((20, 10)), test_share=0.25)
    >>> train.nnz + test.nnz, bool((train + test == 1).toarray().all())
    (200, True)
    """
    events, matrix = _canonical(interactions)
    _check_share(test_share, "test_share")
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
        _check_share(test_share, "test_share")
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


def split_time(interactions: Any, times: Any = None, test_share: float = 0.1) -> tuple[Any, Any]:
    """Hold out the latest ``test_share`` of all entries: one moment divides train from test for every row.

    ``times`` is as in :func:`split_leave_last`. Entries at the dividing moment stay in train.

    >>> train, test = split_time(np.array([[1, 2, 3], [0, 4, 0]]), times=[30, 10, 20, 5], test_share=0.25)
    >>> test.toarray().tolist()
    [[1, 0, 0], [0, 0, 0]]
    """
    events, matrix = _canonical(interactions)
    _check_share(test_share, "test_share")
    values = _aligned_times(_times_of(events, times), matrix)
    kept = max(1, int(_rounded((1 - test_share) * matrix.nnz)))
    held_out = values > np.partition(values, kept - 1)[kept - 1]
    return _part(events, matrix, ~held_out), _part(events, matrix, held_out)


def split_cold_items(interactions: Any, test_share: float = 0.1, random_state: Any = 0) -> tuple[Any, Any]:
    """Hold out whole columns: ``test_share`` of the items that have entries (rounded, at least one) are not in train.

    For items known by features alone: their columns of train are empty, and test has all their entries.

    >>> train, test = split_cold_items(np.ones((3, 10)), test_share=0.2)
    >>> sorted(set(test.indices.tolist()) & set(train.indices.tolist())), len(set(test.indices.tolist()))
    ([], 2)
    """
    events, matrix = _canonical(interactions)
    _check_share(test_share, "test_share")
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
    _check_share(test_share, "test_share")
    _check_share(hidden_share, "hidden_share")
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
    return replace(events, matrix=part, times=None if events.times is None else _take(events.times, chosen))


def _rows_of(events: Events, rows: NDArray[np.int64]) -> Events:
    return replace(
        events,
        matrix=events.matrix[rows],
        user_ids=Ids(events.user_ids.values[rows]),
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


def _check_share(share: Any, name: str) -> None:
    if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0 < share < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, both excluded, got {share!r}.")
