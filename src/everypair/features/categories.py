"""A column of categories, or of lists such as ``rock|blues`` → one column of 0 and 1 per value.

Values that were not seen in training have no column: a row of nothing but such values is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from everypair.data.ids import Ids, string_array
from everypair.data.tables import LIST_MARK, Column


@dataclass(frozen=True)
class CategoryFeature:
    """1 in the column of each value a row has; ``separator`` splits lists, ``None`` takes a text as one value."""

    column: str
    values: tuple[str, ...]
    separator: str | None

    @classmethod
    def fit(cls, name: str, column: Column, separator: str | None, min_count: int) -> Self:
        """Keep the values that at least ``min_count`` rows have, in ascending order."""
        every = cls(
            name, tuple(sorted({value for text in _texts(column) for value in split(text, separator)})), separator
        )
        counts = np.asarray(every.transform(column).sum(axis=0)).ravel()
        return cls(name, tuple(value for value, count in zip(every.values, counts) if count >= min_count), separator)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of `transform`."""
        return tuple(f"{self.column}={value}" for value in self.values)

    def transform(self, column: Column) -> Any:
        """Return a column per value."""
        lists = [split(text, self.separator) for text in _texts(column)]
        place = Ids._of_distinct(string_array(list(self.values)))
        return spread(
            column, [np.unique(place.find(values)) if values else np.empty(0, int) for values in lists], len(place)
        )


def split(text: str, separator: str | None) -> list[str]:
    """Return the values in a text.

    >>> split("rock | blues|", "|"), split("a|b", None)
    (['rock', 'blues'], ['a|b'])
    """
    if separator is None:
        return [text]
    parts = text.split(LIST_MARK) if LIST_MARK in text else text.split(separator)
    return [value for part in parts if (value := part.strip())]


def spread(column: Column, places: list[Any], width: int, weights: list[Any] | None = None) -> Any:
    """Return a row per row of ``column``: 1, or a weight, at the places of its distinct text; −1 is nowhere."""
    lengths = [len(one) for one in places]
    indices = np.concatenate([*places, np.empty(0, np.int64)]).astype(np.int64)
    data = np.ones(len(indices)) if weights is None else np.concatenate([*weights, np.empty(0)])
    owner = np.repeat(np.arange(len(places)), lengths)
    known = indices >= 0
    shape = (len(places) + 1, width)  # the last row is empty, for rows without a text
    return at_rows(column, sp.csr_array((data[known], (owner[known], indices[known])), shape=shape))


def at_rows(column: Column, distinct: Any) -> Any:
    """Return the row of every text from those of the distinct ones; the last one is for rows without a text."""
    return sp.csr_array(distinct)[np.where(column.values < 0, distinct.shape[0] - 1, column.values)]


def _texts(column: Column) -> list[str]:
    assert column.ids is not None
    return column.ids.values.tolist()
