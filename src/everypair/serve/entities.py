"""Users or items as requests write them: an id and its text are one, so 12 and "12" are the same user."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.ids import Ids, string_array

Id = str | int
LEAST, MOST = -(2**63), 2**63 - 1


class Entities:
    """The ids of one side, or positions where a model was fitted on a matrix.

    >>> films = Entities(Ids(["up", "her"]), 2)
    >>> films.find(["her", "him"]).tolist(), films.names([1])
    ([1, -1], ['her'])
    >>> Entities(None, 3).find([2, "1", 3]).tolist()
    [2, 1, -1]
    """

    def __init__(self, ids: Ids | None, count: int) -> None:
        self.ids, self.count = ids, count

    @property
    def kind(self) -> str:
        """What ids are: strings, integers or positions."""
        return "positions" if self.ids is None else "strings" if self.ids.are_strings else "integers"

    def find(self, names: Iterable[Id]) -> NDArray[np.int64]:
        """The positions of ids, −1 for those that are not known."""
        if self.ids is not None and self.ids.are_strings:
            return self.ids.places(string_array([str(name) for name in names]))
        numbers = [_number(name) for name in names]
        found = np.array([0 if one is None else one for one in numbers], np.int64)
        there = np.array([one is not None for one in numbers], bool)
        if self.ids is not None:
            places = self.ids.find(found)
        else:
            places = np.where((found >= 0) & (found < self.count), found, -1)
        return np.where(there, places, -1)

    def names(self, positions: Any) -> list[Id]:
        """The ids at positions."""
        if self.ids is None:
            return np.asarray(positions).tolist()
        return self.ids.values[np.asarray(positions, np.int64)].tolist()


def _number(name: Id) -> int | None:
    """An id as an integer, if that is how it is written.

    >>> _number("12"), _number("012"), _number(12), _number("-3"), _number("²")
    (12, None, 12, -3, None)
    """
    if isinstance(name, int):
        return name if LEAST <= name <= MOST else None
    if len(name) > 20 or not name.removeprefix("-").isdecimal():
        return None
    number = int(name)
    return number if str(number) == name and LEAST <= number <= MOST else None
