"""Poisson factorization: every pair is a count with mean s_ij = u_i · v_j > 0, nothing stored is a count of zero.

    F = −Σ_{Ω⁺} c_ij log s_ij + Σ_{all} s_ij + Σ_{dislikes} w_ij s_ij + Σ_x (λx − a log x)      x: all factors, > 0

The sum over all pairs is linear in the scores, (Σ_i u_i) · (Σ_j v_j): it costs O((m + n)k), without a Gram matrix. Both
sides move by multiplicative steps, row by row (:mod:`everypair.kernels.poisson`), O(|Ω|k) each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.rows import StoredRows
from everypair.kernels.poisson import poisson_rows
from everypair.kernels.writable import writable_view
from everypair.parallel import Chunk, block_chunks, block_sums, run_chunks, sum_blocks
from everypair.solvers.state import Factors
from everypair.types import Array

STEPS = 3  # of each row in a half-sweep
FOLD_IN_STEPS, FOLD_IN_TOL = 2000, 1e-6


@dataclass(frozen=True)
class Prior:
    """λx − a log x of a factor: minus the logarithm of a Gamma density of shape a + 1 and rate λ."""

    reg: float
    smoothing: float

    def value(self, factors: Array) -> float:
        """The sum over a side's factors."""
        if self.smoothing == 0:
            return self.reg * block_sums(factors.sum(axis=1, dtype=np.float64))
        rows = self.reg * factors.sum(axis=1, dtype=np.float64)
        return block_sums(rows - self.smoothing * np.log(factors).sum(axis=1, dtype=np.float64))


def column_sums(factors: Array, n_threads: int) -> NDArray[np.float64]:
    """Σ_i u_i, the same bits on any number of threads."""
    found: NDArray[np.float64] = sum_blocks(
        lambda block, worker: factors[slice(*block)].sum(axis=0, dtype=np.float64), len(factors), n_threads
    )
    return found


def moved_rows(
    rows: StoredRows,
    this: Array,
    other: Array,
    sums: NDArray[np.float64],
    prior: Prior,
    n_threads: int,
    steps: int = STEPS,
    tol: float = 0.0,
) -> tuple[Array, NDArray[np.float64]]:
    """Improved rows of a side and each one's sum over its stored pairs; ``sums`` are those of ``other``'s columns."""
    new, values, totals = this.copy(), np.zeros(len(this)), sums + prior.reg
    other = writable_view(other)

    def work(chunk: Chunk, worker: int) -> None:
        poisson_rows(
            *chunk, rows.indptr, rows.indices, rows.data, other, totals, prior.smoothing, steps, tol, new, values
        )

    run_chunks(work, block_chunks(rows.indptr), n_threads)
    return new, values


def folded(rows: StoredRows, other: Array, sums: NDArray[np.float64], prior: Prior, n_threads: int) -> Array:
    """New rows of a side at the optimum of their part of F; each depends on itself alone."""
    start = np.ones((len(rows.indptr) - 1, other.shape[1]), other.dtype)
    return moved_rows(rows, start, other, sums, prior, n_threads, FOLD_IN_STEPS, FOLD_IN_TOL)[0]


class PoissonSweeps:
    """Lower F by multiplicative steps on the left rows, then on the right ones; ``rows`` are signed weights (csr)."""

    descends = True

    def __init__(self, rows: Any, prior: Prior, n_threads: int = 1) -> None:
        self.rows = StoredRows.of(rows), StoredRows.of(rows.T.tocsr())
        self.prior, self.n_threads = prior, n_threads

    def step(self, state: Factors) -> Factors:
        """One sweep over both sides."""
        sums = column_sums(state.right, self.n_threads)
        left, _ = moved_rows(self.rows[0], state.left, state.right, sums, self.prior, self.n_threads)
        sums = column_sums(left, self.n_threads)
        right, pairs = moved_rows(self.rows[1], state.right, left, sums, self.prior, self.n_threads)
        every = float(sums @ column_sums(right, self.n_threads))
        parts = block_sums(pairs), every, self.prior.value(left), self.prior.value(right)
        rounding = float(np.finfo(left.dtype).eps) * sum(abs(part) for part in parts)
        return Factors(left, right, sum(parts), rounding=rounding)
