"""Variational inference of labels that are seen through a random projection (Kapoor, Viswanathan & Jain, NIPS 2012).

The joint density of weights W (d × k), compressed labels z_i, labels y_i and their precisions α_i, with rows x_i and
a random Φ (k × L, standard normal entries), is

    p(W) Π_i N(z_i; Wᵀx_i, σ²I) · N(Φy_i; z_i, χ²I) · Π_l N(y_il; 0, 1/α_il) Γ(α_il; a₀, b₀),    W_fj ~ N(0, s²).

Known labels are clamped. Mean field, q(W) Π_i q(z_i) q(y_i) q(α_i), has these updates, none of which lowers the bound:

    q(W)   columns N(m_j, S_W):   S_W = (XᵀX/σ² + I/s²)⁻¹,   M = S_W Xᵀ E[Z] / σ²
    q(z)   N(μ_z, v_z I):         v_z = 1/(1/σ² + 1/χ²),     μ_z = (χ² Mᵀx + σ² Φ E[y]) / (σ² + χ²)
    q(y)   N(μ, S) on unknown U:  S = (A + Φ_UᵀΦ_U/χ²)⁻¹ with A = diag E[α];  given z, μ = S Φ_Uᵀ(μ_z − Φ_O y_O)/χ²
    q(α)   Γ(a₀ + ½, b₀ + ½ E[y²])
    σ², s² their means under q:   E‖z − Wᵀx‖²/(nk),   E‖W‖²/(dk)

μ_z and μ crawl when updated in turn, as χ ≪ σ; their joint maximum has z eliminated, with V = A⁻¹ (0 where known):

    K = Φ V Φᵀ,   μ = V Φᵀ (K + (σ² + χ²)I)⁻¹ (Mᵀx − Φ_O y_O),   S = V − V Φᵀ (K + χ²I)⁻¹ Φ V       (Woodbury)

so a row with unknown labels costs O(k²(L + k)) per sweep, the known part only its positives. Fully observed labels
need no q(y) at all. The weights cost one eigendecomposition of the smaller Gram matrix of X, O(min(n, d)³ + nnz(X)·
min(n, d)), and O(nnz(X)k + d·min(n, d)·k) per sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import digamma, gammaln

from everypair.parallel import Chunk, even_chunks, run_chunks
from everypair.solvers.loop import Volatile
from everypair.types import Array64

BATCH_NUMBERS = 2**21  # of the largest scratch array of a batch of rows, k·L each
LOG_2PI_E = float(np.log(2 * np.pi * np.e))


@dataclass(frozen=True)
class Scales:
    """Variances of the model: σ² of compressed labels around Wᵀx, χ² of Φy around z, s² of a weight."""

    compressed: float
    projected: float
    weight: float

    @property
    def both(self) -> float:
        """σ² + χ²: the variance of Φy around Wᵀx."""
        return self.compressed + self.projected

    @property
    def posterior(self) -> float:
        """v_z = 1/(1/σ² + 1/χ²): the variance of z between the two."""
        return self.compressed * self.projected / self.both


class WeightPosterior:
    """q(W) in the eigenbasis of XᵀDX, D = diag(row weights): M = V (Λ + ρ)⁻¹ VᵀXᵀDZ with ρ = σ²/s²."""

    def __init__(self, X: Any, row_weights: Array64) -> None:
        self.X, self.row_weights = X, row_weights
        n, self.d = X.shape
        scaled = sp.diags_array(np.sqrt(row_weights)) @ X
        gram = scaled.T @ scaled if self.d <= n else scaled @ scaled.T
        values, vectors = eigh(gram.toarray() if sp.issparse(gram) else gram, overwrite_a=True, driver="evd")
        kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
        self.values: Array64 = values[kept]
        self.basis: Array64 = vectors[:, kept] if self.d <= n else (scaled.T @ vectors[:, kept]) / np.sqrt(self.values)

    def update(self, Z: Array64, scales: Scales) -> Array64:
        """Return M (d × k) from E[Z] (n × k)."""
        ratio = scales.compressed / scales.weight
        inner = self.basis.T @ (self.X.T @ (Z * self.row_weights[:, None]))
        return self.basis @ (inner / (self.values + ratio)[:, None])

    def spread(self, scales: Scales) -> tuple[float, float, float]:
        """Return (Σ_i w_i x_iᵀS_W x_i, tr S_W, log|S_W|) of one column; directions without data keep the prior."""
        shares = self.values + scales.compressed / scales.weight
        idle = self.d - len(self.values)
        return (
            float(scales.compressed * (self.values / shares).sum()),
            float((scales.compressed / shares).sum() + idle * scales.weight),
            float(np.log(scales.compressed / shares).sum() + idle * np.log(scales.weight)),
        )


class RowPosterior(NamedTuple):
    """q(y) of some rows on their unknown labels (elsewhere mean and variance are 0), and what the bound needs."""

    mean: Array64
    variance: Array64
    log_determinant: Array64  # log|S| = Σ_U log v − log|I + K/χ²|
    projected_trace: Array64  # tr(Φ_U S Φ_Uᵀ)


def infer_labels(residual: Array64, prior_variance: Array64, projection: Array64, scales: Scales) -> RowPosterior:
    """Return q(y) of rows given ``residual`` = Mᵀx − Φ_O y_O (c × k) and V's diagonals 1/E[α] (c × L, 0 where known).

    Batched over the rows, O(k²(L + k)) each.

    >>> one = infer_labels(np.array([[2.0]]), np.array([[1.0]]), np.array([[1.0]]), Scales(1.0, 2.0, 1.0))
    >>> one.mean.tolist(), one.variance.round(3).tolist()  # 2·1/(1 + 3) and 1/(1 + 1/2)
    ([[0.5]], [[0.667]])
    """
    k = len(projection)
    identity = np.eye(k)
    K = (projection * prior_variance[:, None, :]) @ projection.T
    solved = np.linalg.solve(K + scales.both * identity, residual[:, :, None])[:, :, 0]
    inverse = np.linalg.inv(K + scales.projected * identity)
    reduction = np.einsum("fl,cfl->cl", projection, inverse @ projection)
    return RowPosterior(
        mean=prior_variance * (solved @ projection),
        variance=prior_variance * np.maximum(1 - prior_variance * reduction, 0),
        log_determinant=np.log(np.where(prior_variance > 0, prior_variance, 1.0)).sum(axis=1)
        - np.linalg.slogdet(identity + K / scales.projected)[1],
        projected_trace=scales.projected * (k - scales.projected * np.trace(inverse, axis1=1, axis2=2)),
    )


def expected_variance(second_moment: Array64, shape: float, rate: float) -> Array64:
    """1/E[α] under q(α) = Γ(a₀ + ½, b₀ + ½E[y²])."""
    return (rate + 0.5 * second_moment) / (shape + 0.5)


def sparsity_bound(second_moment: Array64, prior_variance: Array64, shape: float, rate: float) -> Array64:
    """E[log N(y; 0, 1/α) + log Γ(α; a₀, b₀)] + H[α] of each label; q(α) = Γ(a₀ + ½, ·) has mean 1/prior_variance."""
    a = shape + 0.5
    b = a * prior_variance
    log_alpha = digamma(a) - np.log(b)
    of_label = 0.5 * (log_alpha - np.log(2 * np.pi) - second_moment / prior_variance)
    of_precision = shape * np.log(rate) - gammaln(shape) + (shape - 1) * log_alpha - rate / prior_variance
    entropy = a - np.log(b) + gammaln(a) + (1 - a) * digamma(a)
    return of_label + of_precision + entropy


def batches(rows: int, projection: Array64) -> list[Chunk]:
    """Cut rows into batches whose scratch memory is bounded."""
    return even_chunks(rows, max(1, BATCH_NUMBERS // projection.size))


@dataclass(frozen=True)
class Posterior:
    """What a sweep ends with: E[W], the variances, and the negative lower bound."""

    weights: Array64
    scales: Scales
    objective: float | None = None


class Inference(Volatile):
    """q while training: a ``sweep`` updates every factor once, ``bound`` is the lower bound; the loop runs ``step``.

    ``unknown`` (n × L of booleans) marks labels to infer; ``None`` where every label is known. ``learn`` says whether
    σ² and s² are learnt. Weights of rows multiply the rows' terms of the bound.
    """

    descends = True

    def __init__(
        self,
        X: Any,
        positives: Any,
        unknown: NDArray[np.bool_] | None,
        projection: Array64,
        row_weights: Array64,
        scales: Scales,
        sparsity: tuple[float, float],
        learn: tuple[bool, bool],
        n_threads: int,
    ) -> None:
        self.X, self.projection, self.row_weights, self.scales = X, projection, row_weights, scales
        self.shape, self.rate = sparsity
        self.unknown, self.learn, self.n_threads = unknown, learn, n_threads
        self.known_part: Array64 = positives @ projection.T  # Φ_O y_O
        self.Z = self.known_part
        self.weights = WeightPosterior(X, row_weights)
        if unknown is not None:
            self.prior_variance: Array64 = np.where(unknown, self.rate / self.shape, 0.0)

    def step(self, state: Posterior) -> Posterior:
        """One sweep."""
        self.sweep()
        return Posterior(self.M, self.scales, -self.bound())

    def sweep(self) -> None:
        """Update q(W), q(y) and q(z), q(α), and the variances that are learnt."""
        self.update_weights()
        self.update_labels()
        self.update_precisions()
        self.update_scales()

    def update_weights(self) -> None:
        """q(W), and the predictions XM."""
        self.M = self.weights.update(self.Z, self.scales)
        self.weight_spread = self.weights.spread(self.scales)
        self.predicted: Array64 = self.X @ self.M

    def update_labels(self) -> None:
        """q(y) of unknown labels and q(z), jointly."""
        scales = self.scales
        self.projected = self.known_part
        if self.unknown is not None:
            self.labels = self._infer()
            self.second_moment = self.labels.mean**2 + self.labels.variance
            self.projected = self.known_part + self.labels.mean @ self.projection.T
        self.Z = (scales.projected * self.predicted + scales.compressed * self.projected) / scales.both
        self.compressed_variance = scales.posterior

    def update_precisions(self) -> None:
        """q(α) of unknown labels, kept as 1/E[α]."""
        if self.unknown is not None:
            variance = expected_variance(self.second_moment, self.shape, self.rate)
            self.prior_variance = np.where(self.unknown, variance, 0.0)

    def update_scales(self) -> None:
        """σ² and s² where they are learnt."""
        k, scales = len(self.projection), self.scales
        compressed, weight = scales.compressed, scales.weight
        if self.learn[0]:
            compressed = self._compressed_misfit() / (k * float(self.row_weights.sum()))
        if self.learn[1]:
            weight = self._squared_weights() / self.M.size
        self.scales = Scales(compressed, scales.projected, weight)

    def bound(self) -> float:
        """The lower bound of the log evidence without constants, which clamped labels and their precisions add."""
        k, scales, total = len(self.projection), self.scales, float(self.row_weights.sum())
        of_weights = 0.5 * self.M.size * (1 - np.log(scales.weight)) - 0.5 * self._squared_weights() / scales.weight
        of_weights += 0.5 * k * self.weight_spread[2]
        misfit = ((self.projected - self.Z) ** 2).sum(axis=1) + k * self.compressed_variance
        of_labels = 0.0
        if self.unknown is not None:
            misfit += self.labels.projected_trace
            priors = np.where(self.unknown, self.prior_variance, 1.0)
            terms = sparsity_bound(self.second_moment, priors, self.shape, self.rate) + 0.5 * LOG_2PI_E
            of_rows = (terms * self.unknown).sum(axis=1) + 0.5 * self.labels.log_determinant
            of_labels = float(self.row_weights @ of_rows)
        of_compressed = 0.5 * k * total * (LOG_2PI_E + np.log(self.compressed_variance))
        of_compressed -= 0.5 * k * total * np.log(4 * np.pi**2 * scales.compressed * scales.projected)
        of_compressed -= 0.5 * self._compressed_misfit() / scales.compressed
        of_compressed -= 0.5 * float(self.row_weights @ misfit) / scales.projected
        return float(of_weights + of_compressed + of_labels)

    def _infer(self) -> RowPosterior:
        residual = self.predicted - self.known_part

        def work(chunk: Chunk, worker: int) -> RowPosterior:
            rows = slice(*chunk)
            return infer_labels(residual[rows], self.prior_variance[rows], self.projection, self.scales)

        parts = run_chunks(work, batches(len(residual), self.projection), self.n_threads)
        return RowPosterior(*(np.concatenate(column) for column in zip(*parts)))

    def _compressed_misfit(self) -> float:
        """Σ_i w_i E‖z_i − Wᵀx_i‖²."""
        means = float(self.row_weights @ ((self.Z - self.predicted) ** 2).sum(axis=1))
        total = float(self.row_weights.sum())
        return means + len(self.projection) * (self.weight_spread[0] + total * self.compressed_variance)

    def _squared_weights(self) -> float:
        """E‖W‖²."""
        return float((self.M**2).sum()) + len(self.projection) * self.weight_spread[1]
