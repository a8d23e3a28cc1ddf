"""The all-pairs preconditioner of a block Newton step: every pair counts as much as an average pair of its column.

    H ≈ (XᵀPX) ⊗ Vᵀ(Q + diag τ)V + (λ_f I + λ_g XᵀLX) ⊗ I,        τ_j = Σ_i t_ij / Σ_i p_i

The first factor is decomposed once per training, the second (k × k) at every Newton step; in both eigenbases the sum is
diagonal and is inverted exactly (for d > 512 outside the 256 leading eigenvectors as if all others were equal). For
large d, XᵀPX ≈ FFᵀ + diag(δ) with a randomized F of few columns, inverted by
the Woodbury identity. Own vectors T (U = T + XW) are eliminated first, A = p_i σ + λ_i + λ_g L_ii, which leaves W the
Schur complement with σλ̄/(p̄σ + λ̄) instead of σ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from everypair.features.matrix import DENSE_ROWS, Features
from everypair.parallel import Chunk, blocked_product, even_chunks, run_chunks, single_threaded_blas
from everypair.problem.embedding import Embedding
from everypair.problem.rotation import eigenbasis, rotate
from everypair.types import Array

Solve = Callable[[Array], Array]
EXACT_FEATURES = 2048  # features up to which XᵀPX is decomposed: O(d³) once
ALL_EIGENVECTORS, LEADING = 512, 256  # features up to which all of its eigenvectors count, and how many do beyond
LOW_RANK = 24  # columns of F beyond that
POWER_STEPS = 2
FEATURE_ROWS = 2048  # of F that are multiplied at a time
SMALLEST = 1e-7  # of the mean of XᵀPX's diagonal: where λ_f is smaller, it is this
FACTORISABLE = 1e-12  # of the trace of λ_g XᵀLX: the least ridge with which it has a Cholesky factor


@dataclass(frozen=True)
class Spectrum:
    """XᵀPX ≈ V diag(values) Vᵀ + rest (I − VVᵀ): its leading eigenvectors, and the mean eigenvalue of all others.

    It depends on X and P alone, so one serves every ridge, rank and loss, and, scaled, every large part of the rows.
    """

    values: Array
    vectors: Array
    rest: float

    @classmethod
    def of(cls, features: Features, weights: Array) -> Spectrum:
        """All eigenvectors of up to 512 features, the 256 leading ones of more."""
        return cls.of_gram(features.gram(weights), features.dtype)

    @classmethod
    def of_gram(cls, gram: NDArray[np.float64], dtype: Any) -> Spectrum:
        """Of XᵀPX itself."""
        size = len(gram)
        if size <= ALL_EIGENVECTORS:
            values, vectors = np.linalg.eigh(gram.astype(dtype))
            return cls(values, vectors, 0.0)
        leading = (size - LEADING, size - 1)
        values, vectors = scipy.linalg.eigh(gram.astype(dtype), subset_by_index=leading, check_finite=False)
        rest = (float(np.trace(gram)) - float(values.sum(dtype=np.float64))) / (size - LEADING)
        return cls(values, vectors, max(rest, 0.0))

    def scaled(self, share: float) -> Spectrum:
        """Of about that share of the rows."""
        return Spectrum(self.values * self.values.dtype.type(share), self.vectors, self.rest * share)


class Preconditioner:
    """What can be prepared once for one side; :meth:`at` adds what changes from step to step."""

    def __init__(
        self, embedding: Embedding, this_weights: Array, n_threads: int = 1, spectrum: Spectrum | None = None
    ) -> None:
        self.embedding, self.n_threads = embedding, n_threads
        self.weights = counted_weights(this_weights)
        self._features: Callable[[Array], Solve] | None = None
        if embedding.features is not None:
            with single_threaded_blas():
                self._features = _feature_solver(embedding, embedding.features, self.weights, n_threads, spectrum)

    def at(self, other: Array, sigma: Array, curvatures: NDArray[np.float64]) -> Solve:
        """Return R ↦ P⁻¹R where VᵀQV = diag σ and ``curvatures`` are Σ_i t_ij for every row of ``other``.

        A constant column stays apart: nothing that is zero there becomes anything else.
        """
        total = float(self.weights.sum(dtype=np.float64))
        free = np.arange(len(sigma)) != self.embedding.constant
        form = column_form(other, curvatures / total)
        return in_effective_basis(self._solver, sigma, form, free, self.n_threads)

    def _solver(self, sigma: Array) -> Solve:
        embedding, threads = self.embedding, self.n_threads
        if self._features is None:
            inverse = self._own_inverse(sigma)
            return lambda residual: residual * inverse
        if not embedding.own:
            return self._features(sigma)
        inverse, weighted = self._own_inverse(sigma), self.weights[:, None] * sigma
        ridge, mean_weight = float(np.mean(self._own_ridge())), float(np.mean(self.weights))
        weights_solver = self._features(
            (sigma * ridge / np.maximum(mean_weight * sigma + ridge, 1e-30)).astype(sigma.dtype)
        )
        features = embedding.features

        def solve(residual: Array) -> Array:
            assert features is not None
            own = embedding.own_part(residual) * inverse
            weights = weights_solver(embedding.feature_part(residual) - features.adjoint(weighted * own, threads))
            own -= inverse * weighted * features.product(weights, threads)
            return np.concatenate([own, weights])

        return solve

    def _own_ridge(self) -> Array:
        ridge = self.embedding.own_part(self.embedding.ridge)
        if self.embedding.graph is not None:
            ridge = ridge + (self.embedding.graph_reg * self.embedding.graph.diagonal).astype(ridge.dtype)
        return ridge

    def _own_inverse(self, sigma: Array) -> Array:
        diagonal = self.weights[:, None] * sigma + self._own_ridge()[:, None]
        return 1 / np.maximum(diagonal, np.finfo(sigma.dtype).tiny + SMALLEST * diagonal.max(initial=0))


def column_form(other: Array, curvatures: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vᵀ diag(curvatures) V."""
    wide = other.astype(np.float64)
    return np.asarray((wide * curvatures[:, None]).T @ wide)


def in_effective_basis(
    solver: Callable[[Array], Solve], sigma: Array, form: NDArray[np.float64], free: NDArray[np.bool_], n_threads: int
) -> Solve:
    """R ↦ P⁻¹R in the eigenbasis of diag σ + Vᵀ diag(τ) V, the latter given as ``form``; ``solver`` knows the rest."""
    spectrum, basis = eigenbasis(np.diag(sigma.astype(np.float64)) + form, free)
    there, back = basis.astype(sigma.dtype), np.ascontiguousarray(basis.T.astype(sigma.dtype))
    solve = solver(spectrum.astype(sigma.dtype))
    return lambda residual: rotate(solve(rotate(residual, there, n_threads)), back, n_threads)


def _feature_ridge(embedding: Embedding, squares: NDArray[np.float64]) -> float:
    return feature_ridge(float(embedding.feature_part(embedding.ridge)[0]), squares)


def feature_ridge(ridge: float, squares: NDArray[np.float64]) -> float:
    """λ_f, or a ten-millionth of the mean of XᵀPX's diagonal where that is more."""
    return max(ridge, SMALLEST * float(squares.mean()), 1e-30)


def counted_weights(this_weights: Array) -> Array:
    """P of the preconditioner: ones where nothing outside Ω has a weight."""
    return this_weights if this_weights.any() else np.ones_like(this_weights)


def _feature_solver(
    embedding: Embedding, features: Features, weights: Array, n_threads: int, spectrum: Spectrum | None
) -> Callable[[Array], Solve]:
    if features.shape[1] > EXACT_FEATURES:
        return _low_rank(embedding, features, weights, n_threads)
    if embedding.graph is not None:
        return _with_graph(embedding, features, weights, n_threads)
    spectrum = spectrum or Spectrum.of(features, weights)
    return by_spectrum(
        spectrum,
        float(embedding.feature_part(embedding.ridge)[0]),
        features.squares(weights),
        features.dtype,
        n_threads,
    )


def by_spectrum(
    spectrum: Spectrum, ridge: float, squares: NDArray[np.float64], dtype: Any, n_threads: int = 1
) -> Callable[[Array], Solve]:
    """σ ↦ (R ↦ P⁻¹R) for W alone, from XᵀPX decomposed; ``squares`` is its diagonal, ``ridge`` λ_f."""
    ridge = feature_ridge(ridge, squares)
    rest = spectrum.rest / ridge if spectrum.vectors.shape[1] < len(squares) else None
    return _in_eigenbasis(spectrum.values / ridge, spectrum.vectors / np.sqrt(ridge), dtype, n_threads, rest, ridge)


def by_diagonal(ridge: float, squares: NDArray[np.float64], dtype: Any) -> Callable[[Array], Solve]:
    """The same from the diagonal of XᵀPX alone."""
    base, diagonal = np.full((len(squares), 1), feature_ridge(ridge, squares)), squares[:, None]

    def at(sigma: Array) -> Solve:
        inverse = (1 / (base + diagonal * sigma)).astype(dtype)
        return lambda residual: residual * inverse

    return at


def _with_graph(embedding: Embedding, features: Features, weights: Array, n_threads: int) -> Callable[[Array], Solve]:
    """Generalised eigenvectors of (XᵀPX, λ_f I + λ_g XᵀLX)."""
    assert embedding.graph is not None
    gram = features.gram(weights)
    form = embedding.graph_reg * embedding.graph.form(features)
    ridge = max(_feature_ridge(embedding, np.diag(gram)), FACTORISABLE * float(np.trace(form)))
    values, vectors = scipy.linalg.eigh(gram, form + ridge * np.eye(len(gram)))
    return _in_eigenbasis(values, vectors, features.dtype, n_threads)


def _in_eigenbasis(
    values: Array, vectors: Array, dtype: Any, n_threads: int, rest: float | None = None, ridge: float = 1.0
) -> Callable[[Array], Solve]:
    """Invert 1 + value·σ along each vector, and 1 + rest·σ in what they do not span."""
    values = np.maximum(values, 0.0).astype(dtype)
    vectors = vectors.astype(dtype)
    across = np.ascontiguousarray(vectors.T)

    def at(sigma: Array) -> Solve:
        inverse = 1 / (1 + values[:, None] * sigma)
        outside = None if rest is None else (1 / (1 + rest * sigma)).astype(dtype)

        def solve(residual: Array) -> Array:
            inside = inverse if outside is None else inverse - outside
            along = blocked_product(across, residual, DENSE_ROWS, n_threads) * inside
            solved = blocked_product(vectors, along, DENSE_ROWS, n_threads)
            return solved if outside is None else solved + residual * (outside / dtype.type(ridge))

        return solve

    return at


def _low_rank(embedding: Embedding, features: Features, weights: Array, n_threads: int) -> Callable[[Array], Solve]:
    """Woodbury's two terms nearly cancel where XᵀPX is much larger than the ridge, so all of it is in float64."""
    squares = features.squares(weights)
    base = np.full(len(squares), _feature_ridge(embedding, squares))
    if embedding.graph is not None:
        base += embedding.graph_reg * embedding.graph.form_diagonal(features)
    factor = low_rank_factor(features, weights, n_threads).astype(np.float64)
    rest = np.maximum(squares - np.square(factor).sum(axis=1), 0.0)
    blocks = even_chunks(len(factor), FEATURE_ROWS)

    def at(sigma: Array) -> Solve:
        inverse = 1 / (base[:, None] + rest[:, None] * sigma.astype(np.float64))

        def invert(chunk: Chunk, worker: int) -> Array:
            core = np.eye(factor.shape[1]) / max(float(sigma[chunk[0]]), 1e-30)
            for rows in (slice(*block) for block in blocks):
                core += (factor[rows].T * inverse[rows, chunk[0]]) @ factor[rows]
            return np.asarray(np.linalg.inv(core))

        cores = np.stack(run_chunks(invert, even_chunks(len(sigma), 1), n_threads))

        def solve(residual: Array) -> Array:
            out = np.empty_like(residual)

            def project(chunk: Chunk, worker: int) -> Array:
                rows = slice(*chunk)
                return np.asarray(factor[rows].T @ (residual[rows] * inverse[rows]))

            inside = np.einsum("brs,sb->rb", cores, sum(run_chunks(project, blocks, n_threads)))

            def finish(chunk: Chunk, worker: int) -> None:
                rows = slice(*chunk)
                out[rows] = (residual[rows] - factor[rows] @ inside) * inverse[rows]

            run_chunks(finish, blocks, n_threads)
            return out

        return solve

    return at


def low_rank_factor(features: Features, weights: Array, n_threads: int = 1, rank: int = LOW_RANK) -> Array:
    """Return F (d × r) with FFᵀ ≈ XᵀPX in its leading directions, by randomized subspace iteration."""
    random = np.random.default_rng(0)
    columns = min(rank, *features.shape)
    basis = random.standard_normal((features.shape[1], columns)).astype(features.dtype)
    scale = weights[:, None].astype(features.dtype)

    def image(block: Array) -> Array:
        return features.adjoint(scale * features.product(block, n_threads), n_threads)

    for _ in range(POWER_STEPS):
        basis, _ = np.linalg.qr(image(basis))
    values, vectors = np.linalg.eigh(basis.T.astype(np.float64) @ image(basis))
    return np.asarray((basis @ vectors) * np.sqrt(np.maximum(values, 0.0)), features.dtype)
