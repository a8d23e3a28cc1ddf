"""out = now + β (now − before) in one pass over rows [start, stop), and whether a sweep from there turned back."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def extrapolate(start: Any, stop: Any, now: Any, before: Any, beta: Any, out: Any) -> None:
    """Go on beyond ``now`` by β times the way from ``before``."""
    for i in range(start, stop):
        for l in range(now.shape[1]):
            out[i, l] = now[i, l] + beta * (now[i, l] - before[i, l])


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def turned_back(start: Any, stop: Any, now: Any, origin: Any, after: Any) -> Any:
    """⟨origin − after, after − now⟩ over rows [start, stop): positive where a sweep went against its way."""
    total = 0.0
    for i in range(start, stop):
        row = now.dtype.type(0.0)
        for l in range(now.shape[1]):
            row += (origin[i, l] - after[i, l]) * (after[i, l] - now[i, l])
        total += row
    return total
