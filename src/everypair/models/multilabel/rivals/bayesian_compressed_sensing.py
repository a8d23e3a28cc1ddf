"""Bayesian compressed sensing: labels compressed by a random projection (Kapoor, Viswanathan & Jain, NIPS 2012)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import integer, is_number
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows, MultiLabelClassifier
from everypair.models.multilabel.rivals.compressed_inference import (
    Inference,
    Posterior,
    Scales,
    batches,
    expected_variance,
    infer_labels,
)
from everypair.models.serve_only import TRAINING_ONLY
from everypair.parallel import resolve_threads, single_threaded_blas
from everypair.solvers.loop import Callback, Status, StopRules, checked_callbacks
from everypair.training.train import train
from everypair.types import Array64

storable(Scales)


@storable
@dataclass(frozen=True)
class CompressedLabels:
    """Φ (k × L), E[W] (d × k), the variances and the prior of q, and how training went."""

    projection: Array64
    feature_weights: Array64
    scales: Scales
    sparsity: tuple[float, float]
    label_iter: int
    history: list[dict[str, Any]] = field(metadata=TRAINING_ONLY)
    status: Status

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.history)

    def scores(self, X: Any) -> Array64:
        """E[y] of new rows."""
        predicted = X @ self.feature_weights
        shape, rate = self.sparsity
        means = []
        for batch in batches(len(predicted), self.projection):
            rows = predicted[slice(*batch)]
            variance = np.full((len(rows), self.projection.shape[1]), rate / shape)
            for _ in range(self.label_iter):
                labels = infer_labels(rows, variance, self.projection, self.scales)
                variance = expected_variance(labels.mean**2 + labels.variance, shape, rate)
            means.append(labels.mean)
        return np.concatenate(means)


class BayesianCompressedSensing(MultiLabelClassifier):
    """Labels compressed by a random projection and found again by sparse Bayesian inference.

    The model is z = Wᵀx + noise, Φy = z + noise with a sparse prior on y; q(W), q(z), q(y) and q(α) are mean-field,
    with the updates in :mod:`everypair.models.multilabel.rivals.compressed_inference`. Unknown labels are inferred
    while training; scores are E[y] of new rows. It exists to be compared with :class:`~everypair.MultiLabelMF`.
    Training needs memory for d·min(n, d) numbers; a sweep over labels, where some are missing and always when scoring,
    takes O(k²(L + k)) operations per row.

    Parameters
    ----------
    rank : length k of the compressed labels, at most L.
    compressed_noise : σ, standard deviation of z around Wᵀx.
    projection_noise : χ, standard deviation of Φy around z; one label has entries of size 1 in Φy.
    weight_scale : s, prior standard deviation of a weight. It and σ by ``"auto"`` start such that signal and noise
        share the variance of Φy equally; with fully observed labels the lower bound learns them from there. With
        missing labels they stay: there the bound favours weights of zero and unknown labels that explain everything.
    sparsity_shape, sparsity_rate : a₀ and b₀ of the Gamma prior of a label's precision. b₀/a₀ is the variance that
        inference starts from, ``"auto"`` sets it to the share of positives among known labels; the smaller a₀ the
        sparser the labels.
    max_iter, tol : sweeps of training; stop when the bound rises by less than ``tol`` of its size.
    time_limit : stop after so many seconds of training.
    label_iter : sweeps over q(y) and q(α) of a row when scoring.
    unlabeled, normalize, fit_intercept, threshold, random_state, n_threads, verbose : as in
        :class:`~everypair.MultiLabelMF`.

    Attributes
    ----------
    projection_ : Φ (k × L).
    feature_weights_ : E[W] (d × k), the intercept's row last.
    scales_, sparsity_ : the variances (σ², χ², s²) and (a₀, b₀).
    history_, status_, n_iter_ : one dict per sweep, whose ``"objective"``, the negative lower bound, never rises; why
        training stopped, and the number of sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat(np.eye(3), 20, axis=0)  # three kinds of rows, each with two labels of six
    >>> Y = np.repeat(np.eye(6)[:3] + np.eye(6)[3:], 20, axis=0)
    >>> model = BayesianCompressedSensing(rank=5, random_state=0).fit(X, Y)
    >>> model.predict(X[[0, 59]]).astype(int).tolist()
    [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]
    """

    projection_ = FittedAttribute("model")
    feature_weights_ = FittedAttribute("model")
    scales_ = FittedAttribute("model")
    sparsity_ = FittedAttribute("model")
    history_ = FittedAttribute("model")
    status_ = FittedAttribute("model")
    n_iter_ = FittedAttribute("model")

    def __init__(
        self,
        rank: int = 100,
        compressed_noise: float | str = "auto",
        projection_noise: float = 0.3,
        weight_scale: float | str = "auto",
        sparsity_shape: float = 0.1,
        sparsity_rate: float | str = "auto",
        max_iter: int = 50,
        tol: float = 1e-5,
        label_iter: int = 5,
        unlabeled: str = "negative",
        normalize: bool = True,
        fit_intercept: bool = True,
        threshold: float | str = "auto",
        random_state: Any = None,
        time_limit: float | None = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.compressed_noise = compressed_noise
        self.projection_noise = projection_noise
        self.weight_scale = weight_scale
        self.sparsity_shape = sparsity_shape
        self.sparsity_rate = sparsity_rate
        self.max_iter = max_iter
        self.tol = tol
        self.label_iter = label_iter
        self.unlabeled = unlabeled
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.random_state = random_state
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, mask: Any = None, *, callbacks: Iterable[Callback] = ()
    ) -> Self:
        """Learn as every multi-label classifier here; a callback gets a :class:`~everypair.solvers.loop.Sweep`."""
        self._fit_all(X, y, sample_weight, mask, checked_callbacks(callbacks))
        return self

    def _fit(
        self, rows: LabelledRows, random: np.random.Generator, callbacks: tuple[Callback, ...]
    ) -> CompressedLabels:
        X, labels, sample_weight = rows
        n, L = labels.shape
        rank = integer("rank", self.rank)
        rules = StopRules.checked(self.max_iter, self.tol, None, self.time_limit)
        label_iter = integer("label_iter", self.label_iter)
        if rank > L:
            raise ValueError(f"rank must be at most the number of labels, {L}, got {rank}.")
        for name in ("compressed_noise", "weight_scale", "sparsity_rate"):
            _check_positive(name, getattr(self, name), or_auto=True)
        for name in ("projection_noise", "sparsity_shape"):
            _check_positive(name, getattr(self, name))
        density = labels.positives.nnz / (n * L if labels.known is None else labels.known.nnz)
        shape = float(self.sparsity_shape)
        sparsity = (shape, shape * density if isinstance(self.sparsity_rate, str) else float(self.sparsity_rate))
        row_weights = np.ones(n) if sample_weight is None else sample_weight
        projection = random.standard_normal((rank, L))
        X, positives = X.astype(np.float64), labels.positives.astype(np.float64)
        unknown = None if labels.known is None else _unknown_entries(labels.known)
        scales = self._start(X, density * L, row_weights)
        full = unknown is None
        learn = (full and isinstance(self.compressed_noise, str), full and isinstance(self.weight_scale, str))
        with single_threaded_blas():
            inference = Inference(
                X, positives, unknown, projection, row_weights, scales, sparsity, learn,
                resolve_threads(self.n_threads),
            )  # fmt: skip
            start = Posterior(np.zeros((X.shape[1], rank)), scales)
            outcome = train(inference, start, rules, callbacks=callbacks, verbose=self.verbose, identity=(self, rows))
        return CompressedLabels(
            projection, outcome.state.weights, outcome.state.scales, sparsity, label_iter, outcome.history,
            outcome.status,
        )  # fmt: skip

    def _start(self, X: Any, labels_per_row: float, row_weights: Array64) -> Scales:
        """σ² and the prior's variance of Wᵀx at half of the variance of Φy, which is the mean number of labels."""
        lengths = np.asarray((X**2).sum(axis=1)).ravel()
        length = max(float(row_weights @ lengths / row_weights.sum()), np.finfo(np.float64).tiny)
        half = labels_per_row / 2
        return Scales(
            half if isinstance(self.compressed_noise, str) else float(self.compressed_noise) ** 2,
            float(self.projection_noise) ** 2,
            half / length if isinstance(self.weight_scale, str) else float(self.weight_scale) ** 2,
        )


def _unknown_entries(known: sp.csr_array) -> NDArray[np.bool_]:
    stored = sp.csr_array((np.ones(known.nnz, bool), known.indices, known.indptr), shape=known.shape)
    return ~stored.toarray()


def _check_positive(name: str, value: Any, or_auto: bool = False) -> None:
    if or_auto and isinstance(value, str) and value == "auto":
        return
    if not is_number(value) or not 0 < value < np.inf:
        allowed = 'a positive number or "auto"' if or_auto else "a positive number"
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")
