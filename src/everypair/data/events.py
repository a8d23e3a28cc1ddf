"""From a table of events (who, what, and perhaps how much and when) to a matrix with ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.ids import Ids, number_ids


@dataclass(frozen=True)
class Events:
    """Users × items: ``matrix[i, j]`` is the summed weight of the events of user i and item j (csr, float32).

    ``user_ids`` and ``item_ids`` name rows and columns, ascending. ``times`` stores the latest time of every
    pair in the same pattern (``None`` without times; dates become seconds since 1970). ``duplicates`` counts
    the events that were added to an earlier one of the same pair.
    """

    matrix: Any
    user_ids: Ids
    item_ids: Ids
    times: Any
    duplicates: int


def read_events(
    frame: Any, *, user: str = "user", item: str = "item", weight: str | None = None, time: str | None = None
) -> Events:
    """Turn a table of events into a matrix with ids.

    ``frame`` is any eager data frame (pandas, polars, pyarrow, …) or a mapping from column names to arrays;
    ``user``, ``item``, ``weight`` and ``time`` name its columns. Ids are strings or integers. Without
    ``weight`` every event counts 1; a negative weight is a dislike. Times are numbers or dates.

    >>> events = read_events({"user": ["ann", "bob", "ann"], "item": [7, 7, 5]})
    >>> events.matrix.toarray().tolist(), events.user_ids, events.item_ids
    ([[1.0, 1.0], [0.0, 1.0]], Ids(2: 'ann', 'bob'), Ids(2: 5, 7))
    """
    column = _column_reader(frame, [name for name in (user, item, weight, time) if name is not None])
    user_ids, rows = number_ids(column(user), f"Column {user!r}")
    item_ids, columns = number_ids(column(item), f"Column {item!r}")
    if len(rows) != len(columns):
        raise ValueError(f"Columns {user!r} and {item!r} differ in length: {len(rows)} and {len(columns)}.")
    if len(rows) == 0:
        raise ValueError("The table has no events.")
    weights = np.ones(len(rows)) if weight is None else _weights(column(weight), weight, len(rows))
    moments = None if time is None else _times(column(time), time, len(rows))

    shape = (len(user_ids), len(item_ids))
    pairs, place = np.unique(rows * shape[1] + columns, return_inverse=True)
    indptr = np.searchsorted(pairs, np.arange(shape[0] + 1) * shape[1])
    indices = pairs % shape[1]

    def matrix_of(data: NDArray[Any]) -> Any:
        return sp.csr_array((data, indices, indptr), shape=shape)

    latest = None
    if moments is not None:
        latest = np.full(len(pairs), moments.min())
        np.maximum.at(latest, place, moments)
    return Events(
        matrix=matrix_of(_as_float32(np.bincount(place, weights=weights), weight)),
        user_ids=user_ids,
        item_ids=item_ids,
        times=None if latest is None else matrix_of(latest),
        duplicates=len(rows) - len(pairs),
    )


def _column_reader(frame: Any, wanted: list[str]) -> Callable[[str], Any]:
    """Return a function from a column's name to its values, after checking that all columns exist."""
    if isinstance(frame, Mapping):
        names, read = list(frame), frame.__getitem__
    else:
        try:
            table = nw.from_native(frame, eager_only=True)
        except TypeError:
            raise TypeError(
                "frame must be a data frame or a mapping from column names to arrays, "
                f"got {type(frame).__name__}; collect a lazy frame first."
            ) from None
        names, read = table.columns, lambda name: table[name].to_numpy()
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(
            f"There is no column {', '.join(map(repr, missing))}: the columns are "
            f"{', '.join(map(repr, names))}. Name yours with user=, item=, weight= and time=."
        )
    return read


def _weights(values: Any, name: str, length: int) -> NDArray[np.float64]:
    weights = np.asarray(values)
    if weights.shape != (length,):
        raise ValueError(f"Column {name!r} must have one weight per event, {length}, got shape {weights.shape}.")
    if weights.dtype.kind not in "buif":
        raise TypeError(f"Column {name!r} must hold numbers, got {weights.dtype}: convert it with astype(float).")
    if not np.isfinite(weights).all():
        raise ValueError(f"Column {name!r} has NaN or infinite weights: drop those events or fill in a weight.")
    return weights.astype(np.float64)


def _as_float32(sums: NDArray[Any], name: str | None) -> NDArray[np.float32]:
    if np.abs(sums).max() > np.finfo(np.float32).max:
        raise ValueError(f"Column {name!r} adds up to weights beyond the range of float32: rescale it.")
    return sums.astype(np.float32)


def _times(values: Any, name: str, length: int) -> NDArray[Any]:
    """Return times as int64 or float64; dates as seconds since 1970."""
    moments = np.asarray(values)
    if moments.shape != (length,):
        raise ValueError(f"Column {name!r} must have one time per event, {length}, got shape {moments.shape}.")
    if moments.dtype.kind not in "iufM":
        raise TypeError(
            f"Column {name!r} must hold numbers or dates, got {moments.dtype}: "
            "convert it to numbers or datetime64 (UTC)."
        )
    dated = moments.dtype.kind == "M"
    if (np.isnat(moments) if dated else ~np.isfinite(moments)).any():
        raise ValueError(f"Column {name!r} has missing or infinite times: drop those events or fill in a time.")
    if dated:
        return (moments - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    return moments.astype(np.float64 if moments.dtype.kind == "f" else np.int64)
