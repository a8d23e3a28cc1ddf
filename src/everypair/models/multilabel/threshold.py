"""One threshold τ for all labels: label l is predicted for row i where s_il > τ.

It is found on rows that the scores were not learnt from, by the best micro-averaged F1 = 2·TP / (2·TP + FP + FN) over
their known entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.labels import Labels
from everypair.types import Array

FEWEST_ROWS = 50  # with fewer, nothing is held out and the natural threshold is taken
HELD_OUT_SHARE = 10  # every tenth row,
MOST_HELD_OUT = 2**24  # but at most so many scores


def held_out_rows(labels: Labels) -> NDArray[np.bool_] | None:
    """Mark the rows to find a threshold on; ``None`` where there are too few, or no positive in or outside of them.

    The same data give the same rows, whatever ``random_state``.
    """
    n = labels.shape[0]
    order = np.random.default_rng(0).permutation(n)
    held = np.zeros(n, bool)
    held[order[: min(n // HELD_OUT_SHARE, max(MOST_HELD_OUT // labels.shape[1], 1))]] = True
    if n < FEWEST_ROWS or not labels.rows(~held).positives.nnz or not labels.rows(held).positives.nnz:
        return None
    return held


def best_threshold(scores: Array, labels: Labels, sample_weight: Array | None = None) -> float:
    """Return the threshold τ with the greatest micro F1 of ``scores > τ`` over known entries, the highest of equals.

    Only a cut below a positive's score can be best, before the next score: any other admits more negatives for the same
    positives. It is half-way to that next score, as a cut close to a positive would lose the next one like it.

    >>> best_threshold(np.array([[0.9, 0.2], [0.4, 0.7]]), Labels.from_y([[1, 0], [1, 0]])).__round__(3)
    0.3
    """
    weights = np.ones(len(scores)) if sample_weight is None else sample_weight
    row_of_positive = np.repeat(np.arange(len(scores)), np.diff(labels.positives.indptr))
    of_positives = scores[row_of_positive, labels.positives.indices]
    cuts, place = np.unique(of_positives, return_inverse=True)
    true_positives = np.bincount(place, weights[row_of_positive], len(cuts))[::-1].cumsum()[::-1]
    admitted = np.zeros(len(cuts) + 1)  # weight of known entries by the number of cuts they reach
    for row, weight in enumerate(weights):
        known = _known_scores(scores, labels, row)
        np.add.at(admitted, np.searchsorted(cuts, known, side="right"), weight)
    predicted = admitted[:0:-1].cumsum()[::-1]  # weight of known entries at or above each cut
    f1 = 2 * true_positives / (predicted + true_positives[0])
    cut = cuts[len(cuts) - 1 - int(np.argmax(f1[::-1]))]
    below = max(float(_largest_below(_known_scores(scores, labels, row), cut)) for row in range(len(scores)))
    if not np.isfinite(below):  # every known entry is predicted: so is what comes a little lower
        below = float(cut) - max(float(scores.max() - cut), abs(float(cut)), 1.0)
    closest = float(np.nextafter(cut, -np.inf, dtype=scores.dtype))
    return min(float(scores.dtype.type(below + (float(cut) - below) / 2)), closest)


def _known_scores(scores: Array, labels: Labels, row: int) -> Array:
    known = labels.known
    return scores[row] if known is None else scores[row, known.indices[known.indptr[row] : known.indptr[row + 1]]]


def _largest_below(scores: Array, cut: Any) -> Any:
    return scores.max(initial=-np.inf, where=scores < cut)
