"""What the tests of a multi-label classifier share: rows with a known answer, and how a subclass names its model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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


class ClassifierBasis:
    """A model to test and what is expected of it; see :class:`~everypair.testing.classifier.ClassifierContract`."""

    quality_floor: float = 1.0
    predict_floor: float = 0.95
    exact: bool = True
    tolerance: float = 1e-6
    missing_labels: bool = True

    def make_model(self, **params: Any) -> Any:
        """Return an unfitted model."""
        raise NotImplementedError

    def fitted(self, X: Any = None, Y: Any = None, sample_weight: Any = None, mask: Any = None, **params: Any) -> Any:
        """Return a model fitted on X and Y, the labelled rows by default."""
        features, labels = labelled_rows()
        given = {} if mask is None else {"mask": mask}
        return self.make_model(**params).fit(
            features if X is None else X, labels if Y is None else Y, sample_weight=sample_weight, **given
        )

    def takes(self, parameter: str) -> bool:
        """Whether the model has such a parameter."""
        return parameter in self.make_model().get_params()

    def share_first(self, model: Any, X: Any, Y: Array) -> float:
        """The share of rows whose own labels, two each, come before all others."""
        labels, _ = model.predict_topk(X, k=2)
        return float(np.take_along_axis(Y, labels.astype(np.int64), axis=1).all(axis=1).mean())

    def assert_close(self, scores: Array, expected: Array) -> None:
        """Scores that may differ by rounding."""
        assert np.abs(scores - expected).max() <= self.tolerance * np.ptp(expected)
