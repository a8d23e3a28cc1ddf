"""A column of text → words: tf-idf over the words of training, or hashed into a fixed number of columns.

    x_iw = (1 + ln tf_iw) · idf_w,  idf_w = 1 + ln((1 + n) / (1 + n_w)),  rows to unit length

tf counts a word in a text, n the texts and n_w those that hold the word: scikit-learn's TfidfVectorizer, made of words
and idf alone. Hashing knows no words, so its idf is 1.
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

from everypair.data.tables import Column
from everypair.features.categories import at_rows, spread

WORD = r"\w\w+"


@dataclass(frozen=True)
class TextFeature:
    """Weights of the known words of a text, rows of unit length."""

    column: str
    words: tuple[str, ...]
    idf: NDArray[np.float64]

    @classmethod
    def fit(cls, name: str, column: Column, min_count: int) -> Self:
        """Keep the words that at least ``min_count`` texts hold, in ascending order."""
        from sklearn.feature_extraction.text import CountVectorizer

        counts, texts = _texts_with(column)
        counter = CountVectorizer(token_pattern=WORD, binary=True)
        if not any(map(counter.build_analyzer(), texts)):
            return cls(name, (), np.empty(0))
        frequency = np.asarray(counter.fit_transform(texts).T @ np.array(counts))  # of rows, not of distinct texts
        kept = np.flatnonzero(frequency >= min_count)
        idf = 1 + np.log((1 + sum(counts)) / (1 + frequency[kept].astype(np.float64)))
        return cls(name, tuple(counter.get_feature_names_out()[kept].tolist()), idf)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of `transform`."""
        return tuple(f"{self.column}:{word}" for word in self.words)

    def transform(self, column: Column) -> Any:
        """Return a column per word."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        if not self.words:
            return sp.csr_array((len(column.values), 0))
        vectorizer = TfidfVectorizer(token_pattern=WORD, sublinear_tf=True, vocabulary=self.words)
        vectorizer.idf_ = self.idf
        return at_rows(column, vectorizer.transform([*_texts_with(column)[1], ""]))


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
            counts = Counter(re.findall(WORD, text.lower()))
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
