"""Products K X and X K with the kernel of one side of a matrix: the identity, K itself, or factors and a diagonal.

    K = I,      K dense (n²),      K = F Fᵀ + δI (n p, from landmarks)

Products run over fixed blocks of rows, so that the number of threads changes no bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from everypair.parallel import Chunk, blocked_product, even_chunks, run_chunks, single_threaded_blas
from everypair.solvers.kernel_ridge.landmarks import KernelColumns, LandmarkFactor

Matrix = NDArray[Any]
ROWS_AT_ONCE = 128
EXACT = 4096  # rows with a dense kernel
LANDMARKS = 1024
DIAGONAL_ROWS = 64
ROUNDING = 1e-9


class SideKernel(Protocol):
    """A symmetric positive semidefinite n × n matrix by its products."""

    def times(self, X: Matrix, n_threads: int) -> Matrix:
        """K X."""
        ...

    def after(self, X: Matrix, n_threads: int) -> Matrix:
        """X K."""
        ...

    def drawn(self, random: np.random.Generator, columns: int, n_threads: int) -> Matrix:
        """Columns of N(0, K), n × ``columns``."""
        ...


@dataclass(frozen=True)
class IdentityKernel:
    """K = I: ``size`` rows (columns) tell nothing of each other."""

    size: int

    def times(self, X: Matrix, n_threads: int) -> Matrix:
        """X itself."""
        return X

    def after(self, X: Matrix, n_threads: int) -> Matrix:
        """X itself."""
        return X

    def drawn(self, random: np.random.Generator, columns: int, n_threads: int) -> Matrix:
        """Independent normal numbers."""
        return random.standard_normal((self.size, columns))


@dataclass(frozen=True)
class DenseKernel:
    """K as it is.

    >>> DenseKernel(np.array([[2.0, 1.0], [1.0, 2.0]])).times(np.eye(2), n_threads=1).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """

    matrix: Matrix

    def times(self, X: Matrix, n_threads: int) -> Matrix:
        """K X."""
        return blocked_product(self.matrix, X, ROWS_AT_ONCE, n_threads)

    def after(self, X: Matrix, n_threads: int) -> Matrix:
        """X K."""
        return blocked_product(X, self.matrix, ROWS_AT_ONCE, n_threads)

    @cached_property
    def _root(self) -> Matrix:
        """C of CCᵀ = K, and as little more as factorising needs."""
        lower = self.matrix.copy()
        lower[np.diag_indices_from(lower)] += ROUNDING * float(np.diag(lower).max())
        with single_threaded_blas():
            return np.tril(scipy.linalg.cholesky(lower, lower=True, check_finite=False))

    def drawn(self, random: np.random.Generator, columns: int, n_threads: int) -> Matrix:
        """Columns of N(0, K)."""
        normal = random.standard_normal((len(self.matrix), columns))
        return blocked_product(self._root, normal, ROWS_AT_ONCE, n_threads)


@dataclass(frozen=True)
class FactoredKernel:
    """K = F Fᵀ + δI with p columns of F, for more rows than K has room for.

    >>> kernel = FactoredKernel(np.array([[1.0], [2.0]]), 0.5)
    >>> kernel.times(np.eye(2), n_threads=1).tolist()
    [[1.5, 2.0], [2.0, 4.5]]
    """

    F: Matrix
    shift: float

    @cached_property
    def _turned(self) -> Matrix:
        return np.ascontiguousarray(self.F.T)

    def times(self, X: Matrix, n_threads: int) -> Matrix:
        """K X."""
        inner = blocked_product(self._turned, X, ROWS_AT_ONCE, n_threads)
        out = blocked_product(self.F, inner, ROWS_AT_ONCE, n_threads)
        out += self.shift * X
        return out

    def after(self, X: Matrix, n_threads: int) -> Matrix:
        """X K."""
        inner = blocked_product(X, self.F, ROWS_AT_ONCE, n_threads)
        out = blocked_product(inner, self._turned, ROWS_AT_ONCE, n_threads)
        out += self.shift * X
        return out

    def drawn(self, random: np.random.Generator, columns: int, n_threads: int) -> Matrix:
        """Columns of N(0, K)."""
        inner, own = (random.standard_normal((size, columns)) for size in self.F.shape[::-1])
        return blocked_product(self.F, inner, ROWS_AT_ONCE, n_threads) + np.sqrt(self.shift) * own


def kernel_of(values: KernelColumns, n: int, shift: float, n_threads: int) -> SideKernel:
    """K + δI for the kernel ``values`` of n entities: dense up to ``EXACT`` of them, through landmarks beyond.

    >>> kernel_of(lambda some, others: np.ones((3, 3))[some][:, others], 3, 1.0, n_threads=1).matrix.tolist()
    [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    """
    if n > EXACT:
        diagonal = np.concatenate([np.diag(values(slice(a, b), slice(a, b))) for a, b in even_chunks(n, DIAGONAL_ROWS)])
        drawn = LandmarkFactor.drawn(values, diagonal, LANDMARKS, np.random.default_rng(0), n_threads)
        return FactoredKernel(drawn.F, shift)
    matrix = np.empty((n, n))

    def work(chunk: Chunk, worker: int) -> None:
        matrix[slice(*chunk)] = values(slice(*chunk), slice(None))

    run_chunks(work, even_chunks(n, ROWS_AT_ONCE), n_threads)
    matrix[np.diag_indices(n)] += shift
    return DenseKernel(matrix)
