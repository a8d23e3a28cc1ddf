"""What KernelLabels learns: two kernel ridge regressions, the second of which also compares what the first predicts.

    k₁(x, x') = exp(−γ‖x − x'‖²) + c,      s₁ = k₁(x, ·) A₁,      p = max(s₁, 0) to unit length
    k₂ = k₁(x, x') exp(−‖p − p'‖²),        s₂ = k₂(x, ·) A₂,      s = ½ (s₁ + s₂)

x are rows in a learned metric. The p' of training rows come from scores that each row was left out of: that is what the
p of a new row is like.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from everypair.features.row_scale import RowScale
from everypair.models.codec import storable
from everypair.models.multilabel.calibration import Calibration
from everypair.models.state_checks import check_array
from everypair.solvers.kernel_ridge.points import Points
from everypair.solvers.loop import Status
from everypair.types import Array

CONSTANT = 0.1  # c, the prior variance of what a label has in common over all rows


@dataclass(frozen=True)
class StageRows:
    """Rows as a stage compares them: by features and, in the second, by predicted labels of unit length.

    >>> rows = StageRows(Points.of(np.eye(2)), 0.5)
    >>> rows.kernel(rows).round(3).tolist()
    [[1.1, 0.468], [0.468, 1.1]]
    """

    features: Points
    gamma: float
    predicted: Points | None = None

    def __getitem__(self, index: Any) -> StageRows:
        predicted = None if self.predicted is None else self.predicted[index]
        return StageRows(self.features[index], self.gamma, predicted)

    def __len__(self) -> int:
        return len(self.features)

    def diagonal(self) -> Array:
        """k(x, x) of every row, in either stage."""
        return np.full(len(self), 1 + CONSTANT)

    def kernel(self, others: StageRows) -> Array:
        """k₁ or, where both sides have predictions, k₂ of these rows with others."""
        values = self.features.rbf(others.features, self.gamma)
        values += CONSTANT
        if self.predicted is not None and others.predicted is not None:
            values *= self.predicted.rbf(others.predicted, 1.0)
        return values


def predicted_labels(scores: Array) -> Array:
    """p: what scores above 0 say of a row's labels, to unit length.

    >>> predicted_labels(np.array([[3.0, 4.0, -1.0], [-1.0, 0.0, 0.0]])).tolist()
    [[0.6, 0.8, 0.0], [0.0, 0.0, 0.0]]
    """
    rows = np.maximum(scores, 0)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1)[:, None])


@storable
@dataclass(frozen=True, kw_only=True)
class KernelStages:
    """Scaled rows that new ones are compared with, A₁, and p and A₂ unless it is stage one alone."""

    scale: RowScale
    rows: Any
    gamma: float
    first: Array
    predicted: Array | None
    second: Array | None
    calibration: Calibration
    metric_exponent: float
    reg: float
    status: Status

    def __post_init__(self) -> None:
        check_array("first", self.first, self.rows.shape[0], None)
        check_array("scale", self.scale.scale, self.rows.shape[1])
        if self.predicted is not None and self.second is not None:
            check_array("predicted", self.predicted, *self.first.shape)
            check_array("second", self.second, *self.first.shape)

    @cached_property
    def compared(self) -> StageRows:
        """The rows, ready to be compared with."""
        predicted = None if self.predicted is None else Points.of(self.predicted)
        return StageRows(Points.of(self.rows), self.gamma, predicted)

    def scores(self, X: Any) -> Array:
        """Scores of rows of features."""
        known = self.compared
        rows = Points.of(self.scale(X, self.first.dtype), like=known.features)
        values = StageRows(rows, self.gamma).kernel(known)
        first = values @ self.first
        if self.second is None or known.predicted is None:
            return np.asarray(first)
        values *= Points.of(predicted_labels(first)).rbf(known.predicted, 1.0)
        second = values @ self.second
        second += first
        second *= 0.5
        return np.asarray(second)
