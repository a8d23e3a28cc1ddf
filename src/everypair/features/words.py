"""A column of text → words: tf-idf over the words of training, or hashed into a fixed number of columns.

    x_iw = (1 + ln tf_iw) · idf_w,  idf_w = 1 + ln((1 + n) / (1 + n_w)),  rows to unit length

tf counts a word in a text, n the texts and n_w those that hold the word. Hashing knows no words, so its idf is 1.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.data.ids import Ids, string_array
from everypair.data.tables import Column
from everypair.features.categories import spread

_WORD = re.compile(r"\w\w+")


@dataclass(frozen=True)
class TextFeature:
    """Weights of the known words of a text, rows of unit length."""

    column: str
    words: tuple[str, ...]
    idf: NDArray[np.float64]

    @classmethod
    def fit(cls, name: str, column: Column, min_count: int) -> Self:
        """Keep the words that at least ``min_count`` texts hold, in ascending order."""
        held, texts = _texts_with(column)
        counts: Counter[str] = Counter()
        for text, times in zip(texts, held):
            for word in set(_WORD.findall(text.lower())):
                counts[word] += times
        words = sorted(word for word, count in counts.items() if count >= min_count)
        frequency = np.array([counts[word] for word in words], np.float64)
        return cls(name, tuple(words), 1 + np.log((1 + sum(held)) / (1 + frequency)))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of `transform`."""
        return tuple(f"{self.column}:{word}" for word in self.words)

    def transform(self, column: Column) -> Any:
        """Return a column per word."""
        place = Ids._of_distinct(string_array(list(self.words)))
        idf = np.append(self.idf, 0.0)  # the last for unknown words, at −1
        places, weights = [], []
        for text in _texts_with(column)[1]:
            counts = Counter(_WORD.findall(text.lower()))
            found = place.find(list(counts)) if counts else np.empty(0, np.int64)
            values = (1 + np.log(np.fromiter(counts.values(), np.float64, len(counts)))) * idf[found]
            places.append(found)
            weights.append(_unit(values))
        return spread(column, places, len(place), weights)


@dataclass(frozen=True)
class HashedTextFeature:
    """Words hashed into ``width`` columns, rows of unit length: nothing is learnt, any word counts."""

    column: str
    width: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of `transform`."""
        return tuple(f"{self.column}#{place}" for place in range(self.width))

    def transform(self, column: Column) -> Any:
        """Return ``width`` columns."""
        places, weights = [], []
        for text in _texts_with(column)[1]:
            counts = Counter(_WORD.findall(text.lower()))
            found = np.fromiter((zlib.crc32(word.encode()) % self.width for word in counts), np.int64, len(counts))
            places.append(found)
            weights.append(1 + np.log(np.fromiter(counts.values(), np.float64, len(counts))))
        matrix = spread(column, places, self.width, weights)
        matrix.sum_duplicates()
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        return sp.csr_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ matrix)


def _texts_with(column: Column) -> tuple[list[int], list[str]]:
    """Return how many rows hold each distinct text, and the texts."""
    assert column.ids is not None
    held = np.bincount(column.values[column.values >= 0], minlength=len(column.ids))
    return held.tolist(), column.ids.values.tolist()


def _unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.sqrt(values @ values)
    return values / length if length > 0 else values
