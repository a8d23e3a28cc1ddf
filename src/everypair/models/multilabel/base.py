"""What every multi-label classifier offers: fit(X, Y), scores s_il of row i and label l, top-k, and a cut to 0/1.

A subclass gives two things, ``_fit`` and ``_scores``; checks, features, threads, ranking and the threshold live here.

The threshold is one number τ for all labels: label l is predicted for row i where s_il > τ. ``"auto"`` finds it on
held-out rows by the best micro-averaged F1 = 2·TP / (2·TP + FP + FN) over their known entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from everypair.check import generator, integer, is_number
from everypair.data.labels import Labels
from everypair.features.scaling import prepare_features
from everypair.kernels.select import select_top
from everypair.parallel import Chunk, even_chunks, resolve_threads, run_chunks

Array = NDArray[Any]

SCORED_ROWS = 256  # rows scored at once
FEWEST_ROWS = 50  # with fewer, "auto" holds nothing out and takes the natural threshold
HELD_OUT_SHARE = 10  # every tenth row,
MOST_HELD_OUT = 2**24  # but at most so many scores


class MultiLabelClassifier(ClassifierMixin, BaseEstimator):
    """Base of multi-label classifiers in scikit-learn's contract.

    A subclass's constructor takes at least ``unlabeled``, ``normalize``, ``fit_intercept``, ``threshold`` and
    ``n_threads`` (and ``random_state`` if it draws random numbers); it implements

    ``_fit(X, labels, sample_weight, random)``
        Learn from prepared features X (``csr_array`` or dense, float32 or float64, scaled rows and constant
        column included), ``Labels``, weights of the rows (float64, or ``None`` for ones) and a numpy generator.
        Check parameters first. Leave fitted attributes that end in ``_``.
    ``_scores(X)``
        Scores (c × L) of c prepared rows. It is called from several threads at once, with BLAS on one thread.
    ``_natural_threshold()``
        The cut that the loss itself suggests; ½ unless overridden.

    Fitted: ``classes_`` (the labels' positions 0..L − 1, as in ``OneVsRestClassifier``), ``n_labels_``,
    ``threshold_``, ``n_features_in_`` and, where X is a data frame, ``feature_names_in_``.
    """

    unlabeled: str
    normalize: bool
    fit_intercept: bool
    threshold: Any
    n_threads: int | None
    classes_: NDArray[np.int64]
    n_labels_: int
    threshold_: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None, mask: Any = None) -> Any:
        """Learn from features X (n × d) and labels y (n × L of zeros and ones), both sparse or dense.

        ``sample_weight`` weighs rows; a row of weight 0 is as good as left out. ``mask`` (n × L, true where y is
        known) needs ``unlabeled="missing"``, see ``Labels.from_y``. With ``threshold="auto"`` and at least 50 rows a
        second model is fitted without a tenth of the rows, to find the threshold on them; the model that stays has
        seen all rows.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self._check_common_parameters()
        if mask is not None and "unlabeled" not in self.get_params():
            raise ValueError(f"{type(self).__name__} cannot learn from missing labels; BinaryRelevance can.")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
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
        features = prepare_features(X, self.normalize, self.fit_intercept)
        for_fit, for_threshold = generator(getattr(self, "random_state", None)).spawn(2)

        self.classes_ = np.arange(labels.shape[1])
        self.n_labels_ = labels.shape[1]
        self._sparse_labels = sp.issparse(y)
        self._label_dtype = y.dtype if hasattr(y, "dtype") else np.asarray(y).dtype
        self.threshold_ = (
            self._learnt_threshold(features, labels, weights, for_threshold)
            if isinstance(self.threshold, str)
            else float(self.threshold)
        )
        self._fit(features, labels, weights, for_fit)
        return self

    def predict_scores(self, X: Any) -> Array:
        """Scores (n × L): the greater, the likelier that the row has the label."""
        features = self._checked_features(X)
        blocks = self._by_blocks(features, lambda scores: scores)
        return np.concatenate(blocks)

    def decision_function(self, X: Any) -> Array:
        """Scores (n × L), the same as ``predict_scores``."""
        return self.predict_scores(X)

    def predict_topk(self, X: Any, k: int = 5) -> tuple[NDArray[np.int32], Array]:
        """Return the ``k`` best labels of each row and their scores, both n × k, in bounded memory.

        Equal scores rank by ascending label; where there are fewer than ``k`` labels the rest is −1 with −inf.
        """
        k = integer("k", k)
        features = self._checked_features(X)

        def best(scores: Array) -> tuple[NDArray[np.int32], Array]:
            labels, kept = np.empty((len(scores), k), np.int32), np.empty((len(scores), k), scores.dtype)
            select_top(scores, k, labels, kept, 0, len(scores))
            return labels, kept

        blocks = self._by_blocks(features, best)
        return np.concatenate([labels for labels, _ in blocks]), np.concatenate([scores for _, scores in blocks])

    def predict(self, X: Any) -> Any:
        """Labels (n × L of zeros and ones) whose score exceeds ``threshold_``; sparse where Y was sparse in ``fit``."""
        features = self._checked_features(X)
        blocks = self._by_blocks(features, lambda scores: sp.csr_array(scores > self.threshold_))
        predicted = sp.vstack(blocks, format="csr").astype(self._label_dtype)
        return predicted if self._sparse_labels else predicted.toarray()

    def _fit(self, X: Any, labels: Labels, sample_weight: Array | None, random: np.random.Generator) -> None:
        raise NotImplementedError

    def _scores(self, X: Any) -> Array:
        raise NotImplementedError

    def _natural_threshold(self) -> float:
        return 0.5

    def _by_blocks(self, features: Any, work: Callable[[Array], Any]) -> list[Any]:
        """Apply ``work`` to the scores of one block of rows after the other, the same blocks on any thread count."""

        def block(chunk: Chunk, worker: int) -> Any:
            return work(np.ascontiguousarray(self._scores(features[slice(*chunk)])))

        return run_chunks(block, even_chunks(features.shape[0], SCORED_ROWS), resolve_threads(self.n_threads))

    def _checked_features(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return prepare_features(X, self.normalize, self.fit_intercept)

    def _check_common_parameters(self) -> None:
        for name in ("normalize", "fit_intercept"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        if self.threshold != "auto" and not is_number(self.threshold):
            raise ValueError(f'threshold must be a number or "auto", got {self.threshold!r}.')
        resolve_threads(self.n_threads)

    def _learnt_threshold(
        self, X: Any, labels: Labels, sample_weight: Array | None, random: np.random.Generator
    ) -> float:
        """Fit a copy without a tenth of the rows and return the threshold with the best micro F1 on them."""
        n = labels.shape[0]
        # a fixed permutation: the same data give the same threshold, whatever random_state
        order = np.random.default_rng(0).permutation(n)
        held = np.zeros(n, bool)
        held[order[: min(n // HELD_OUT_SHARE, max(MOST_HELD_OUT // labels.shape[1], 1))]] = True
        kept_labels, held_labels = labels.rows(~held), labels.rows(held)
        if n < FEWEST_ROWS or not kept_labels.positives.nnz or not held_labels.positives.nnz:
            return self._natural_threshold()
        model = clone(self)
        model.n_labels_ = self.n_labels_
        model._fit(X[~held], kept_labels, None if sample_weight is None else sample_weight[~held], random)
        scores = np.concatenate(model._by_blocks(X[held], lambda block: block))
        return best_threshold(scores, held_labels, None if sample_weight is None else sample_weight[held])

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


def best_threshold(scores: Array, labels: Labels, sample_weight: Array | None = None) -> float:
    """Return the threshold τ with the greatest micro F1 of ``scores > τ`` over known entries, the highest of equals.

    Only a cut just below a positive's score can be best: any other admits more negatives for the same positives.

    >>> best_threshold(np.array([[0.9, 0.2], [0.4, 0.7]]), Labels.from_y([[1, 0], [1, 0]]))
    0.39999999999999997
    """
    weights = np.ones(len(scores)) if sample_weight is None else sample_weight
    row_of_positive = np.repeat(np.arange(len(scores)), np.diff(labels.positives.indptr))
    of_positives = scores[row_of_positive, labels.positives.indices]
    cuts, place = np.unique(of_positives, return_inverse=True)
    true_positives = np.bincount(place, weights[row_of_positive], len(cuts))[::-1].cumsum()[::-1]
    admitted = np.zeros(len(cuts) + 1)  # weight of known entries by the number of cuts they reach
    for row, weight in enumerate(weights):
        known = scores[row] if labels.known is None else scores[row, _columns(labels.known, row)]
        np.add.at(admitted, np.searchsorted(cuts, known, side="right"), weight)
    predicted = admitted[:0:-1].cumsum()[::-1]  # weight of known entries at or above each cut
    f1 = 2 * true_positives / (predicted + true_positives[0])
    best = len(cuts) - 1 - int(np.argmax(f1[::-1]))
    return float(np.nextafter(cuts[best], -np.inf, dtype=scores.dtype))


def _columns(matrix: Any, row: int) -> Array:
    return matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]


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
