"""What every multi-label classifier offers: fit(X, Y), scores s_il of row i and label l, top-k, and a cut to 0/1.

A subclass gives one thing, ``_fit``, which returns what it learnt as a frozen value that scores rows; checks, features,
threads, ranking and the threshold live here.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import validate_data

from everypair import check
from everypair.check import as_frame
from everypair.data.ids import Ids
from everypair.data.label_names import check_rows_together, named_labels
from everypair.data.labels import Labels
from everypair.data.named_matrix import row_index
from everypair.features.scaling import check_size, prepare_features
from everypair.kernels.select import select_top
from everypair.models.codec import storable
from everypair.models.estimator import Estimator, FittedAttribute
from everypair.models.multilabel.scoring import LabelModel, all_scores, by_blocks
from everypair.models.multilabel.threshold import best_threshold, held_out_rows
from everypair.models.output import DEFAULT, Output, matrix_table, ranked_table
from everypair.models.parameters import Threads, checked, estimator, one_of, or_auto, parameter
from everypair.models.state_checks import check_count
from everypair.parallel import resolve_threads
from everypair.solvers.loop import Callback
from everypair.types import Array


class LabelledRows(NamedTuple):
    """Prepared features (``csr_array`` or dense, scaled rows and constant column included), labels and row weights."""

    X: Any
    labels: Labels
    weights: NDArray[np.float64] | None

    def take(self, rows: Any) -> LabelledRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return LabelledRows(self.X[rows], self.labels.rows(rows), weights)


class LabelForm(NamedTuple):
    """What labels came as: their number, kind and names; ``predict`` answers so."""

    n_labels: int
    sparse: bool
    dtype: np.dtype[Any]
    names: Ids | None

    @classmethod
    def of(cls, y: Any, names: Ids | None) -> LabelForm:
        """The form of a matrix of labels."""
        dtype = y.dtype if hasattr(y, "dtype") else np.asarray(y).dtype
        n_labels = int(y.shape[1] if hasattr(y, "shape") else np.shape(y)[1])
        return cls(n_labels, sp.issparse(y), np.dtype(dtype), names)


@storable
@dataclass(frozen=True)
class ClassifierState:
    """What was learnt, the labels' number, kind and names, and the threshold."""

    model: Any
    n_labels: int
    threshold: float
    sparse_labels: bool
    label_dtype: np.dtype[Any]
    label_names: Ids | None = None

    def check(self) -> None:
        """Refuse a number of labels that is not that of what was learnt."""
        check_count("n_labels", self.n_labels)
        shapes = [value.shape for value in vars(self.model).values() if isinstance(value, np.ndarray)]
        if self.n_labels != vars(self.model).get("n_labels") and not any(self.n_labels in shape for shape in shapes):
            raise ValueError(f"n_labels cannot be {self.n_labels}: nothing was learnt about so many labels.")

    @property
    def classes(self) -> NDArray[Any]:
        """The labels' names or, without any, their positions 0..L − 1."""
        return np.arange(self.n_labels) if self.label_names is None else self.label_names.values


@estimator
class MissingLabels:
    """What every classifier has that can learn from known labels alone."""

    unlabeled: str = parameter(
        "negative",
        '``"negative"``: whatever is not 1 in Y is a 0. ``"missing"``: only known labels count (stored entries of'
        " a sparse Y, all but NaN of a dense one, or those of ``fit``'s mask).",
        one_of("negative", "missing"),
    )


@estimator
class MultiLabelClassifier(Threads, Output, ClassifierMixin, Estimator):
    """Base of multi-label classifiers in scikit-learn's contract.

    A subclass declares its parameters and implements

    ``_fit(rows, parameters, random, callbacks)``
        Learn from :class:`LabelledRows` with checked parameters; return a :class:`LabelModel`.
    ``_natural_threshold()``
        The cut that the loss itself suggests; ½ unless overridden.
    ``_prepared(X)``
        Checked features as the model reads them.

    Fitted: ``classes_`` (the labels' names where Y has some, else their positions 0..L − 1, as in
    ``OneVsRestClassifier``), ``n_labels_``, ``threshold_``, ``n_features_in_`` and, where X is a data frame,
    ``feature_names_in_``.
    """

    threshold: float | str = parameter(
        "auto",
        '``predict`` says 1 where the score exceeds it: a number, or ``"auto"`` to find it on a held-out tenth of'
        " the rows, which about doubles the time of ``fit`` (with fewer than 50 rows: what the loss suggests).",
        or_auto(check.any_number),
    )

    fitted_class: ClassVar[type] = ClassifierState
    classes_ = FittedAttribute()
    n_labels_ = FittedAttribute()
    threshold_ = FittedAttribute()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, mask: Any = None) -> Self:
        """Learn from features X (n × d) and labels y (n × L of zeros and ones), both sparse or dense.

        Labels have names where y is a data frame with named columns, or lists of strings, ``[["war", "love"], []]``.
        ``sample_weight`` weighs rows; a row of weight 0 is as good as left out. ``mask`` (n × L, true where y is
        known) needs ``unlabeled="missing"``, see ``Labels.from_y``. With ``threshold="auto"`` and at least 50 rows a
        second model is fitted without a tenth of the rows, to find the threshold on them; the model that stays has
        seen all rows.
        """
        return self._fit_all(X, y, sample_weight, mask, ())

    def _fit_all(self, X: Any, y: Any, sample_weight: Any, mask: Any, callbacks: tuple[Callback, ...]) -> Self:
        parameters = checked(self)
        rows, form = self._read(parameters, X, y, sample_weight, mask)
        random: np.random.Generator = vars(parameters).get("random_state", np.random.default_rng())
        for_fit, for_threshold = random.spawn(2)
        threshold = parameters.threshold
        if threshold is None:
            threshold = self._best_threshold(rows, parameters, for_threshold)
        return self._keep(self._fit(rows, parameters, for_fit, callbacks), threshold, form)

    def _read(
        self, parameters: SimpleNamespace, X: Any, y: Any, sample_weight: Any, mask: Any
    ) -> tuple[LabelledRows, LabelForm]:
        """Check data, leave rows of weight 0 out, prepare features."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        unlabeled = vars(parameters).get("unlabeled")
        if mask is not None and unlabeled is None:
            raise ValueError(f"{type(self).__name__} cannot learn from missing labels; BinaryRelevance can.")
        check_rows_together(X, y)
        y, names = named_labels(y)
        if names is not None:
            mask = named_labels(mask, names, "mask")[0]
        X = self._validated(X, reset=True)
        labels = Labels.from_y(y, unlabeled or "negative", mask)
        if labels.shape[0] != X.shape[0]:
            raise ValueError(f"X and Y must have the same rows, got {X.shape[0]} rows of X and {labels.shape[0]} of Y.")
        weights = _checked_weights(sample_weight, X.shape[0])
        if weights is not None and not weights.all():
            counted = weights > 0
            X, labels, weights = X[counted], labels.rows(counted), weights[counted]
            if not labels.positives.nnz:
                raise ValueError(
                    "no row with a positive sample_weight has a positive label: there is nothing to learn."
                )
        return LabelledRows(self._prepared(X), labels, weights), LabelForm.of(y, names)

    def _best_threshold(self, rows: LabelledRows, parameters: SimpleNamespace, random: np.random.Generator) -> float:
        """Learn without a tenth of the rows and return the threshold with the best micro F1 on them."""
        held = held_out_rows(rows.labels)
        if held is None:
            return self._natural_threshold()
        model, others = self._fit(rows.take(~held), parameters, random, ()), rows.take(held)
        return best_threshold(all_scores(model, others.X, parameters.n_threads), others.labels, others.weights)

    def _keep(self, model: LabelModel, threshold: float, form: LabelForm) -> Self:
        self.state_ = ClassifierState(model, form.n_labels, threshold, form.sparse, form.dtype, form.names)
        return self

    def predict_scores(self, X: Any, *, output: str | None = None) -> Array:
        """Scores (n × L): the greater, the likelier that the row has the label."""
        form, features, state = self._form(output), self._checked_features(X), self._fitted()
        return self._as_table(form, X, all_scores(state.model, features, resolve_threads(self.n_threads)))

    def decision_function(self, X: Any) -> Array:
        """Scores (n × L), those of ``predict_scores``, always as an array."""
        return self.predict_scores(X, output=DEFAULT)

    def predict_topk(self, X: Any, k: int = 5, *, output: str | None = None) -> tuple[Array, Array]:
        """Return the ``k`` best labels of each row, by name if they have names, and their scores, both n × k.

        Equal scores rank by ascending label; where there are fewer than ``k`` labels the rest is −1 (None among names)
        with −inf. Memory is bounded: no more than a few rows' scores are held at once. ``output`` is the form of this
        answer, as :meth:`set_output` chooses it for all: a table has a line for each row and label.
        """
        form, k = self._form(output), check.integer("k", k)
        features, state = self._checked_features(X), self._fitted()

        def best(scores: Array) -> tuple[NDArray[np.int32], Array]:
            labels, kept = np.empty((len(scores), k), np.int32), np.empty((len(scores), k), scores.dtype)
            select_top(scores, k, labels, kept, 0, len(scores))
            return labels, kept

        blocks = by_blocks(state.model, features, best, resolve_threads(self.n_threads))
        labels, scores = (np.concatenate(arrays) for arrays in zip(*blocks))
        labels = labels if state.label_names is None else state.label_names.names(labels)
        if form == DEFAULT:
            return labels, scores
        index = _index_of(X)
        rows = np.arange(len(labels)) if index is None else index
        table: Any = ranked_table(form, ("row", rows), ("label", labels), scores)
        return table

    def predict(self, X: Any, *, output: str | None = None) -> Any:
        """Labels (n × L of zeros and ones) whose score exceeds ``threshold_``; sparse where Y was sparse in ``fit``.

        As a table (``output``) they are a column for each label, and in pandas the rows have the index of X.
        """
        form, features, state = self._form(output), self._checked_features(X), self._fitted()
        threads = resolve_threads(self.n_threads)
        blocks = by_blocks(state.model, features, lambda scores: sp.csr_array(scores > state.threshold), threads)
        predicted = sp.vstack(blocks, format="csr").astype(state.label_dtype)
        if form == DEFAULT and state.sparse_labels:
            return predicted
        return self._as_table(form, X, predicted.toarray())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows of which every label is predicted; labels with names are matched by name."""
        names = self._fitted().label_names
        check_rows_together(X, y)
        truth = y if names is None else named_labels(y, names)[0]
        return float(accuracy_score(truth, self.predict(X, output=DEFAULT), sample_weight=sample_weight))

    def _as_table(self, form: str, X: Any, values: Array) -> Any:
        """Rows × labels in a form."""
        return values if form == DEFAULT else matrix_table(form, values, self._fitted().classes, _index_of(X))

    def _fit(
        self,
        rows: LabelledRows,
        parameters: SimpleNamespace,
        random: np.random.Generator,
        callbacks: tuple[Callback, ...],
    ) -> LabelModel:
        raise NotImplementedError

    def _natural_threshold(self) -> float:
        return 0.5

    def _fitted(self) -> ClassifierState:
        state: ClassifierState = super()._fitted()
        return state

    def _checked_features(self, X: Any) -> Any:
        self._fitted()
        return self._prepared(self._validated(X))

    def _validated(self, X: Any, reset: bool = False) -> Any:
        """X as scikit-learn checks it, and a sentence where its own would not say what to do."""
        as_frame(X, "X")  # refuses columns of the same name
        if np.iscomplexobj(X):
            raise ValueError("Complex data not supported: X must hold real numbers, take X.real or X.imag.")
        try:
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        except ValueError as failure:
            for what in ("NaN", "infinity"):
                if f"contains {what}" in str(failure):
                    raise ValueError(
                        f"X contains {what}: drop such rows, or fill values in, as scikit-learn's SimpleImputer does."
                    ) from failure
            if "could not convert string" not in str(failure):
                raise
            raise ValueError(
                f"X must hold numbers, but has text ({failure}): TfidfVectorizer or everypair.features.table_features "
                "turn text and categories into numbers."
            ) from failure

    def _prepared(self, X: Any) -> Any:
        """Rows as what was learnt reads them."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.one_d_labels = False
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


@estimator
class LinearClassifier(MultiLabelClassifier):
    """Base of classifiers that are linear in prepared features."""

    normalize: bool = parameter(True, "scale rows of X to unit length.", check.flag)
    fit_intercept: bool = parameter(True, "append a constant 1 after scaling, penalised like any feature.", check.flag)

    def _prepared(self, X: Any) -> Any:
        """Scaled rows and the constant column, of a size that the model's numbers can hold."""
        features = prepare_features(X, self.normalize, self.fit_intercept)
        check_size(features, "X", self._number_type())
        return features

    def _number_type(self) -> Any:
        """What the model's numbers are."""
        return np.float64


def _index_of(X: Any) -> Any:
    """The index of X, where that is a frame whose rows have names."""
    frame = as_frame(X, "X")
    return None if frame is None else row_index(frame)


def _checked_weights(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one weight per row, shape ({n},), got shape {weights.shape}.")
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError("sample_weight must be finite and not negative.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: give at least one row a positive weight.")
    return weights
