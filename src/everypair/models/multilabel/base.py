"""What every multi-label classifier offers: fit(X, Y), scores s_il of row i and label l, top-k, and a cut to 0/1.

A subclass gives one thing, ``_fit``, which returns what it learnt as a frozen value that scores rows; checks, features,
threads, ranking and the threshold live here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from everypair.check import as_frame, flag, generator, integer, is_number
from everypair.data.ids import Ids
from everypair.data.label_names import check_rows_together, named_labels
from everypair.data.labels import Labels
from everypair.features.scaling import check_size, prepare_features
from everypair.kernels.select import select_top
from everypair.models.codec import storable
from everypair.models.estimator import Estimator, FittedAttribute
from everypair.models.multilabel.threshold import best_threshold, held_out_rows
from everypair.models.state_checks import check_count
from everypair.parallel import Chunk, even_chunks, resolve_threads, run_chunks
from everypair.solvers.loop import Callback
from everypair.types import Array

SCORED_ROWS = 256  # rows scored at once


class LabelledRows(NamedTuple):
    """Prepared features (``csr_array`` or dense, scaled rows and constant column included), labels and row weights."""

    X: Any
    labels: Labels
    weights: NDArray[np.float64] | None

    def take(self, rows: Any) -> LabelledRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return LabelledRows(self.X[rows], self.labels.rows(rows), weights)


class LabelModel(Protocol):
    """What a classifier learns: a frozen dataclass marked as a part."""

    def scores(self, X: Any) -> Array:
        """Scores (c × L) of c prepared rows. It is called from several threads at once, with BLAS on one thread."""
        ...


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
        if not any(self.n_labels in shape for shape in shapes):
            raise ValueError(f"n_labels cannot be {self.n_labels}: nothing was learnt about so many labels.")

    @property
    def classes(self) -> NDArray[Any]:
        """The labels' names or, without any, their positions 0..L − 1."""
        return np.arange(self.n_labels) if self.label_names is None else self.label_names.values


class MultiLabelClassifier(ClassifierMixin, Estimator):
    """Base of multi-label classifiers in scikit-learn's contract.

    A subclass's constructor takes at least ``unlabeled``, ``normalize``, ``fit_intercept``, ``threshold`` and
    ``n_threads`` (and ``random_state`` if it draws random numbers); it implements

    ``_fit(rows, random, callbacks)``
        Learn from :class:`LabelledRows`; return a :class:`LabelModel`. Check parameters first.
    ``_natural_threshold()``
        The cut that the loss itself suggests; ½ unless overridden.

    Fitted: ``classes_`` (the labels' names where Y has some, else their positions 0..L − 1, as in
    ``OneVsRestClassifier``), ``n_labels_``, ``threshold_``, ``n_features_in_`` and, where X is a data frame,
    ``feature_names_in_``.
    """

    unlabeled: str
    normalize: bool
    fit_intercept: bool
    threshold: Any
    n_threads: int | None
    state_: ClassifierState
    classes_ = FittedAttribute()
    n_labels_ = FittedAttribute()
    threshold_ = FittedAttribute()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, mask: Any = None) -> Any:
        """Learn from features X (n × d) and labels y (n × L of zeros and ones), both sparse or dense.

        Labels have names where y is a data frame with named columns, or lists of strings, ``[["war", "love"], []]``.
        ``sample_weight`` weighs rows; a row of weight 0 is as good as left out. ``mask`` (n × L, true where y is
        known) needs ``unlabeled="missing"``, see ``Labels.from_y``. With ``threshold="auto"`` and at least 50 rows a
        second model is fitted without a tenth of the rows, to find the threshold on them; the model that stays has
        seen all rows.
        """
        return self._fit_all(X, y, sample_weight, mask, ())

    def _fit_all(self, X: Any, y: Any, sample_weight: Any, mask: Any, callbacks: tuple[Callback, ...]) -> Any:
        y, names, mask = self._named(X, y, mask)
        rows = self._checked_rows(X, y, sample_weight, mask)
        for_fit, for_threshold = generator(getattr(self, "random_state", None)).spawn(2)
        threshold = float(self.threshold) if is_number(self.threshold) else self._found_threshold(rows, for_threshold)
        self._keep(self._fit(rows, for_fit, callbacks), y, threshold, names)
        return self

    def _named(self, X: Any, y: Any, mask: Any) -> tuple[Any, Ids | None, Any]:
        """Labels as a matrix, their names, and the mask in the order of the names."""
        check_rows_together(X, y)
        y, names = named_labels(y)
        return y, names, mask if names is None else named_labels(mask, names, "mask")[0]

    def _checked_rows(self, X: Any, y: Any, sample_weight: Any, mask: Any) -> LabelledRows:
        """Check parameters and data, leave rows of weight 0 out, prepare features."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self._check_common_parameters()
        if mask is not None and "unlabeled" not in self.get_params():
            raise ValueError(f"{type(self).__name__} cannot learn from missing labels; BinaryRelevance can.")
        X = self._validated(X, reset=True)
        labels = Labels.from_y(y, self.unlabeled, mask)
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
        return LabelledRows(self._prepared(X), labels, weights)

    def _found_threshold(self, rows: LabelledRows, random: np.random.Generator) -> float:
        """Learn without a tenth of the rows and return the threshold with the best micro F1 on them."""
        held = held_out_rows(rows.labels)
        if held is None:
            return self._natural_threshold()
        model, others = self._fit(rows.take(~held), random, ()), rows.take(held)
        return best_threshold(self._all_scores(model, others.X), others.labels, others.weights)

    def _keep(self, model: LabelModel, y: Any, threshold: float, names: Ids | None) -> None:
        dtype = y.dtype if hasattr(y, "dtype") else np.asarray(y).dtype
        n_labels = int(y.shape[1] if hasattr(y, "shape") else np.shape(y)[1])
        self.state_ = ClassifierState(model, n_labels, threshold, sp.issparse(y), np.dtype(dtype), names)

    def predict_scores(self, X: Any) -> Array:
        """Scores (n × L): the greater, the likelier that the row has the label."""
        features = self._checked_features(X)
        return self._all_scores(self.state_.model, features)

    def decision_function(self, X: Any) -> Array:
        """Scores (n × L), the same as ``predict_scores``."""
        return self.predict_scores(X)

    def predict_topk(self, X: Any, k: int = 5) -> tuple[Array, Array]:
        """Return the ``k`` best labels of each row, by name if they have names, and their scores, both n × k.

        Equal scores rank by ascending label; where there are fewer than ``k`` labels the rest is −1 (None among names)
        with −inf. Memory is bounded: no more than a few rows' scores are held at once.
        """
        k = integer("k", k)
        features = self._checked_features(X)

        def best(scores: Array) -> tuple[NDArray[np.int32], Array]:
            labels, kept = np.empty((len(scores), k), np.int32), np.empty((len(scores), k), scores.dtype)
            select_top(scores, k, labels, kept, 0, len(scores))
            return labels, kept

        blocks = self._by_blocks(self.state_.model, features, best)
        found, scores = (np.concatenate(parts) for parts in zip(*blocks))
        names = self.state_.label_names
        return found if names is None else names.names(found), scores

    def predict(self, X: Any) -> Any:
        """Labels (n × L of zeros and ones) whose score exceeds ``threshold_``; sparse where Y was sparse in ``fit``."""
        features, state = self._checked_features(X), self.state_
        blocks = self._by_blocks(state.model, features, lambda scores: sp.csr_array(scores > state.threshold))
        predicted = sp.vstack(blocks, format="csr").astype(state.label_dtype)
        return predicted if state.sparse_labels else predicted.toarray()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows of which every label is predicted; labels with names are matched by name."""
        check_is_fitted(self)
        check_rows_together(X, y)
        names = self.state_.label_names
        truth = y if names is None else named_labels(y, names)[0]
        return float(super().score(X, truth, sample_weight))

    def _fit(self, rows: LabelledRows, random: np.random.Generator, callbacks: tuple[Callback, ...]) -> LabelModel:
        raise NotImplementedError

    def _natural_threshold(self) -> float:
        return 0.5

    def _all_scores(self, model: LabelModel, features: Any) -> Array:
        return np.concatenate(self._by_blocks(model, features, lambda scores: scores))

    def _by_blocks(self, model: LabelModel, features: Any, work: Callable[[Array], Any]) -> list[Any]:
        """Apply ``work`` to the scores of one block of rows after the other, the same blocks on any thread count."""

        def block(chunk: Chunk, worker: int) -> Any:
            return work(np.ascontiguousarray(model.scores(features[slice(*chunk)])))

        return run_chunks(block, even_chunks(features.shape[0], SCORED_ROWS), resolve_threads(self.n_threads))

    def _checked_features(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._prepared(self._validated(X))

    def _validated(self, X: Any, reset: bool = False) -> Any:
        """X as scikit-learn checks it, and a sentence where its own would not say what to do."""
        as_frame(X, "X")  # refuses columns of the same name
        if np.iscomplexobj(X):
            raise ValueError("Complex data not supported: X must hold real numbers, take X.real or X.imag.")
        try:
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        except ValueError as failure:
            if "could not convert string" not in str(failure):
                raise
            raise ValueError(
                f"X must hold numbers, but has text ({failure}): TfidfVectorizer or everypair.features.table_features "
                "turn text and categories into numbers."
            ) from failure

    def _prepared(self, X: Any) -> Any:
        """Scaled rows and the constant column, of a size that the model's numbers can hold."""
        features = prepare_features(X, self.normalize, self.fit_intercept)
        check_size(features, "X", getattr(self, "dtype", np.float64))
        return features

    def _check_common_parameters(self) -> None:
        for name in ("normalize", "fit_intercept"):
            flag(name, getattr(self, name))
        if self.threshold != "auto" and not is_number(self.threshold):
            raise ValueError(f'threshold must be a number or "auto", got {self.threshold!r}.')
        resolve_threads(self.n_threads)

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
