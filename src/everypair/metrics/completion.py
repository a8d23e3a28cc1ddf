"""How good a completed matrix is at entries that were not shown to it: values, and ranking of binary data.

Over the entries E that count, with predictions s and truth y,

    mae   mean |s − y|          rmse  (mean (s − y)²)^½          r2  1 − Σ(s − y)² / Σ(y − ȳ)²

and where the truth has two values, its greater one being the positives,

    auc                  share of all pairs (positive, other) of E in the right order, ties ½: pooled over rows
    aupr                 Σ (precision × gain of recall) down the pooled list, equal scores at once
    row_auc              auc of the entries of a row, mean over rows with both values
    average_precision    mean over rows with a positive of the mean precision at its positives, ties by ascending column
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.metrics.per_row import WHOLE_LIST, average_rows
from everypair.metrics.ranking import rank_dense

Values = NDArray[np.float64]


def entry_metrics(predicted: Any, truth: Any, levels: tuple[float, float] | None = None) -> dict[str, float]:
    """Measure predictions of single entries: mae, rmse, r2 or, for binary data with these ``levels``, auc and aupr.

    >>> entry_metrics([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])["mae"]
    0.3333333333333333
    >>> entry_metrics([0.9, 0.2, 0.5], [1, 0, 0], levels=(0, 1))
    {'auc': 1.0, 'aupr': 1.0}
    """
    s, y = _checked_entries(predicted, truth)
    if levels is None:
        gap = s - y
        spread = float(np.sum((y - y.mean()) ** 2))
        r2 = 1 - float(gap @ gap) / spread if spread > 0 else float("nan")
        return {"mae": float(np.abs(gap).mean()), "rmse": float(np.sqrt(np.mean(gap**2))), "r2": r2}
    positive = y > (levels[0] + levels[1]) / 2
    if positive.all() or not positive.any():
        return {"auc": float("nan"), "aupr": float("nan")}
    from sklearn.metrics import average_precision_score, roc_auc_score  # slow to import, and seldom needed

    return {"auc": float(roc_auc_score(positive, s)), "aupr": float(average_precision_score(positive, s))}


def completion_metrics(predicted: Any, truth: Any, where: Any = None) -> dict[str, float]:
    """Measure a completed matrix against the true one at the entries ``where`` (all by default).

    Both are dense, n × m; ``where`` is a boolean matrix, such as the negated mask of observed entries. Returns ``mae``,
    ``rmse`` and ``r2``, and for a truth of two values also ``auc``, ``aupr``, ``row_auc`` and ``average_precision``.

    >>> found = completion_metrics([[0.9, 0.1], [0.4, 0.6]], [[1, 0], [1, 0]])
    >>> found["auc"], found["row_auc"], round(found["mae"], 2)
    (0.75, 0.5, 0.35)
    """
    s, y = np.asarray(predicted, np.float64), np.asarray(truth, np.float64)
    if s.ndim != 2 or s.shape != y.shape:
        raise ValueError(f"predicted and truth must be matrices of one shape, got {s.shape} and {y.shape}.")
    counted = np.ones(y.shape, bool) if where is None else np.asarray(where)
    if counted.shape != y.shape or counted.dtype != bool:
        raise ValueError(f"where must be a boolean matrix of the shape {y.shape}, True where an entry counts.")
    if not counted.any():
        raise ValueError("where is False everywhere: no entry counts.")
    result = entry_metrics(s[counted], y[counted])
    values = np.unique(y[counted])
    if len(values) != 2:
        return result
    positive = counted & (y == values[1])
    ranking = rank_dense(s, sp.csr_array(positive), sp.csr_array(~counted))
    return {
        **result,
        **entry_metrics(s[counted], y[counted], (float(values[0]), float(values[1]))),
        "row_auc": average_rows(WHOLE_LIST["auc"](ranking), "test"),
        "average_precision": average_rows(WHOLE_LIST["map"](ranking), "test"),
    }


def _checked_entries(predicted: Any, truth: Any) -> tuple[Values, Values]:
    s, y = np.asarray(predicted, np.float64), np.asarray(truth, np.float64)
    if s.ndim != 1 or s.shape != y.shape or not s.size:
        raise ValueError(f"predicted and truth must be arrays of one length, got shapes {s.shape} and {y.shape}.")
    if not (np.isfinite(s).all() and np.isfinite(y).all()):
        raise ValueError("predicted or truth has NaN or infinite values: choose entries that are known.")
    return s, y
