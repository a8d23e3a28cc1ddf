"""MultiLabelMF: multi-label learning with a linear model of low rank, every label counting or only the known ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from everypair import check
from everypair.data.ids import Ids
from everypair.data.label_names import check_rows_together, named_labels
from everypair.data.labels import Labels
from everypair.features.nystrom import KernelMap
from everypair.features.preparation import Preparation
from everypair.features.scaling import check_size
from everypair.metrics.multilabel import multilabel_metrics
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelForm, LabelledRows, LinearClassifier, MissingLabels
from everypair.models.multilabel.learner import LabelPlace, LabelWatch, Learner, RowsHere
from everypair.models.multilabel.parameters import SOLVERS, Kernel, LabelSettings, checked_label_weight
from everypair.models.multilabel.problem import LabelProblem
from everypair.models.parameters import Training, checked, estimator, number, one_of, or_auto, parameter
from everypair.problem.layout import LEFT
from everypair.problem.losses import LOSSES, Loss, get_loss
from everypair.solvers.loop import Callback, checked_callbacks
from everypair.solvers.state import Factors
from everypair.training.train import check_keeper
from everypair.types import Array
from everypair.words import listed


@estimator
class MultiLabelMF(Training, MissingLabels, LinearClassifier):
    """Scores s_il = x_i W · h_l of rank k: F = Σ_Ω ℓ(y, s) + ½ w Σ_{∉Ω} (ỹ − s)² + ½ λ (‖W‖² + ‖H‖²).

    Attributes
    ----------
    feature_weights_ : W (d × k), the intercept's row last; a row per landmark with a kernel.
    label_factors_ : H (L × k).
    rank_, reg_, negative_loss_, negative_weight_, negative_value_ : what was used.
    history_, objective_, status_, n_iter_ : one dict per sweep, the last objective, why training stopped, sweeps.
    classes_, n_labels_, threshold_, n_features_in_, feature_names_in_ : as in every multi-label classifier here.

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 20, axis=0)  # three kinds of rows, each with two labels of six
    >>> Y = np.repeat(np.eye(6, dtype=int)[:3] + np.eye(6, dtype=int)[3:], 20, axis=0)
    >>> model = MultiLabelMF(random_state=0).fit(X, Y)
    >>> model.predict(X[[0, 59]]).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]
    >>> labels, scores = model.predict_topk(X[[0]], k=2)
    >>> sorted(labels[0].tolist())
    [0, 3]
    """

    rank: int | str = parameter(
        "auto", 'number of factors k; ``"auto"`` is the number of labels, at most 100.', or_auto(check.integer)
    )
    loss: str | Loss = parameter(
        "logistic",
        f"{listed(LOSSES, 9)} or a :class:`~everypair.problem.losses.Loss`.",
        lambda name, value: get_loss(value),
    )
    negative_loss: str = parameter(
        "auto",
        '``"squared"``: a negative costs ½ w (ỹ − s)², and a sweep as much as the positives. ``"same"``: it has '
        'the loss itself, and a sweep costs as much as all pairs. ``"auto"``: the first, unless more than a tenth'
        ' of all labels are positive. Known negatives of ``unlabeled="missing"`` always have the loss itself.',
        one_of("auto", "squared", "same"),
    )
    negative_weight: float | str = parameter(
        "auto",
        'w. ``"auto"``, of it and of ``negative_value``: under the logistic loss the square that agrees with the '
        "loss at the share of positives, see :mod:`everypair.models.multilabel.defaults`; otherwise 1 and the "
        "loss's own target of a negative.",
        or_auto(number(least=0)),
    )
    negative_value: float | str = parameter("auto", "ỹ.", or_auto(number()))
    label_weight: Any = parameter(None, "weights l_j > 0 of the labels, or ``None`` for ones.")
    reg: float | str = parameter(
        "auto",
        'λ, also that of the trace norm of WHᵀ; ``"auto"`` takes the one of several values, set by the size of '
        "the data, that ranks held-out rows best, each learnt with a few sweeps.",
        or_auto(number(least=0)),
    )
    kernel: Any = parameter(
        None,
        '``"rbf"``, ``"linear"``, a function or a :class:`~everypair.models.multilabel.Kernel` with options of '
        "its own: learn from kernel features over landmarks instead of X.",
        Kernel.of,
    )
    solver: str = parameter(
        "auto",
        '``"auto"`` and ``"tron"`` alternate trust-region Newton steps on W and H (momentum between sweeps gained'
        ' nothing in the ten sweeps of a default fit); ``"newton-linesearch"``, ``"gradient"``, ``"nonlinear-cg"`` and'
        ' ``"gradient-region"`` are there to be compared; ``"svd"`` is the closed form of the squared loss with every'
        ' label known and no ridge (``reg=0``, or ``"auto"``, which is 0 there).',
        one_of(*SOLVERS),
    )
    normalize: Any = parameter(
        "auto",
        'scale rows of X to unit length. ``"auto"``: sparse ones; of dense rows features become z-scores, cut at 3'
        " deviations and divided by √d, so that the units they are measured in do not matter.",
        or_auto(check.flag),
    )
    threshold: float | str = parameter(
        "auto",
        '``predict`` says 1 where the score exceeds it: a number, or ``"auto"`` to find it on held-out rows: '
        'those of ``reg="auto"``, otherwise a tenth, which costs one more fit (with fewer than 50 rows: 0, and ½ '
        "for the squared loss).",
        or_auto(check.any_number),
    )
    max_iter: int = parameter(10)
    tol: float = parameter(1e-4)
    patience: int | None = parameter(
        None, "stop after so many sweeps without a better nDCG@5 of the validation rows.", check.patience
    )
    time_limit: float | None = parameter(
        None,
        "stop after so many seconds, of which the searches of ``reg`` and ``threshold`` take at most a half each "
        "of what is left.",
        check.seconds,
    )

    rank_ = FittedAttribute("model")
    reg_ = FittedAttribute("model")
    negative_loss_ = FittedAttribute("model")
    negative_weight_ = FittedAttribute("model")
    negative_value_ = FittedAttribute("model")
    feature_weights_ = FittedAttribute("model")
    label_factors_ = FittedAttribute("model")
    history_ = FittedAttribute("model")
    objective_ = FittedAttribute("model")
    status_ = FittedAttribute("model")
    n_iter_ = FittedAttribute("model")

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        mask: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
        client: Any = None,
    ) -> Self:
        """Learn from features X (n × d) and labels y (n × L of zeros and ones), both sparse or dense.

        Labels have names where y is a data frame with named columns, or lists of strings, ``[["war", "love"], []]``.
        ``sample_weight`` and ``mask`` are those of every multi-label classifier here. ``validation``, a pair (X, Y) of
        other rows, is measured after each sweep and stops the training if ``patience`` is set. A callback gets a
        :class:`~everypair.solvers.loop.Sweep` and stops the training by returning ``True``. Ctrl-C keeps what was
        learnt and warns; in a search it ends that with the best so far and takes one sweep from there.

        ``client``, a ``distributed.Client`` or a :class:`~everypair.distribute.Cluster`, trains on a Dask cluster: rows
        are cut into shards, W and H come back. ``reg`` and ``threshold`` are found on 20,000 of the rows, here. X may
        then be a folder of Parquet, XC or npz files, each with some of the rows, and y is left out: what
        :func:`~everypair.data.read_multilabel` reads, with its options in ``Cluster(read=…)``.
        """
        parameters = checked(self)
        settings = LabelSettings.of(parameters)
        if settings.rules.patience is not None and validation is None:
            raise ValueError("patience needs validation data: fit(X, Y, validation=(X_other, Y_other)).")
        callbacks = checked_callbacks(callbacks)
        check_keeper(callbacks, sharded=client is not None)
        random, for_threshold = parameters.random_state.spawn(2)
        kernel_map: KernelMap | None = None
        place: LabelPlace
        if isinstance(X, str | os.PathLike):
            _check_files(client, y=y, sample_weight=sample_weight, mask=mask)
            place, form, preparation = self._rows_in_files(X, client, parameters, for_threshold)
            self._check_problem(place.sample, settings)
        else:
            rows, form = self._read(parameters, X, y, sample_weight, mask)
            preparation = Preparation.of(rows.X, parameters.normalize, parameters.fit_intercept, rows.weights)
            rows = rows._replace(X=_sized(preparation(rows.X), settings.dtype))
            problem, kernel_map = _problem(rows, parameters, random)
            self._check_problem(problem, settings)
            place = RowsHere(problem)
            if client is not None:
                from everypair.models.multilabel.clustered import RowsThere

                place = RowsThere.here(client, problem, for_threshold)
        learner = Learner(settings, place)
        watch = LabelWatch(callbacks=callbacks, identity=(self, None))
        if validation is not None:
            other_rows = self._checked_validation(*_pair(validation), form)
            other_rows = (_sized(preparation(other_rows[0]), settings.dtype), other_rows[1])
            validate = _validator(*other_rows, kernel_map, settings.n_threads)
            watch = LabelWatch(validate, callbacks, (self, other_rows))
        learnt, threshold = learner.fit(random, for_threshold, watch)
        return self._keep(replace(learnt, kernel_map=kernel_map, preparation=preparation), threshold, form)

    def _rows_in_files(
        self, folder: Any, client: Any, parameters: SimpleNamespace, random: np.random.Generator
    ) -> tuple[LabelPlace, LabelForm, Preparation]:
        """Rows that workers have read, the form of their labels, and how features were prepared."""
        from everypair.models.multilabel.clustered import RowsThere

        place, columns, preparation = RowsThere.in_files(client, folder, parameters, random)
        self.n_features_in_ = columns.n_features
        self.__dict__.pop("feature_names_in_", None)
        if columns.by_name and columns.feature_names is not None:
            self.feature_names_in_ = np.array(columns.feature_names, object)
        names = None if columns.label_names is None else Ids(columns.label_names)
        return place, LabelForm(columns.n_labels, True, np.dtype(np.int8), names), preparation

    def _check_problem(self, problem: LabelProblem, settings: LabelSettings) -> None:
        n_labels, n_features = problem.labels.shape[1], problem.X.shape[1]
        if settings.rank is not None and settings.rank > max(n_features, n_labels):
            raise ValueError(
                f"rank={settings.rank} is larger than the number of features, {n_features}, and of labels, "
                f"{n_labels}: at most {min(n_features, n_labels)} makes sense."
            )
        problem.check_weights(settings.dtype)

    def _checked_validation(self, X: Any, Y: Any, form: LabelForm) -> tuple[Any, Labels]:
        check_rows_together(X, Y)
        X = self._validated(X)
        truth = Labels.from_y(Y if form.names is None else named_labels(Y, form.names)[0], self.unlabeled)
        if truth.shape != (X.shape[0], form.n_labels):
            raise ValueError(
                f"validation must be (X, Y) with a row of Y for each row of X and {form.n_labels} labels, got Y of "
                f"shape {truth.shape} for {X.shape[0]} rows."
            )
        return X, truth

    def _prepared(self, X: Any) -> Any:
        """As they are: how they are prepared is learnt."""
        return X

    def _checked_features(self, X: Any) -> Any:
        rows, preparation = super()._checked_features(X), vars(self._fitted().model).get("preparation")
        if preparation is None:  # a file from before "auto"
            preparation = Preparation(None, self.normalize is not False, self.fit_intercept)
        return _sized(preparation(rows), self.dtype)

    @available_if(lambda model: get_loss(model.loss).probabilistic)
    def predict_proba(self, X: Any, *, output: str | None = None) -> Array:
        """1 / (1 + e^{−s}), n × L; only for the logistic loss.

        The probability of a label as far as the loss goes: a ridge pulls it to ½, and a ``negative_weight`` or
        ``negative_value`` of one's own shifts it for all labels alike. Calibrate it where numbers matter.
        """
        form = self._form(output)
        return self._as_table(form, X, np.asarray(expit(self.decision_function(X))))


def _sized(features: Any, dtype: Any) -> Any:
    """Features, or refuse those that the model's numbers cannot hold."""
    check_size(features, "X", dtype)
    return features


def _problem(
    rows: LabelledRows, parameters: SimpleNamespace, random: np.random.Generator
) -> tuple[LabelProblem, KernelMap | None]:
    """What is learnt from: rows (or their kernel features), labels and weights."""
    (X, labels, sample_weight), kernel, kernel_map = rows, parameters.kernel, None
    if kernel is not None:
        seed = int(random.integers(2**31))
        kernel_map = KernelMap.fit(
            X, kernel.kind, kernel.landmarks, kernel.gamma, parameters.fit_intercept, seed, kernel.penalty == "rkhs"
        )
        X = kernel_map(X)
    weights = checked_label_weight(parameters.label_weight, labels.shape[1])
    return LabelProblem.of(X, labels, sample_weight, weights), kernel_map


def _validator(
    X: Any, truth: Labels, kernel_map: KernelMap | None, n_threads: int
) -> Callable[[Factors], dict[str, float]]:
    features = X if kernel_map is None else kernel_map(X)

    def validate(state: Factors) -> dict[str, float]:
        W = state.parameters(LEFT)
        scores = np.asarray((features.astype(W.dtype, copy=False) @ W) @ state.right.T)
        measured = multilabel_metrics(scores, truth.positives, n_threads=n_threads)
        return {name: value for name, value in measured.items() if name.startswith(("precision", "ndcg"))}

    return validate


def _pair(validation: Any) -> tuple[Any, Any]:
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise ValueError("validation must be a pair (X, Y) of other rows and their labels.")
    return validation[0], validation[1]


def _check_files(client: Any, **options: Any) -> None:
    """Refuse what files of labelled rows do not go with."""
    if client is None:
        raise ValueError("files of labelled rows are read on a cluster: give client=…, or read_multilabel(path) first.")
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name} belongs to a matrix X: leave it out with files of labelled rows.")
