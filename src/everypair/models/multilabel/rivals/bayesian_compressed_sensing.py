"""Bayesian compressed sensing: labels compressed by a random projection (Kapoor, Viswanathan & Jain, NIPS 2012)."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair import check
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows
from everypair.models.multilabel.rivals.compressed_inference import (
    Inference,
    Posterior,
    Scales,
    batches,
    expected_variance,
    infer_labels,
)
from everypair.models.multilabel.rivals.sweeping import SweepingClassifier
from everypair.models.parameters import estimator, number, or_auto, parameter
from everypair.models.serve_only import TRAINING_ONLY
from everypair.parallel import single_threaded_blas
from everypair.solvers.loop import Callback, Status, StopRules
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


@estimator
class BayesianCompressedSensing(SweepingClassifier):
    """Labels compressed by a random projection and found again by sparse Bayesian inference.

    The model is z = Wᵀx + noise, Φy = z + noise with a sparse prior on y; q(W), q(z), q(y) and q(α) are mean-field,
    with the updates in :mod:`everypair.models.multilabel.rivals.compressed_inference`. Unknown labels are inferred
    while training; scores are E[y] of new rows. It exists to be compared with :class:`~everypair.MultiLabelMF`.
    Training needs memory for d·min(n, d) numbers; a sweep over labels, where some are missing and always when scoring,
    takes O(k²(L + k)) operations per row.

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

    rank: int = parameter(100, "length k of the compressed labels, at most L.", check.integer)
    compressed_noise: float | str = parameter(
        "auto",
        'σ, standard deviation of z around Wᵀx. It and ``weight_scale`` by ``"auto"`` start such that signal and '
        "noise share the variance of Φy equally; with fully observed labels the lower bound learns them from "
        "there. With missing labels they stay: there the bound favours weights of zero and unknown labels that "
        "explain everything.",
        or_auto(number(above=0)),
    )
    projection_noise: float = parameter(
        0.3, "χ, standard deviation of Φy around z; one label has entries of size 1 in Φy.", number(above=0)
    )
    weight_scale: float | str = parameter("auto", "s, prior standard deviation of a weight.", or_auto(number(above=0)))
    sparsity_shape: float = parameter(
        0.1, "a₀ of the Gamma prior of a label's precision: the smaller, the sparser the labels.", number(above=0)
    )
    sparsity_rate: float | str = parameter(
        "auto",
        'b₀ of that prior. b₀/a₀ is the variance that inference starts from, ``"auto"`` sets it to the share of '
        "positives among known labels.",
        or_auto(number(above=0)),
    )
    max_iter: int = parameter(50)
    tol: float = parameter(1e-5, "stop when the bound rises by less than this share of its size.", check.tolerance)
    label_iter: int = parameter(5, "sweeps over q(y) and q(α) of a row when scoring.", check.integer)

    projection_ = FittedAttribute("model")
    feature_weights_ = FittedAttribute("model")
    scales_ = FittedAttribute("model")
    sparsity_ = FittedAttribute("model")

    def _fit(
        self,
        rows: LabelledRows,
        parameters: SimpleNamespace,
        random: np.random.Generator,
        callbacks: tuple[Callback, ...],
    ) -> CompressedLabels:
        X, labels, sample_weight = rows
        n, L = labels.shape
        rank, shape, rate = parameters.rank, parameters.sparsity_shape, parameters.sparsity_rate
        if rank > L:
            raise ValueError(f"rank must be at most the number of labels, {L}, got {rank}.")
        density = labels.positives.nnz / (n * L if labels.known is None else labels.known.nnz)
        sparsity = (shape, shape * density if rate is None else rate)
        row_weights = np.ones(n) if sample_weight is None else sample_weight
        projection = random.standard_normal((rank, L))
        X, positives = X.astype(np.float64), labels.positives.astype(np.float64)
        unknown = None if labels.known is None else _unknown_entries(labels.known)
        scales = _start(parameters, X, density * L, row_weights)
        full = unknown is None
        learn = (full and parameters.compressed_noise is None, full and parameters.weight_scale is None)
        with single_threaded_blas():
            inference = Inference(
                X, positives, unknown, projection, row_weights, scales, sparsity, learn, parameters.n_threads
            )
            start = Posterior(np.zeros((X.shape[1], rank)), scales)
            outcome = train(
                inference, start, StopRules(parameters.max_iter, parameters.tol, None, parameters.time_limit),
                callbacks=callbacks, verbose=parameters.verbose, identity=(self, rows),
            )  # fmt: skip
        return CompressedLabels(
            projection, outcome.state.weights, outcome.state.scales, sparsity, parameters.label_iter, outcome.history,
            outcome.status,
        )  # fmt: skip


def _start(parameters: SimpleNamespace, X: Any, labels_per_row: float, row_weights: Array64) -> Scales:
    """σ² and the prior's variance of Wᵀx at half of the variance of Φy, which is the mean number of labels."""
    lengths = np.asarray((X**2).sum(axis=1)).ravel()
    length = max(float(row_weights @ lengths / row_weights.sum()), np.finfo(np.float64).tiny)
    half = labels_per_row / 2
    noise, scale = parameters.compressed_noise, parameters.weight_scale
    return Scales(
        half if noise is None else noise**2,
        parameters.projection_noise**2,
        half / length if scale is None else scale**2,
    )


def _unknown_entries(labels: sp.csr_array) -> NDArray[np.bool_]:
    stored = sp.csr_array((np.ones(labels.nnz, bool), labels.indices, labels.indptr), shape=labels.shape)
    return ~stored.toarray()
