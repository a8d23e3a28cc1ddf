"""How KernelLabels learns: metric and ridge → stage one → what it says of rows left out → stage two.

    A = (K + λC⁻¹)⁻¹ Y,     L = Y − A / diag((K + λC⁻¹)⁻¹)

The order of rows is drawn once, the same for the same number of rows; the last of them give the threshold and the
calibration by the mean of both stages' left-out scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from everypair.data.labels import Labels
from everypair.features.learned_metric import learned_scale
from everypair.features.ridge_weights import choose_ridge
from everypair.features.row_scale import RowScale
from everypair.models.multilabel import kernel_choice
from everypair.models.multilabel.base import LabelledRows
from everypair.models.multilabel.calibration import Calibration
from everypair.models.multilabel.kernel_choice import CrossFit, KernelChoice, targets
from everypair.models.multilabel.kernel_stages import KernelStages, StageRows, predicted_labels
from everypair.models.multilabel.kernel_systems import ExactSystem, LandmarkSystem, StageSystem, solved
from everypair.models.multilabel.threshold import best_threshold
from everypair.progress import Progress
from everypair.solvers.kernel_ridge.points import Points
from everypair.solvers.loop import Status
from everypair.training.clock import Clock
from everypair.training.interruption import warn_interrupted
from everypair.types import Array

CUT_SCORES = 2**21  # scores that the threshold and the calibration are learnt on, about
CUT_ROWS = 1500  # and all rows where they are no more
BUDGET = 2**30  # bytes of a kernel matrix, or of one with landmarks
MOST_LANDMARKS, FEWEST_LANDMARKS = 4096, 1024  # where the budget decides


@dataclass(frozen=True)
class KernelSettings:
    """Checked parameters; ``None`` leaves e, λ or the number of landmarks to be chosen."""

    gamma: float
    metric_exponent: float | None
    reg: float | None
    landmarks: int | None
    dtype: np.dtype[Any]
    n_threads: int


class KernelLearner:
    """Learns from rows within a time limit and says how far it has come."""

    def __init__(self, settings: KernelSettings, rows: LabelledRows, clock: Clock, progress: Progress) -> None:
        self.settings, self.clock, self.progress = settings, clock, progress
        n = rows.labels.shape[0]
        self.rows = rows.take(np.random.default_rng(0).permutation(n))
        weights = np.ones(n) if self.rows.weights is None else self.rows.weights
        self.inverse_weights = (1 / weights).astype(settings.dtype)
        self.count = landmarks(n, settings)
        self.cut = self._first_to_cut()

    def fit(self) -> tuple[KernelStages, float]:
        """Return what is learnt, and the threshold."""
        scale, (exponent, reg) = self.metric()
        self.progress.reach(1, f"metric with exponent {exponent:g}, ridge {reg:g}")
        features = scale(self.rows.X, self.settings.dtype)
        compared = StageRows(Points.of(features), self.settings.gamma)
        before = self.clock.left()
        Y, unknown = targets(self.rows.labels, self.settings.dtype)
        system = self.system(compared, reg, self.count)
        solution, filled = solved(system, Y, unknown)
        left_out = system.left_out(filled, solution, 0)
        self.progress.reach(2, "stage one")
        kept: Any = system.factor.chosen if isinstance(system, LandmarkSystem) else slice(None)
        model = KernelStages(
            scale=scale, rows=features[kept], gamma=compared.gamma, first=system.coefficients(solution), predicted=None,
            second=None, metric_exponent=exponent, reg=reg, calibration=Calibration(np.zeros(1), np.zeros(1)),
            status=Status.SOLVED,
        )  # fmt: skip
        scores = left_out[self.cut :]
        if before - self.clock.left() > self.clock.left():  # stage two takes as long
            return self.finished(replace(model, status=Status.TIME_LIMIT), scores)
        del system  # its matrix is as large as the next one's
        predicted = predicted_labels(left_out)
        compared = replace(compared, predicted=Points.of(predicted))
        try:
            system = self.system(compared, reg, None if self.count is None else kept)
            solution, filled = solved(system, filled, unknown)
            second, again = system.coefficients(solution), system.left_out(filled, solution, self.cut)
        except KeyboardInterrupt:
            warn_interrupted("the model is its first stage alone.")
            return self.finished(replace(model, status=Status.INTERRUPTED), scores)
        self.progress.reach(3, "stage two")
        return self.finished(replace(model, predicted=predicted[kept], second=second), (scores + again) / 2)

    def system(self, compared: StageRows, reg: float, chosen: Any) -> StageSystem:
        """The factorised system of a stage, exact or through landmarks."""
        if chosen is None:
            return ExactSystem.of(compared, reg, self.inverse_weights, self.settings.n_threads)
        return LandmarkSystem.of(compared, reg, self.inverse_weights, chosen, self.settings.n_threads)

    def metric(self) -> tuple[RowScale, KernelChoice]:
        """How rows are scaled, with the exponent that was chosen, and the choice."""
        (X, labels, weights), settings = self.rows, self.settings
        plain = RowScale.of(X, robust=True, sample_weight=weights)
        A, T = plain(X, settings.dtype), labels.positives.astype(settings.dtype)
        exponents = kernel_choice.EXPONENTS if settings.metric_exponent is None else (settings.metric_exponent,)
        regs = kernel_choice.RIDGES if settings.reg is None else (settings.reg,)
        metric_ridge = choose_ridge(A, T, weights, most_rows=kernel_choice.METRIC_ROWS) if any(exponents) else 1.0
        crossed = CrossFit(self.rows, plain, metric_ridge, settings.gamma, settings.dtype, settings.n_threads)
        choice = crossed.best(exponents, regs)
        return learned_scale(plain, A, T, metric_ridge, choice.exponent, weights), choice

    def finished(self, model: KernelStages, scores: Array) -> tuple[KernelStages, float]:
        """The model with its calibration, and the threshold, from scores of the last rows, each left out."""
        labels, weights = self._last_labels(self.cut), self.rows.weights
        weights = None if weights is None else weights[self.cut :]
        calibration = Calibration.of(scores, labels, weights)
        return replace(model, calibration=calibration), best_threshold(scores, labels, weights)

    def _first_to_cut(self) -> int:
        """Where the rows begin that the threshold is learnt on: all of them where few are positive."""
        n, n_labels = self.rows.labels.shape
        count = max(min(CUT_SCORES // n_labels, n // 3), min(CUT_ROWS, n))
        return n - count if self._last_labels(n - count).positives.nnz else 0

    def _last_labels(self, start: int) -> Labels:
        return self.rows.labels.rows(np.arange(start, self.rows.labels.shape[0]))


def landmarks(n: int, settings: KernelSettings) -> int | None:
    """How many landmarks, ``None`` for the exact system."""
    if settings.landmarks is not None:
        return settings.landmarks if settings.landmarks < n else None
    room = BUDGET // settings.dtype.itemsize
    return None if n * n <= room else max(FEWEST_LANDMARKS, min(MOST_LANDMARKS, room // n))
