"""What ``"auto"`` stands for in MultiLabelMF: the square that negatives get, the rank, and the ridge.

**Negatives.** Under the logistic loss a negative costs log(1 + e^s). A label that a share π_l of the rows has needs a
score near log(π_l/(1 − π_l)), where the loss has curvature π_l(1 − π_l). The square ½ w (ỹ − s)² with

    w = mean of π_l(1 − π_l) over positives,     ỹ = s₀ − π/w,   s₀ = log(π/(1 − π)),   π the share of all positives

has that curvature, and the loss's slope π at s₀, at the cost of the positives alone. Where labels are dense (π ≥ 1/10)
there are fewer than ten pairs for each positive: the square saves little, and every negative has the loss itself.

**Ridge.** The gradient of the loss by a score has variance π(1 − π), so what m rows say about a direction is uncertain
by √(mπ(1 − π)): the ridge is a multiple of that. How large a multiple depends on how much the features tell about the
labels, which no shape says: :mod:`everypair.models.multilabel.ridge_search` finds it on held-out rows.
``experiments/leml/defaults.py`` compares the outcome with one-vs-rest logistic regression.
"""

from __future__ import annotations

import numpy as np

from everypair.problem.losses import Loss

MOST_RANK = 100
DENSE_LABELS = 0.1


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
