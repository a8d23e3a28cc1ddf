"""What ``"auto"`` stands for in MultiLabelMF: the square that negatives get, the rank, and the ridge.

**Negatives.** Under the logistic loss a negative costs log(1 + e^s). A label that a share π_l of the rows has needs a
score near log(π_l/(1 − π_l)), where the loss has curvature π_l(1 − π_l). The square ½ w (ỹ − s)² with

    w = mean of π_l(1 − π_l) over positives,     ỹ = s₀ − π/w,   s₀ = log(π/(1 − π)),   π the share of all positives

has that curvature, and the loss's slope π at s₀, at the cost of the positives alone. Where labels are dense (π ≥ 1/10)
there are fewer than ten pairs for each positive: the square saves little, and every negative has the loss itself.

**Ridge.** The gradient of the loss by a score has variance π(1 − π), so what m rows say about a direction is uncertain
by √(mπ(1 − π)): the ridge is a multiple of that. How large a multiple depends on how much the features tell about the
labels, which no shape says: it is the one of ½, 1, 2 and 4 that ranks held-out rows best (nDCG@5), or one beyond, as
long as that ranks better still. With it, 2w is tried for w. ``experiments/leml/defaults.py`` compares
the outcome with one-vs-rest logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.labels import Labels
from everypair.metrics.multilabel import multilabel_metrics
from everypair.problem.losses import Loss

Array = NDArray[Any]
Rows = NDArray[np.int64]
MOST_RANK = 100
DENSE_LABELS = 0.1
MULTIPLES = (0.5, 1.0, 2.0, 4.0)
SMALLER, LARGER = 0.25, 2.0  # steps beyond these,
SMALLEST, LARGEST = 2.0**-11, 2.0**6  # and how far they go
TOP = 5  # labels of a row whose ranking counts
TIE = 0.001  # a larger ridge is taken if it ranks worse by less than this
FEWEST_ROWS = 50  # with fewer, nothing is held out
FOLDED_ROWS = 2000  # with fewer, every row is held out once
FOLDS = 3
HELD_OUT_SHARE = 5  # otherwise every fifth row,
MOST_ROWS = 20_000  # of at most so many,
MOST_SCORES = 2**22  # and at most so many scores


def auto_rank(features: tuple[int, int], n_labels: int) -> int:
    """At most 100, and no more than the scores of these (rows, features) can have.

    >>> auto_rank((4880, 1836), 159), auto_rank((1211, 294), 6)
    (100, 6)
    """
    return min(MOST_RANK, *features, n_labels)


def auto_negative_weight(curvature: float, loss: Loss) -> float:
    """Curvature of the logistic loss at the prior; 1 for losses whose curvature at a negative is 1."""
    return curvature if loss.probabilistic else 1.0


def auto_negative_value(share: float, weight: float, loss: Loss) -> float:
    """Where the square must be centred to have the logistic loss's slope at the prior; else the loss's own value.

    >>> from everypair.problem.losses import get_loss
    >>> round(auto_negative_value(0.01, 0.01 * 0.99, get_loss("logistic")), 3)
    -5.605
    """
    if not loss.probabilistic or weight == 0:
        return loss.negative_value
    return float(np.log(share / (1 - share)) - share / weight)


def reg_unit(share: float, n_rows: float, known_share: float, loss: Loss) -> float:
    """The ridge that multiples are taken of: c √(m π(1 − π)), m the rows by which a label is known on average.

    >>> from everypair.problem.losses import get_loss
    >>> round(reg_unit(0.015, 4880, 1.0, get_loss("logistic")), 2)
    2.12
    """
    return loss.constants.label_reg * float(np.sqrt(n_rows * known_share * share * (1 - share)))


def held_out(labels: Labels) -> Iterator[tuple[Rows, Rows]]:
    """Yield (rows to learn from, rows to rank): all rows in three folds, or a fifth of them once where there are many.

    The same data give the same rows, whatever ``random_state``.
    """
    n, n_labels = labels.shape
    order = np.random.default_rng(0).permutation(n)[:MOST_ROWS]
    if n < FOLDED_ROWS:
        parts = [order[fold::FOLDS] for fold in range(FOLDS)]
    else:
        parts = [order[: max(1, min(len(order) // HELD_OUT_SHARE, MOST_SCORES // n_labels))]]
    for held in parts:
        kept = np.setdiff1d(order, held)
        if labels.rows(kept).positives.nnz and labels.rows(held).positives.nnz:
            yield kept, np.sort(held)


def held_out_quality(labels: Labels, score_path: Callable[[Rows, Rows], Iterator[Array]]) -> list[float] | None:
    """Return how well each candidate ranks held-out rows, or ``None`` where there are too few rows to hold any out.

    ``score_path(kept, held)`` learns from rows and yields each candidate's scores of others, one after the other.
    """
    quality: Any = 0.0
    rows = 0
    if labels.shape[0] >= FEWEST_ROWS:
        for kept, held in held_out(labels):
            truth = labels.rows(held)
            counted = int(np.count_nonzero(np.diff(truth.positives.indptr)))
            quality = quality + np.array([counted * ranking_quality(s, truth) for s in score_path(kept, held)])
            rows += counted
    return list(quality / rows) if rows else None


def best_multiple(measure: Callable[[list[float]], list[float] | None]) -> float | None:
    """Return the multiple with the best ``measure``, the largest of those that nearly equal it; ``None`` without rows.

    >>> best_multiple(lambda multiples: [-abs(multiple - 0.03) for multiple in multiples])
    0.03125
    """
    first = measure(list(MULTIPLES))
    if first is None:
        return None
    near = [number for number, quality in enumerate(first) if quality >= max(first) - TIE]
    best, quality = MULTIPLES[near[-1]], first[near[-1]]
    for factor, end in ((SMALLER, MULTIPLES[0]), (LARGER, MULTIPLES[-1])):
        if best != end:
            continue
        while SMALLEST <= factor * best <= LARGEST:
            (beyond,) = measure([factor * best]) or [quality]
            if beyond <= quality:
                break
            best, quality = factor * best, beyond
    return best


def ranking_quality(scores: Array, labels: Labels) -> float:
    """Return nDCG over the whole ranking of known labels, mean over rows with a label.

    >>> ranking_quality(np.array([[0.3, 0.2], [0.3, 0.2]]), Labels.from_y([[1, 0], [0, 1]])).__round__(3)
    0.815
    """
    if labels.known is not None:
        hidden = np.full_like(scores, -np.inf)
        rows = np.repeat(np.arange(len(scores)), np.diff(labels.known.indptr))
        hidden[rows, labels.known.indices] = scores[rows, labels.known.indices]
        scores = hidden
    length = min(TOP, labels.shape[1])
    return multilabel_metrics(scores, labels.positives, [length], n_threads=1)[f"ndcg@{length}"]
