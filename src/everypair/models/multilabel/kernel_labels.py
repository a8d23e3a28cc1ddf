"""KernelLabels: multi-label classification by kernel ridge regression in a learned metric, in closed form."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from everypair import check
from everypair.features.scaling import check_size
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import MissingLabels, MultiLabelClassifier
from everypair.models.multilabel.kernel_learner import KernelLearner, KernelSettings
from everypair.models.multilabel.scoring import by_blocks
from everypair.models.parameters import checked, estimator, number, or_auto, parameter
from everypair.parallel import resolve_threads
from everypair.progress import Progress
from everypair.training.clock import Clock
from everypair.types import Array


@estimator
class KernelLabels(MissingLabels, MultiLabelClassifier):
    """Scores s = ½ (k₁(x, ·) A₁ + k₂(x, ·) A₂), A = (K + λI)⁻¹ Y, in closed form and without a seed.

    k₁ = exp(−γ‖x − x'‖²) + 0.1 compares rows by features, each as much as a linear model of all labels uses it,
    where that ranks held-out rows better; k₂ also compares the labels that the first stage predicts (of training rows:
    with the row left out). The threshold and the probabilities come from scores of rows that were left out, which the
    factorised system gives for nothing.

    Training takes n² numbers of memory and about n³ multiplications, and a row to be scored is compared with all n: for
    up to some ten thousand rows, and lists that should be as good as can be.

    Attributes
    ----------
    reg_, metric_exponent_ : λ and e, as they were used.
    status_ : whether both stages were learnt; where ``time_limit`` or Ctrl-C came in between it is the first alone.
    classes_, n_labels_, threshold_, n_features_in_, feature_names_in_ : as in every multi-label classifier here.

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 20, axis=0)  # three kinds of rows, each with two labels of six
    >>> Y = np.repeat(np.eye(6, dtype=int)[:3] + np.eye(6, dtype=int)[3:], 20, axis=0)
    >>> model = KernelLabels().fit(X, Y)
    >>> model.predict(X[[0, 59]]).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]
    >>> model.predict_proba(X[[0]]).round(1).tolist()
    [[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]]
    """

    gamma: float = parameter(
        1.0, "γ: how fast rows become unlike with their distance; rows have about unit length.", number(above=0)
    )
    metric_exponent: float | str = parameter(
        "auto",
        "e: feature f counts ‖W_f‖^e, W the ridge regression of all labels on features; 0 compares features as they"
        ' are, scaled alike. ``"auto"`` takes 0, ½ or 1, whichever ranks rows best that the metric has not seen.',
        or_auto(number(least=0)),
    )
    reg: float | str = parameter(
        "auto",
        'λ; ``"auto"`` is that of several which ranks held-out rows best (nDCG@5).',
        or_auto(number(above=0)),
    )
    landmarks: int | str = parameter(
        "auto",
        'compare rows with so many of them only, drawn where those before say least. ``"auto"``: with all where their'
        " kernel matrix has room in a GiB (16,384 rows in single precision), with 1,024 to 4,096 where it has not.",
        or_auto(check.integer),
    )
    threshold: float | str = parameter(
        "auto",
        '``predict`` says 1 where the score exceeds it: a number, or ``"auto"`` for the best micro F1 of rows that were'
        " left out.",
        or_auto(check.any_number),
    )
    time_limit: float | None = parameter(
        None, "leave the second stage out where it would end after so many seconds.", check.seconds
    )
    verbose: bool = parameter(False, "show progress.", check.flag)
    dtype: str = parameter("float32", '"float32" or "float64".', lambda name, value: check.float_dtype(value))

    reg_ = FittedAttribute("model")
    metric_exponent_ = FittedAttribute("model")
    status_ = FittedAttribute("model")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, mask: Any = None, client: Any = None) -> Self:
        """Learn from features X (n × d) and labels y (n × L of zeros and ones), both sparse or dense.

        Labels have names where y is a data frame with named columns, or lists of strings, ``[["war", "love"], []]``.
        ``sample_weight`` weighs rows; a row of weight 0 is as good as left out. ``mask`` (n × L, true where y is
        known) needs ``unlabeled="missing"``: labels that are not known are filled in with what the model says of them,
        round by round. Ctrl-C in the second stage keeps the first and warns.

        ``client``: it is learnt on one machine, so that a Dask client is refused.
        """
        if client is not None:
            raise ValueError(
                "KernelLabels learns on one machine, where landmarks keep it small: leave client out, or use "
                "MultiLabelMF, which learns on a cluster."
            )
        parameters = checked(self)
        clock = Clock.start(parameters.time_limit)
        rows, form = self._read(parameters, X, y, sample_weight, mask)
        with Progress(3, "steps", quiet=not parameters.verbose) as progress:
            model, threshold = KernelLearner(_settings(parameters), rows, clock, progress).fit()
        return self._keep(model, threshold if parameters.threshold is None else parameters.threshold, form)

    def predict_proba(self, X: Any, *, output: str | None = None) -> Array:
        """Probability of each label, n × L: the share of positives among left-out rows with such a score."""
        form, features, state = self._form(output), self._checked_features(X), self._fitted()
        blocks = by_blocks(state.model, features, state.model.calibration, resolve_threads(self.n_threads))
        return self._as_table(form, X, np.concatenate(blocks))

    def _prepared(self, X: Any) -> Any:
        """As they are: the model scales them itself."""
        check_size(X, "X", np.float64, hint="")
        return X


def _settings(parameters: SimpleNamespace) -> KernelSettings:
    return KernelSettings(
        parameters.gamma,
        parameters.metric_exponent,
        parameters.reg,
        parameters.landmarks,
        parameters.dtype,
        parameters.n_threads,
    )
