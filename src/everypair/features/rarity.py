"""Rows whose cosine compares content: rare features count more, and every row has length 1.

    x_if ← x_if · idf_f^p / ‖…‖,   idf_f = 1 + ln((1 + n) / (1 + n_f))

n_f of the n training rows have feature f. Counts (nothing stored below 1) become 1 + ln x_if first. The words of a text
that were scaled so already (:class:`~everypair.features.words.TextFeature`) are taken as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.features.feature_map import FeatureMap
from everypair.features.scaling import prepare_features
from everypair.features.words import TextFeature
from everypair.types import Array


@dataclass(frozen=True)
class RarityScaling:
    """``weights`` are idf^p of the columns, ``counts`` says whether values are counts.

    >>> X = np.array([[1.0, 3.0], [1.0, 0.0], [1.0, 0.0]])
    >>> RarityScaling.of(X, 1.0)([[0.0, 7.0], [1.0, 1.0]]).round(2).tolist()
    [[0.0, 1.0], [0.51, 0.86]]
    """

    counts: bool
    weights: Array

    @classmethod
    def of(cls, features: Any, exponent: float, scaled: Any = None) -> RarityScaling:
        """Learn from the rows of training; ``scaled`` marks columns whose idf is in them already."""
        stored = features.data if sp.issparse(features) else features[features != 0]
        counts = bool(len(stored)) and float(stored.min()) >= 1
        idf = 1 + np.log((1 + features.shape[0]) / (1 + rows_with(features)))
        if scaled is not None:
            idf[scaled] = 1
        return cls(counts, (idf**exponent).astype(features.dtype))

    def __call__(self, features: Any) -> Any:
        """Return scaled rows of length 1, sparse or dense as they came; what is given is not changed."""
        dtype, matrix = self.weights.dtype, features
        if sp.issparse(features):
            matrix = sp.csr_array(features, copy=True)
            matrix.data = (self._damped(matrix.data) * self.weights[matrix.indices]).astype(dtype)
        else:
            matrix = np.array(self._damped(np.asarray(features)) * self.weights, dtype, order="C")
        return prepare_features(matrix, normalize=True, fit_intercept=False)

    def _damped(self, values: Array) -> Array:
        """1 + ln of counts; 0 stays 0."""
        return np.where(values > 0, 1 + np.log(np.maximum(values, 1)), values) if self.counts else values


def rows_with(features: Any) -> Array:
    """How many rows have each column.

    >>> rows_with(sp.csr_array([[1.0, 0.0], [2.0, 0.0]])).tolist()
    [2, 0]
    """
    stored = features != 0
    counts: Array = np.asarray(stored.sum(axis=0)).ravel()
    return counts


def scaled_text(reader: FeatureMap) -> Any:
    """Mark the columns of texts that a table's encoder has scaled by rarity already."""
    parts = []
    for group, width in (reader.widths or {"": reader.width}).items():
        encoder = reader.encoders.get(group)
        names = (
            set()
            if encoder is None
            else {name for feature in encoder.features if isinstance(feature, TextFeature) for name in feature.names}
        )
        parts.append([name in names for name in reader.columns.get(group, ())] or [False] * width)
    return np.array([mark for part in parts for mark in part], bool)
