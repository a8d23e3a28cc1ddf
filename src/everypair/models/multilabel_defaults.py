"""What ``"auto"`` stands for in MultiLabelMF: the square that negatives get, the rank, and the ridge.

**Negatives.** Under the logistic loss a negative costs log(1 + e^s). At the prior score s₀ = log(π/(1 − π)), π the
share of positives, its slope is π and its curvature π(1 − π), so the square ½ w (ỹ − s)² with

    w = π(1 − π),     ỹ = s₀ − π/w

agrees with it to second order, and every pair can be had at the cost of the positives. For another w the same ỹ still
matches the slope. Where labels are dense (π ≥ 1/10) the positives are no fewer than a tenth of all pairs: the square
saves little there, and every negative has the loss itself.

**Ridge.** The gradient of the loss by a score has variance π(1 − π), so what m rows say about a direction is uncertain
by √(mπ(1 − π)): the ridge is a multiple of that. How large a multiple depends on how much the features tell about the
labels, which no shape says; it is the one of four that ranks held-out rows best (nDCG).
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
REG = {"squared": 0.06}  # of √(mπ(1 − π)), by loss
REG_OTHERS = 0.25
MULTIPLES = (0.5, 1.0, 2.0, 4.0)
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


def auto_negative_weight(share: float, loss: Loss) -> float:
    """Curvature of the logistic loss at the prior, π(1 − π); 1 for losses whose curvature at a negative is 1."""
    return share * (1 - share) if loss.name == "logistic" else 1.0


def auto_negative_value(share: float, weight: float, loss: Loss) -> float:
    """Where the square must be centred to have the logistic loss's slope at the prior; else the loss's own value.

    >>> from everypair.problem.losses import get_loss
    >>> round(auto_negative_value(0.01, 0.01 * 0.99, get_loss("logistic")), 3)
    -5.605
    """
    if loss.name != "logistic" or weight == 0:
        return loss.negative_value
    return float(np.log(share / (1 - share)) - share / weight)


def reg_unit(share: float, n_rows: float, known_share: float, loss: Loss) -> float:
    """The ridge that multiples are taken of: c √(m π(1 − π)), m the rows by which a label is known on average.

    >>> from everypair.problem.losses import get_loss
    >>> round(reg_unit(0.015, 4880, 1.0, get_loss("logistic")), 2)
    2.12
    """
    return REG.get(loss.name, REG_OTHERS) * float(np.sqrt(n_rows * known_share * share * (1 - share)))


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


def best_multiple(labels: Labels, score_path: Callable[[Rows, Rows], Iterator[Array]]) -> float:
    """Return the multiple of :func:`reg_unit` that ranks held-out rows best, the larger of equals.

    ``score_path(kept, held)`` yields the scores of held-out rows for each of ``MULTIPLES`` in turn.
    """
    quality, rows = np.zeros(len(MULTIPLES)), 0
    if labels.shape[0] >= FEWEST_ROWS:
        for kept, held in held_out(labels):
            truth = labels.rows(held)
            counted = int(np.count_nonzero(np.diff(truth.positives.indptr)))
            quality += [counted * ranking_quality(scores, truth) for scores in score_path(kept, held)]
            rows += counted
    if not rows:
        return 1.0
    return float(MULTIPLES[len(MULTIPLES) - 1 - int(np.argmax(quality[::-1]))])


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
    length = labels.shape[1]
    return multilabel_metrics(scores, labels.positives, [length], n_threads=1)[f"ndcg@{length}"]
