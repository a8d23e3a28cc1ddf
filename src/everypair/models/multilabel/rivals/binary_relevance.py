"""Binary relevance: one linear model per label, each on its own.

    w_l = argmin Σ_{i∈Ω_l} c_i ℓ(y_il, x_i · w) + ½ reg ‖w‖²,      s_il = x_i · w_l

Ω_l are the rows whose label l is known. Nothing is shared between labels: the yardstick for every method that does.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from everypair.check import integer, is_number
from everypair.data.labels import Labels
from everypair.kernels.binary import fit_binary
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows, MultiLabelClassifier
from everypair.models.multilabel.rivals.ridge import RidgeSolver
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


class BinaryRelevance(MultiLabelClassifier):
    """One ridge-regularised linear classifier per label, with missing labels if wanted.

    The squared loss with every label known is solved in closed form, all labels at once; everything else by Newton's
    method with conjugate gradients, label by label, in parallel.

    Parameters
    ----------
    loss
        ``"squared"`` ½(y − s)² with y ∈ {0, 1}, ``"logistic"`` log(1 + e^{−ys}) or ``"squared_hinge"``
        ½ max(0, 1 − ys)² with y ∈ {−1, 1}.
    reg
        Weight of the ridge, ½ reg ‖w‖²: 1 / C of ``LogisticRegression``, 1 / (2 C) of ``LinearSVC``, alpha of
        ``Ridge``.
    unlabeled
        ``"negative"``: whatever is not 1 in Y is a 0. ``"missing"``: only known labels count (stored entries of a
        sparse Y, all but NaN of a dense one, or those of ``fit``'s mask).
    normalize, fit_intercept
        Scale rows of X to unit length, then append a constant 1, penalised like any feature.
    threshold
        ``predict`` says 1 where the score exceeds it: a number, or ``"auto"`` to find it on a held-out tenth of the
        rows, which about doubles the time of ``fit`` (with fewer than 50 rows: ½ for squared, 0 for the others).
    max_iter, tol
        At most so many Newton steps per label, until the gradient has shrunk to ``tol`` of its norm at w = 0.
    n_threads
        Number of threads, ``None`` for all cores. The result does not depend on it.

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

    def __init__(
        self,
        loss: str = "logistic",
        reg: float = 1.0,
        unlabeled: str = "negative",
        normalize: bool = True,
        fit_intercept: bool = True,
        threshold: float | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-5,
        n_threads: int | None = None,
    ) -> None:
        self.loss = loss
        self.reg = reg
        self.unlabeled = unlabeled
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.max_iter = max_iter
        self.tol = tol
        self.n_threads = n_threads

    n_iter_ = FittedAttribute("model")

    def _fit(self, rows: LabelledRows, random: np.random.Generator, callbacks: tuple[Callback, ...]) -> LinearLabels:
        X, labels, sample_weight = rows
        loss = self._checked_loss()
        if not is_number(self.reg) or not 0 < self.reg < np.inf:
            raise ValueError(f"reg must be a positive number, got {self.reg!r}.")
        if not is_number(self.tol) or self.tol < 0:
            raise ValueError(f"tol must be a number ≥ 0, got {self.tol!r}.")
        max_iter = integer("max_iter", self.max_iter)
        if loss.quadratic and labels.known is None and min(X.shape) <= LARGEST_GRAM:
            weights = RidgeSolver(X, self.reg, sample_weight).weights(labels.positives)
            steps = 1
        else:
            weights, steps = self._by_newton(sp.csr_array(X), labels, sample_weight, loss, max_iter)
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

    def _checked_loss(self) -> Loss:
        if not isinstance(self.loss, str) or self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {self.loss!r}.")
        return get_loss(self.loss)

    def _natural_threshold(self) -> float:
        return 0.5 * (1.0 + self._checked_loss().dislike_target)

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
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probability of each label, 1 / (1 + e^{−s}), n × L; only for the logistic loss.

        >>> model = BinaryRelevance().fit([[1.0], [2.0]], [[1, 0], [1, 0]])
        >>> model.predict_proba([[1.0]]).round(2).tolist()
        [[0.74, 0.26]]
        """
        return np.asarray(expit(self.predict_scores(X)))
