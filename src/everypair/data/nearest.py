"""Did you mean …? The known ids nearest to one that is unknown, in time that does not grow with their number.

Candidates are what one slip of the keyboard leads to (a character left out, added, changed, or two swapped), the same
id in other case or without blanks around it, and the neighbours in ascending order, which share its beginning. The
most similar ones by difflib's ratio are returned.
"""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 3
LONGEST = 64  # longer ids are compared by their beginnings only
LEAST_SIMILAR = 0.6
_SAMPLE = 256  # ids from which the alphabet of slips is taken


def nearest_ids(unknown: Any, values: NDArray[Any], known: Container[Any]) -> list[Any]:
    """Return up to three of ``values`` that are like ``unknown``, the most similar first.

    >>> values = np.array(["anna", "bob", "Hanna"], dtype=object)
    >>> nearest_ids("ana", values, set(values)), nearest_ids("hanna", values, set(values))
    (['anna', 'Hanna'], ['Hanna', 'anna'])
    >>> nearest_ids(1233, np.array([123, 77]), {123, 77})
    [123]
    """
    if len(values) == 0:
        return []
    text = str(unknown)
    sample = [str(one) for one in values[:: max(1, len(values) // _SAMPLE)].tolist()]
    candidates = {one for one in sample if one[:LONGEST].casefold() == text[:LONGEST].casefold()}
    if len(text) <= LONGEST:
        alphabet = sorted(set("".join(one[:LONGEST] for one in sample)))
        for slip in _slips(text, alphabet):
            one = slip if isinstance(unknown, str) else _integer(slip)
            if one is not None and one in known:
                candidates.add(slip)
    if isinstance(unknown, str):
        candidates.update(one for one in _neighbours(text, values) if len(one) <= LONGEST)
    ranked = sorted(((_similarity(text, one), one) for one in candidates), key=lambda pair: (-pair[0], pair[1]))
    close = [one for similarity, one in ranked[:MOST] if similarity >= LEAST_SIMILAR]
    return close if isinstance(unknown, str) else [int(one) for one in close]


def _similarity(one: str, other: str) -> float:
    """Return difflib's ratio of two beginnings, capitals being no difference."""
    return difflib.SequenceMatcher(None, one[:LONGEST].casefold(), other[:LONGEST].casefold(), False).ratio()


def _slips(text: str, alphabet: list[str]) -> Iterator[str]:
    yield from (text.lower(), text.upper(), text.capitalize(), text.title(), text.strip())
    for at in range(len(text) + 1):
        before, after = text[:at], text[at:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for letter in alphabet:
            yield before + letter + after
            yield before + letter + after[1:]


def _neighbours(text: str, values: NDArray[Any]) -> list[str]:
    """Return the ids around the place of ``text`` if the ids are in ascending order, as those of events are."""
    place = int(np.searchsorted(values, text))
    around: list[str] = values[max(0, place - MOST) : place + MOST].tolist()
    return around


def _integer(text: str) -> int | None:
    canonical = text.removeprefix("-").isdecimal() and len(text) <= 18
    return int(text) if canonical and str(int(text)) == text else None
