"""Rows of a matrix with holes as draws of one normal distribution: its covariance by EM, shrunk to a prior.

    y_i = μ + x_i + e,   x_i ~ N(0, Σ),   e ~ N(0, σ²I) at the observed entries o of row i
    G_i = (Σ_oo + σ²I)⁻¹,   g_i = G_i (y_i − μ)_o,   E x_i = Σ_·o g_i
    B = Σ_i E_i (g_i g_iᵀ − G_i) E_iᵀ             E_i puts o back into its places
    Σ ← (n (Σ + η ΣBΣ/n) + ν Σ₀) / (n + ν)        η = 1: EM's step with ν rows of the prior Σ₀

Each observed entry left out in closed form: its error g_t / (G_i)_tt has the variance 1 / (G_i)_tt, where row i has not
taught Σ. A step costs Σ_i |o|³ + 4m³; rows with more than ``MOST`` entries teach Σ by so many of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from everypair.data.observed import Observed
from everypair.parallel import Chunk, blocked_product, even_chunks, run_chunks, single_threaded_blas
from everypair.types import Array64

MOST = 500
ROWS_AT_ONCE = 64  # whose inverses are kept at a time
BLOCK_ROWS = 128
LEAST = 1e-3  # eigenvalue of Σ in units of its prior's mean variance


class RowFit(NamedTuple):
    """One row: the columns o, g, G where it was asked for, y's negative log-likelihood, and g² / diag G."""

    columns: NDArray[np.int64]
    g: Array64
    G: Array64 | None
    value: float
    squares: Array64


@dataclass(frozen=True)
class GaussianRowsProblem:
    """Values less the columns' means (``centred``), σ² (``noise``), Σ₀ (``prior``) and its weight ν in rows.

    Rows ``aside`` teach Σ nothing.
    """

    centred: Observed
    noise: float
    prior: Array64
    prior_rows: float
    n_threads: int = 1
    aside: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def known(self) -> NDArray[np.int64]:
        """Rows with an observed entry."""
        return np.flatnonzero(np.diff(self.centred.indptr))

    def fits(
        self, rows: NDArray[np.int64], covariance: Array64, inverses: bool, most: int | None = None
    ) -> Iterator[RowFit]:
        """These rows, in order; some of a row's entries where there are more than ``most``."""
        pattern = self.centred

        def work(chunk: Chunk, worker: int) -> RowFit:
            here = np.arange(pattern.indptr[rows[chunk[0]]], pattern.indptr[rows[chunk[0]] + 1])
            if most is not None and len(here) > most:
                here = here[np.linspace(0, len(here) - 1, most).astype(np.int64)]
            return fit_row(pattern.indices[here], pattern.values[here], covariance, self.noise, inverses)

        for first, last in even_chunks(len(rows), ROWS_AT_ONCE):
            yield from run_chunks(work, [(row, row + 1) for row in range(first, last)], self.n_threads)

    def weights(self, covariance: Array64) -> tuple[Array64, float]:
        """All g, row-major, and the mean of the squared errors of left-out entries in units of their variances.

        The entries are those of rows aside, where there are any.
        """
        rows = self.known
        found = list(self.fits(rows, covariance, inverses=False))
        judges = [fit.squares for row, fit in zip(rows, found) if not len(self.aside) or row in self.aside]
        return np.concatenate([fit.g for fit in found]), float(np.mean(np.concatenate(judges)))


def fit_row(
    columns: NDArray[np.int64], values: Array64, covariance: Array64, noise: float, inverse: bool = False
) -> RowFit:
    """g and what follows from it for one row.

    >>> row = fit_row(np.array([0]), np.array([2.0]), np.array([[3.0, 1.0], [1.0, 3.0]]), 1.0)
    >>> row.g.tolist(), row.squares.tolist()
    ([0.5], [1.0])
    """
    inner = covariance[np.ix_(columns, columns)]
    inner[np.diag_indices_from(inner)] += noise
    factor = scipy.linalg.cholesky(inner, lower=True, overwrite_a=True, check_finite=False)
    value = 2 * float(np.log(np.diag(factor)).sum()) + len(columns) * math.log(2 * math.pi)
    G = scipy.linalg.lapack.dpotri(factor, lower=1)[0]
    G = np.tril(G) + np.tril(G, -1).T
    g = G @ values
    value = 0.5 * (value + float(values @ g))
    return RowFit(columns, g, G if inverse else None, value, g * g / np.diag(G))


@dataclass(frozen=True)
class GaussianRowsState:
    """Σ, the negative log-likelihood of the Σ before it, and η, None before the first step."""

    covariance: Array64
    objective: float | None = None
    length: float | None = None


class CovarianceSteps:
    """Steps of Σ of length η (``length``), of EM's own length 1 once the likelihood has fallen."""

    descends = False  # where η > 1, and by the prior

    def __init__(self, problem: GaussianRowsProblem, length: float) -> None:
        self.problem, self.length = problem, length

    def step(self, state: GaussianRowsState) -> GaussianRowsState:
        """Σ from the second moments of all rows."""
        problem, K = self.problem, state.covariance
        B, value = np.zeros_like(K), 0.0
        for row in problem.fits(np.setdiff1d(problem.known, problem.aside), K, inverses=True, most=MOST):
            assert row.G is not None
            B[np.ix_(row.columns, row.columns)] += np.outer(row.g, row.g) - row.G
            value += row.value
        length = self.length if state.length is None else state.length
        if state.objective is not None and value > state.objective:
            length = min(length, 1.0)
        n, nu = problem.centred.shape[0] - len(problem.aside), problem.prior_rows
        with single_threaded_blas():
            moved = blocked_product(K, B, BLOCK_ROWS, problem.n_threads)
            moved = blocked_product(moved, K, BLOCK_ROWS, problem.n_threads)
            moved = (n * K + length * moved + nu * problem.prior) / (n + nu)
            return GaussianRowsState(_positive((moved + moved.T) / 2, problem.prior), value, length)


def _positive(K: Array64, prior: Array64) -> Array64:
    """K, its eigenvalues not below a little."""
    least = LEAST * float(np.diag(prior).mean())
    raised = K.copy()
    raised[np.diag_indices_from(raised)] -= least
    try:
        scipy.linalg.cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        eigenvalues, vectors = np.linalg.eigh(K)
        return np.asarray((vectors * np.maximum(eigenvalues, least)) @ vectors.T)
    return K
