"""out = now + β (now − before) in one pass over rows [start, stop)."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def extrapolate(start: Any, stop: Any, now: Any, before: Any, beta: Any, out: Any) -> None:
    """Go on beyond ``now`` by β times the way from ``before``."""
    for i in range(start, stop):
        for l in range(now.shape[1]):
            out[i, l] = now[i, l] + beta * (now[i, l] - before[i, l])
