"""Probabilities from scores of rows that the scores were not learnt from: the share of positives at each score.

Scores fall into bins of equal width; a bin's share is (positives + π) / (entries + 1), π the share over all, and shares
that fall are pooled until none does (isotonic regression). Between the mean scores of two bins shares are interpolated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from everypair.data.labels import Labels
from everypair.models.codec import storable
from everypair.models.state_checks import check_array
from everypair.types import Array

BINS = 1024


@storable
@dataclass(frozen=True)
class Calibration:
    """``shares`` of positives at ``scores``, both ascending.

    >>> curve = Calibration(np.array([0.0, 1.0]), np.array([0.1, 0.9]))
    >>> curve(np.array([[-1.0, 0.5, 2.0]])).round(3).tolist()
    [[0.1, 0.5, 0.9]]
    """

    scores: Array
    shares: Array

    def __post_init__(self) -> None:
        check_array("scores", self.scores, None)
        check_array("shares", self.shares, len(self.scores))

    @classmethod
    def of(cls, scores: Array, labels: Labels, sample_weight: Array | None = None) -> Self:
        """Learn from the scores of rows, their labels (the known ones) and the rows' weights.

        >>> Calibration.of(np.array([[0.0], [0.0], [1.0]]), Labels.from_y([[0], [0], [1]])).shares.round(2).tolist()
        [0.11, 0.67]
        """
        weights = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        edges = np.linspace(float(scores.min()), float(scores.max()), BINS + 1)
        if labels.known is None:
            known, mass = scores.ravel(), np.repeat(weights, scores.shape[1])
        else:
            known, mass = _stored(scores, labels.known, weights)
        places = _bins(known, edges)
        entries = np.bincount(places, mass, BINS)
        centers = np.bincount(places, mass * known, BINS)
        found, of_positives = _stored(scores, labels.positives, weights)
        positives = np.bincount(_bins(found, edges), of_positives, BINS)
        full = entries > 0
        prior = positives.sum() / entries.sum()
        smooth = (positives[full] + prior) / (entries[full] + 1)
        return cls(*_corners(centers[full] / entries[full], _pooled(smooth, entries[full] + 1)))

    def __call__(self, scores: Array) -> Array:
        """Probabilities, which never fall where scores rise."""
        if len(self.scores) == 1:
            return np.full(scores.shape, self.shares[0])
        left = np.clip(np.searchsorted(self.scores, scores, side="right") - 1, 0, len(self.scores) - 2)
        low, high = self.shares[left], self.shares[left + 1]
        way = (scores - self.scores[left]) / (self.scores[left + 1] - self.scores[left])
        return np.asarray(np.clip(low + way * (high - low), low, high))


def _stored(scores: Array, matrix: Any, weights: Array) -> tuple[Array, Array]:
    """Scores of stored entries, and the weights of their rows."""
    rows = np.repeat(np.arange(len(scores)), np.diff(matrix.indptr))
    return scores[rows, matrix.indices], weights[rows]


def _bins(scores: Array, edges: Array) -> Array:
    width = (edges[-1] - edges[0]) or 1.0
    return np.clip(((scores - edges[0]) * (BINS / width)).astype(np.int64), 0, BINS - 1)


def _pooled(shares: Array, weights: Array) -> Array:
    from sklearn.isotonic import isotonic_regression  # slow to import

    return np.asarray(isotonic_regression(shares, sample_weight=weights))


def _corners(scores: Array, shares: Array) -> tuple[Array, Array]:
    """The first and last point of every level."""
    same = np.diff(shares) == 0
    inside = np.concatenate([[False], same]) & np.concatenate([same, [False]])
    return scores[~inside], shares[~inside]
