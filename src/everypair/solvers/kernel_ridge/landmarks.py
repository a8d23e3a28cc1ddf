"""Kernel ridge regression through m landmarks, for more rows than a kernel matrix has room for.

    K ≈ FFᵀ,   F = K_·S C⁻ᵀ,   CCᵀ = K_SS + δI             S the landmarks, F: n × m numbers
    W = (FᵀDF + λI)⁻¹ FᵀDY,    scores of x: k(x, S) C⁻ᵀ W   D = diag(c), the rows' weights
    L_i = (F_i W − h_i y_i) / (1 − h_i),   h_i = c_i F_i (FᵀDF + λI)⁻¹ F_iᵀ

Landmarks are drawn some hundreds at a time, each row in proportion to what those before have left of k(x, x) (randomly
pivoted Cholesky; Chen, Epperly, Tropp and Webber, 2022): F grows by as many columns, so that choosing costs nothing
besides. With all rows as landmarks K = FFᵀ, and the solution is the exact one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from everypair.parallel import Chunk, even_chunks, run_chunks, single_threaded_blas
from everypair.solvers.kernel_ridge.tiles import TiledCholesky, tiles

Matrix = NDArray[Any]
Rows = slice | NDArray[np.int64]
KernelColumns = Callable[[Rows, Rows], Matrix]  # kernel values of some rows with others
AT_ONCE = 512
ROWS_AT_ONCE = 1024
DELTA = {"f": 1e-4, "d": 1e-10}  # δ in units of the largest k(x, x), by precision


@dataclass(frozen=True)
class LandmarkFactor:
    """S, by position, F and C.

    >>> rows = np.array([[0.0], [1.0], [5.0]])
    >>> def values(some, others):
    ...     return np.exp(-((rows[some] - rows[others].T) ** 2))
    >>> factor = LandmarkFactor.drawn(values, np.ones(3), 3, np.random.default_rng(0), n_threads=1)
    >>> bool(np.allclose(factor.F @ factor.F.T, values(slice(None), slice(None))))
    True
    """

    chosen: NDArray[np.int64]
    F: Matrix
    C: Matrix

    @classmethod
    def drawn(
        cls, values: KernelColumns, diagonal: Matrix, count: int, random: np.random.Generator, n_threads: int
    ) -> LandmarkFactor:
        """Draw ``count`` landmarks of the rows whose k(x, x) are ``diagonal``."""
        n = len(diagonal)
        order = np.empty(min(n, count), np.int64)
        return _grown(values, diagonal, order, n_threads, random)

    @classmethod
    def at(cls, values: KernelColumns, diagonal: Matrix, chosen: NDArray[np.int64], n_threads: int) -> LandmarkFactor:
        """Take landmarks that are chosen already."""
        return _grown(values, diagonal, chosen.copy(), n_threads, None)

    def coefficients(self, W: Matrix) -> Matrix:
        """C⁻ᵀ W: what kernel values with landmarks are multiplied by."""
        with single_threaded_blas():
            return np.asarray(scipy.linalg.solve_triangular(self.C, W, lower=True, trans=1, check_finite=False))


def _grown(
    values: KernelColumns, diagonal: Matrix, chosen: NDArray[np.int64], n_threads: int, random: Any
) -> LandmarkFactor:
    n, count, dtype = len(diagonal), len(chosen), diagonal.dtype
    F, C = np.empty((n, count), dtype), np.zeros((count, count), dtype)
    left, delta = diagonal.astype(np.float64), dtype.type(DELTA[dtype.char] * float(diagonal.max()))
    for first, last in even_chunks(count, AT_ONCE):
        if random is not None:
            chosen[first:last] = _draw(left, chosen[:first], last - first, random)
        now = chosen[first:last]
        before = F[now, :first]
        with single_threaded_blas():
            corner = values(now, now) - before @ before.T
            corner[np.diag_indices_from(corner)] += delta
            corner = np.asarray(scipy.linalg.cholesky(corner, lower=True, check_finite=False))
        C[first:last, :first], C[first:last, first:last] = before, corner

        def work(
            chunk: Chunk,
            worker: int,
            now: Any = now,
            before: Matrix = before,
            corner: Matrix = corner,
            first: int = first,
        ) -> Matrix:
            rows = slice(*chunk)
            residual = values(rows, now) - F[rows, :first] @ before.T
            F[rows, first : first + len(now)] = scipy.linalg.solve_triangular(
                corner, residual.T, lower=True, check_finite=False
            ).T
            return np.square(F[rows, first : first + len(now)], dtype=np.float64).sum(axis=1)

        explained = run_chunks(work, even_chunks(n, ROWS_AT_ONCE), n_threads)
        left = np.maximum(left - np.concatenate(explained), 0)
    return LandmarkFactor(chosen, F, C)


def _draw(left: Matrix, before: NDArray[np.int64], count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Rows that are no landmarks yet, in proportion to ``left``; any others where that is nothing."""
    chances = left + 1e-12 * max(float(left.max()), 1e-300)
    chances[before] = 0
    return np.sort(random.choice(len(left), count, replace=False, p=chances / chances.sum()))


@dataclass(frozen=True)
class LandmarkRidge:
    """The factorised m × m system FᵀDF + λI.

    >>> F = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> system = LandmarkRidge.of(F, 1.0, np.ones(3), n_threads=1)
    >>> W = system.weights(np.array([[1.0], [0.0], [1.0]]))
    >>> W.ravel().round(3).tolist()
    [0.625, 0.125]
    >>> system.left_out(np.array([[1.0], [0.0], [1.0]]), W).round(3).ravel().tolist()
    [0.4, 0.2, 0.5]
    """

    F: Matrix
    row_weights: Matrix
    factor: TiledCholesky
    n_threads: int

    @classmethod
    def of(cls, F: Matrix, ridge: float, row_weights: Matrix, n_threads: int) -> LandmarkRidge:
        """Add up and factorise."""
        m = F.shape[1]
        gram = np.empty((m, m), F.dtype)

        def work(chunk: Chunk, worker: int) -> None:
            block = F[:, slice(*chunk)] * row_weights[:, None]
            gram[slice(*chunk), : chunk[1]] = block.T @ F[:, : chunk[1]]

        run_chunks(work, tiles(m)[::-1], n_threads)
        gram[np.diag_indices_from(gram)] += F.dtype.type(ridge)
        return cls(F, row_weights, TiledCholesky.factorise(gram, n_threads), n_threads)

    def weights(self, Y: Matrix) -> Matrix:
        """W."""
        with single_threaded_blas():
            right = self.F.T @ (Y * self.row_weights[:, None])
        return self.factor.solve(right, self.n_threads)

    def left_out(self, Y: Matrix, W: Matrix) -> Matrix:
        """L."""
        out = np.empty(Y.shape, self.F.dtype)

        def work(chunk: Chunk, worker: int) -> None:
            rows = slice(*chunk)
            h = np.square(self.factor.forward(self.F[rows].T)).sum(axis=0) * self.row_weights[rows]
            out[rows] = (self.F[rows] @ W - h[:, None] * Y[rows]) / (1 - h)[:, None]

        run_chunks(work, even_chunks(len(Y), ROWS_AT_ONCE), self.n_threads)
        return out
