"""Did you mean …? The ids nearest to one that is unknown, in time that does not grow with their number.

Candidates are the unknown id in other case or without blanks around it, with a character left out or two swapped, and
its neighbours in ascending order, which share its beginning; of few ids all. Those most similar by difflib's ratio are
returned.
"""

from __future__ import annotations

import difflib
from collections.abc import Container
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 3
LONGEST = 64  # of longer ids nothing is known to be near
LEAST_SIMILAR = 0.6
FEW = 500  # ids, of which all are candidates


def nearest_ids(unknown: Any, values: NDArray[Any], ids: Container[Any]) -> list[Any]:
    """Return up to three of ``values`` that are like ``unknown``, the most similar first.

    >>> values = np.array(["Hanna", "anna", "bob"], dtype=object)
    >>> nearest_ids("hanna", values, set(values)), nearest_ids("aanna", values, set(values))
    (['Hanna', 'anna'], ['anna', 'Hanna'])
    >>> nearest_ids(1233, np.array([77, 123]), {123, 77})
    [123]
    """
    text = str(unknown)
    if len(values) == 0 or len(text) > LONGEST:
        return []
    slips = {text.lower(), text.upper(), text.capitalize(), text.title(), text.strip()}
    for at in range(len(text)):
        slips |= {text[:at] + text[at + 1 :], text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :]}
    around = values
    if len(values) > FEW:
        place = int(np.searchsorted(values, unknown))
        around = values[max(0, place - MOST) : place + MOST]
    near = [str(one) for one in around.tolist()]
    made = [slip for slip in slips if (slip if isinstance(unknown, str) else _integer(slip)) in ids]
    ranked = sorted(
        {one for one in [*near, *made] if len(one) <= LONGEST}, key=lambda one: (-_similarity(text, one), one)
    )
    close = [one for one in ranked[:MOST] if _similarity(text, one) >= LEAST_SIMILAR]
    return close if isinstance(unknown, str) else [int(one) for one in close]


def _similarity(one: str, other: str) -> float:
    """Return difflib's ratio, capitals being no difference."""
    return difflib.SequenceMatcher(None, one.casefold(), other.casefold(), False).ratio()


def _integer(text: str) -> int | None:
    return int(text) if text.removeprefix("-").isdecimal() and len(text) <= 18 else None
