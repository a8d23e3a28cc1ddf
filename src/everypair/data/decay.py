"""Older events count less: weight = 2^(−(now − t)/half_life), which is 1 now and ½ one half-life ago."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SMALLEST = float(np.finfo(np.float32).tiny)


def time_decay(times: Any, half_life: Any, now: Any = None) -> NDArray[np.float64]:
    """Return the weight of each event, in (0, 1].

    ``times`` are numbers (``half_life`` in the same unit) or numpy datetime64 (``half_life`` a timedelta64 or
    timedelta). ``now`` defaults to the latest time. Very old events keep the smallest normal float32, so that
    a weight is never 0.

    >>> time_decay([0, 10, 20], half_life=10).tolist()
    [0.25, 0.5, 1.0]
    >>> days = np.array(["2024-01-01", "2024-01-31"], dtype="datetime64[D]")
    >>> time_decay(days, half_life=np.timedelta64(30, "D")).tolist()
    [0.5, 1.0]
    """
    events = np.asarray(times)
    dated = events.dtype.kind == "M"
    if events.size == 0:
        return np.ones(events.shape)
    if events.dtype.kind not in "iufM":
        raise TypeError(
            f"times must be numbers or numpy datetime64, got {events.dtype}; "
            "convert dates with numpy.asarray(times, dtype='datetime64[s]'), time zones to UTC before."
        )
    if (np.isnat(events) if dated else ~np.isfinite(events)).any():
        raise ValueError("times has missing or infinite values: drop those events or fill in a time.")
    if events.dtype.kind in "iu":
        events = events.astype(np.int64)
    span = _checked_half_life(half_life, dated)
    present = events.max() if now is None else np.asarray(now, "datetime64[us]" if dated else None)[()]
    if np.isnat(present) if dated else not np.isfinite(present):
        raise ValueError(f"now must be a {'date' if dated else 'finite number'} like the times, got {now!r}.")
    if (events > present).any():
        raise ValueError(
            f"times has events after now: the latest is {events.max()}, now is {present}; "
            "leave them out or pass a later now."
        )
    weights: NDArray[np.float64] = np.exp2(-((present - events) / span).astype(np.float64))
    return np.maximum(weights, _SMALLEST)


def _checked_half_life(half_life: Any, dated: bool) -> Any:
    if isinstance(half_life, np.timedelta64 | timedelta) != dated:
        wanted = "a duration such as numpy.timedelta64(30, 'D')" if dated else "a number in the same unit"
        raise TypeError(
            f"times are {'dates' if dated else 'numbers'}, so half_life must be {wanted}, got {half_life!r}."
        )
    span = np.timedelta64(half_life) if dated else half_life
    if dated and np.datetime_data(span.dtype)[0] in ("Y", "M", "generic"):
        raise ValueError(
            "half_life must have a unit of fixed length (weeks, days, hours, …): "
            "months and years differ in length, use numpy.timedelta64(30, 'D')."
        )
    if not (span > np.timedelta64(0, "s") if dated else 0 < span < np.inf):
        raise ValueError(f"half_life must be positive and finite, got {half_life!r}.")
    return span
