"""What the tests of a multi-label classifier share: rows with a known answer, and how a subclass names its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.testing.contract import EstimatorContract
from everypair.types import Array

KINDS = (24, 20, 16)  # rows of each kind


def labelled_rows(seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return 60 rows of three kinds and their labels: each kind has two features of six, in noise, and two labels.

    >>> X, Y = labelled_rows()
    >>> X.shape, Y[[0, 24, 44]].tolist()
    ((60, 6), [[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]])
    """
    random = np.random.default_rng(seed)
    own = np.repeat(np.eye(3), KINDS, axis=0)
    noise = 0.3 * random.random((len(own), 6)) * (random.random((len(own), 6)) < 0.5)
    return np.repeat(own, 2, axis=1) + noise, np.tile(own, 2).astype(np.int64)


class ClassifierBasis(EstimatorContract):
    """A model to test and what is expected of it; see :class:`~everypair.testing.classifier.ClassifierContract`."""

    optional = EstimatorContract.optional | {
        "predict_proba", "dtype", "random_state", "rank", "unlabeled", "normalize", "fit_intercept"
    }  # fmt: skip
    offers = EstimatorContract.offers | {"normalize", "fit_intercept"}
    quality_floor: float = 1.0
    predict_floor: float = 0.95
    exact: bool = True
    tolerance: float = 1e-6
    missing_labels: bool = True

    def training_data(self) -> dict[str, Any]:
        """The labelled rows."""
        X, Y = labelled_rows()
        return {"X": X, "y": Y}

    def forms(self) -> Iterator[dict[str, Any]]:
        """Arrays and lists; other forms of X may round otherwise, and ``predict`` answers in the form of Y."""
        X, Y = labelled_rows()
        yield {"X": X, "y": Y}
        yield {"X": X.tolist(), "y": Y.tolist()}

    def owned_data(self) -> Iterator[dict[str, Any]]:
        """Dense and sparse, with weights of rows."""
        kinds: tuple[Any, ...] = np.array, sp.csr_array
        for kind in kinds:
            X, Y = map(kind, labelled_rows())
            yield {"X": X, "y": Y, "sample_weight": np.ones(60)}

    def other_data(self) -> dict[str, Any]:
        """Fewer rows, twice the features and labels, and labels of another type."""
        X, Y = labelled_rows()
        return {
            "X": np.hstack([X[:50], X[:50]]),
            "y": sp.csr_array(np.hstack([Y[:50], Y[:50]]), dtype=np.float32),
        }

    def large_data(self) -> dict[str, Any]:
        """600 rows in more noise."""
        X, Y = labelled_rows()
        noise = 0.1 * np.random.default_rng(5).random((600, 6))
        return {"X": np.tile(X, (10, 1)) + noise, "y": np.tile(Y, (10, 1))}

    def questions(self, model: Any) -> dict[str, Callable[[], Any]]:
        """All that is asked about rows that were not in training."""
        X, _ = labelled_rows(seed=1)
        calls: dict[str, Callable[[], Any]] = {
            "predict_scores": lambda: model.predict_scores(X),
            "decision_function": lambda: model.decision_function(X),
            "predict_topk": lambda: model.predict_topk(X),
            "predict": lambda: model.predict(X),
        }
        if "predict_proba" in self.offers:
            calls["predict_proba"] = lambda: model.predict_proba(X)
        return calls

    def answers(self, model: Any) -> dict[str, Any]:
        """The threshold and the number of labels too."""
        return {**super().answers(model), "threshold_": model.threshold_, "n_labels_": model.n_labels_}

    def fitted(self, X: Any = None, Y: Any = None, sample_weight: Any = None, mask: Any = None, **params: Any) -> Any:
        """Return a model fitted on X and Y, the labelled rows by default."""
        features, labels = labelled_rows()
        options = {} if mask is None else {"mask": mask}
        return self.make_model(**params).fit(
            features if X is None else X, labels if Y is None else Y, sample_weight=sample_weight, **options
        )

    def share_first(self, model: Any, X: Any, Y: Array) -> float:
        """The share of rows whose own labels, two each, come before all others."""
        labels, _ = model.predict_topk(X, k=2)
        return float(np.take_along_axis(Y, labels.astype(np.int64), axis=1).all(axis=1).mean())

    def assert_close(self, scores: Array, expected: Array) -> None:
        """Scores that may differ by rounding."""
        assert np.abs(scores - expected).max() <= self.tolerance * np.ptp(expected)
