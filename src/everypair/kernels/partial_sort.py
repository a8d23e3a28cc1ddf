"""The greatest of a list of scores brought to its front, in place: for lists of which a good part is kept.

Where only a few are kept, the heaps of :mod:`everypair.kernels.select` are faster. Of equal scores the lesser item is
the greater. Loops over the list have no branch, because the processor would guess every other one wrongly.
"""

from __future__ import annotations

from typing import Any

from numba import njit

PASSES = 10


@njit(nogil=True, cache=True)
def drop_least(scores: Any, items: Any, count: Any, width: Any) -> Any:
    """Leave out scores (all > 0) that are not among the ``width`` greatest, most of them; returns how many are left.

    Halves an interval that holds the last of the greatest: each pass counts what lies above its middle.
    """
    if count <= 2 * width:
        return count
    low, high = 0.0, scores[:count].max()
    for _ in range(PASSES):
        middle = 0.5 * (low + high)
        above = 0
        for t in range(count):
            above += scores[t] > middle
        if above >= width:
            low = middle
        else:
            high = middle
    left = 0
    for t in range(count):
        items[left], scores[left] = items[t], scores[t]
        left += scores[left] > low
    return left


@njit(nogil=True, cache=True)
def greatest_first(scores: Any, items: Any, count: Any, width: Any) -> None:
    """Bring the ``width`` greatest of the first ``count`` scores to the front, with their items, in no order.

    Of equal scores the lesser item is the greater. Quickselect; its inner loop has no branch, so that nothing is
    guessed.
    """
    low, high = 0, count
    while low < width < high:
        middle, last = (low + high) // 2, high - 1
        _swap(scores, items, middle, last)
        pivot, item = scores[last], items[last]
        edge = low
        for t in range(low, last):
            better = (scores[t] > pivot) | ((scores[t] == pivot) & (items[t] < item))
            _swap(scores, items, t, edge)
            edge += better
        _swap(scores, items, edge, last)
        if edge < width:
            low = edge + 1
        else:
            high = edge


@njit(nogil=True, cache=True, inline="always")
def _swap(scores: Any, items: Any, a: Any, b: Any) -> None:
    scores[a], scores[b] = scores[b], scores[a]
    items[a], items[b] = items[b], items[a]
