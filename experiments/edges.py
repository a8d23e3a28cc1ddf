"""Marks of parameters that were chosen at an end of what was tried: the best one may lie beyond it.

>>> marked({"reg": 0.1, "rank": 64}, [{"reg": 0.03, "rank": 64}, {"reg": 0.1, "rank": 64}])
'reg 0.1†, rank 64'
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MARK = "†"
LEGEND = f"{MARK} at an end of the values tried: a better one may lie beyond."
Point = dict[str, Any]


def at_ends(point: Point, tried: Iterable[Point]) -> set[str]:
    """Names of numbers in ``point`` that are the least or the greatest of several tried."""
    points = list(tried)
    found = set()
    for name, value in point.items():
        values = {other[name] for other in points if name in other}
        numbers = all(isinstance(one, int | float) for one in values)
        if numbers and len(values) > 1 and value in (min(values), max(values)):
            found.add(name)
    return found


def plain(value: Any) -> str:
    """A value for a table's cell."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def marked(point: Point, tried: Iterable[Point]) -> str:
    """The point for a table's cell, with a mark at every number that is at an end."""
    ends = at_ends(point, tried)
    return ", ".join(f"{name} {plain(value)}{MARK if name in ends else ''}" for name, value in point.items())
