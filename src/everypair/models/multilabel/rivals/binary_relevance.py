"""Binary relevance: one linear model per label, each on its own.

    w_l = argmin Σ_{i∈Ω_l} c_i ℓ(y_il, x_i · w) + ½ reg ‖w‖²,      s_il = x_i · w_l

Ω_l are the rows whose label l is known. Nothing is shared between labels: the yardstick for every method that does.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from everypair import check
from everypair.data.labels import Labels
from everypair.kernels.binary import fit_binary
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows, LinearClassifier, MissingLabels
from everypair.models.multilabel.rivals.ridge import RidgeSolver
from everypair.models.parameters import estimator, number, one_of, parameter
from everypair.parallel import Chunk, even_chunks, resolve_threads, run_chunks
from everypair.problem.losses import LOSSES, Loss, get_loss
from everypair.solvers.loop import Callback

LARGEST_GRAM = 8192  # beyond this, the squared loss is solved label by label too
MOST_CG_STEPS = 1000


@storable
@dataclass(frozen=True)
class LinearLabels:
    """s = x · w_l: ``weights`` (d × L, the intercept's row last), and the Newton steps of the slowest label."""

    weights: NDArray[Any]
    n_iter: int

    def scores(self, X: Any) -> NDArray[Any]:
        """X W."""
        return np.asarray(X @ self.weights)


@estimator
class BinaryRelevance(MissingLabels, LinearClassifier):
    """One ridge-regularised linear classifier per label, with missing labels if wanted.

    The squared loss with every label known is solved in closed form, all labels at once; everything else by Newton's
    method with conjugate gradients, label by label, in parallel.

    Attributes
    ----------
    coef_
        L × d weights, without the intercept.
    intercept_
        L intercepts, zero without ``fit_intercept``.
    n_iter_
        Newton steps of the label that needed most.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [1, 1]])
    >>> model = BinaryRelevance(reg=0.1).fit(X, Y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array([[1, 0],
           [1, 1]])
    """

    loss: str = parameter(
        "logistic",
        '``"squared"`` ½(y − s)² with y ∈ {0, 1}, ``"logistic"`` log(1 + e^{−ys}) or ``"squared_hinge"`` ½ max(0,'
        " 1 − ys)² with y ∈ {−1, 1}.",
        one_of(*LOSSES),
    )
    reg: float = parameter(
        1.0,
        "weight of the ridge, ½ reg ‖w‖²: 1 / C of ``LogisticRegression``, 1 / (2 C) of ``LinearSVC``, alpha of "
        "``Ridge``.",
        number(above=0),
    )
    max_iter: int = parameter(100, "at most so many Newton steps per label.", check.integer)
    tol: float = parameter(
        1e-5, "stop when the gradient has shrunk to this share of its norm at w = 0.", check.tolerance
    )

    n_iter_ = FittedAttribute("model")

    def _fit(
        self,
        rows: LabelledRows,
        parameters: SimpleNamespace,
        random: np.random.Generator,
        callbacks: tuple[Callback, ...],
    ) -> LinearLabels:
        X, labels, sample_weight = rows
        loss = get_loss(parameters.loss)
        if loss.quadratic and labels.known is None and min(X.shape) <= LARGEST_GRAM:
            weights = RidgeSolver(X, parameters.reg, sample_weight).weights(labels.positives)
            steps = 1
        else:
            weights, steps = self._by_newton(sp.csr_array(X), labels, sample_weight, loss, parameters.max_iter)
        return LinearLabels(np.ascontiguousarray(weights, X.dtype), steps)  # in the rows' own precision

    def _by_newton(
        self, X: Any, labels: Labels, sample_weight: NDArray[np.float64] | None, loss: Loss, max_iter: int
    ) -> tuple[NDArray[np.float64], int]:
        n, n_labels = labels.shape
        everything = labels.known is None
        columns = sp.csc_array(labels.positives if everything else labels.known)
        c = np.ones(n) if sample_weight is None else sample_weight
        weights = np.empty((n_labels, X.shape[1]))
        steps, gaps = np.zeros(n_labels, np.int64), np.zeros(n_labels)

        def work(chunk: Chunk, worker: int) -> None:
            fit_binary(
                *chunk, loss.code, float(self.reg), float(self.tol), max_iter, MOST_CG_STEPS, X.indptr, X.indices,
                X.data, c, columns.indptr, columns.indices, columns.data, everything, 1.0, loss.dislike_target,
                weights, steps, gaps,
            )  # fmt: skip

        run_chunks(work, even_chunks(n_labels, 1 if n_labels < 1000 else 16), resolve_threads(self.n_threads))
        most = int(max(steps.max(), 1))
        late = np.flatnonzero(gaps > self.tol)
        if late.size:
            warnings.warn(
                f"{late.size} of {n_labels} labels did not reach tol={self.tol} in {most} Newton steps: "
                "raise max_iter, reg or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return weights.T, most

    def _natural_threshold(self) -> float:
        return 0.5 * (1.0 + get_loss(self.loss).dislike_target)

    @property
    def coef_(self) -> NDArray[Any]:
        """Weights of the features, L × d."""
        return np.asarray(self.state_.model.weights[: self.n_features_in_].T)

    @property
    def intercept_(self) -> NDArray[Any]:
        """Intercepts, one per label."""
        weights = self.state_.model.weights
        return np.asarray(weights[-1] if self.fit_intercept else np.zeros(self.n_labels_, weights.dtype))

    @available_if(lambda model: get_loss(model.loss).probabilistic)
    def predict_proba(self, X: Any, *, output: str | None = None) -> NDArray[Any]:
        """Probability of each label, 1 / (1 + e^{−s}), n × L; only for the logistic loss.

        >>> model = BinaryRelevance().fit([[1.0], [2.0]], [[1, 0], [1, 0]])
        >>> model.predict_proba([[1.0]]).round(2).tolist()
        [[0.74, 0.26]]
        """
        form = self._form(output)
        return self._as_table(form, X, np.asarray(expit(self.decision_function(X))))
