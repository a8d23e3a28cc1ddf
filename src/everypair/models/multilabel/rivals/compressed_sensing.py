"""Labels through compressed sensing (Hsu, Kakade, Langford & Zhang, NIPS 2009): few random sums of them are predicted.

    Φ ∈ R^{k × L}, entries N(0, 1/k),   W = argmin ½ ‖YΦᵀ − XW‖² + ½ reg ‖W‖²
    ŷ = the y with at most s labels that explains x W best, ‖x W − Φ y‖, found by orthogonal matching pursuit

Scores are ŷ: a row has at most s that are not zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import orthogonal_mp_gram

from everypair import check
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows, LinearClassifier
from everypair.models.multilabel.rivals.ridge import RidgeSolver
from everypair.models.parameters import Seeded, estimator, number, or_auto, parameter
from everypair.parallel import single_threaded_blas
from everypair.solvers.loop import Callback

SHORTEST = 5  # labels that a row is given by default at least, so that a list of five is no matter of position


@storable
@dataclass(frozen=True)
class SensedLabels:
    """Φ (k × L), W (d × k) and s."""

    projection: NDArray[Any]
    feature_weights: NDArray[Any]
    n_positives: int

    def scores(self, X: Any) -> NDArray[Any]:
        """ŷ of every row."""
        projection = self.projection.astype(np.float64)
        with single_threaded_blas():
            seen = np.asarray(X @ self.feature_weights, np.float64) @ projection
            found = orthogonal_mp_gram(projection.T @ projection, seen.T, n_nonzero_coefs=self.n_positives)
        return np.asarray(found.reshape(len(projection.T), -1).T, self.projection.dtype)


@estimator
class CompressedSensing(Seeded, LinearClassifier):
    """Ridge regression to random sums of the labels, and the few labels that explain the predicted sums.

    It exists to be compared with :class:`~everypair.MultiLabelMF`. :class:`BayesianCompressedSensing` infers the labels
    of a row with all their uncertainty instead of choosing them one after the other.

    Attributes
    ----------
    projection_ : Φ (k × L).
    feature_weights_ : W (d × k), the intercept's row last.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat(np.eye(3), 20, axis=0)  # three kinds of rows, each with two labels of six
    >>> Y = np.repeat(np.eye(6)[:3] + np.eye(6)[3:], 20, axis=0)
    >>> model = CompressedSensing(rank=6, max_labels=2, random_state=0).fit(X, Y)
    >>> model.predict(X[[0, 59]]).astype(int).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]
    """

    rank: int = parameter(100, "number k of random sums: some times log L for each label of a row.", check.integer)
    reg: float = parameter(1.0, "weight of the ridge, ½ reg ‖W‖².", number(least=0))
    max_labels: int | str = parameter(
        "auto",
        f's, the most labels of a row. ``"auto"``: twice their mean number, and at least {SHORTEST}.',
        or_auto(check.integer),
    )

    projection_ = FittedAttribute("model")
    feature_weights_ = FittedAttribute("model")

    def _fit(
        self,
        rows: LabelledRows,
        parameters: SimpleNamespace,
        random: np.random.Generator,
        callbacks: tuple[Callback, ...],
    ) -> SensedLabels:
        X, labels, sample_weight = rows
        n, n_labels = labels.shape
        rank, most = parameters.rank, parameters.max_labels
        if most is None:
            most = max(SHORTEST, math.ceil(2 * labels.positives.nnz / n))
        projection = random.standard_normal((rank, n_labels)) / math.sqrt(rank)
        weights = RidgeSolver(X, parameters.reg, sample_weight).weights(labels.positives @ projection.T)
        return SensedLabels(projection.astype(X.dtype), weights.astype(X.dtype), min(most, rank, n_labels))
