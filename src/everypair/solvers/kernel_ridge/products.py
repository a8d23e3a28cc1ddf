"""Products K X and X K with the kernel of one side of a matrix: the identity, K itself, or factors and a diagonal.

    K = I,      K dense (n²),      K = F Fᵀ + δI (n p, from landmarks)

Products run over fixed blocks of rows, so that the number of threads changes no bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import blocked_product

Matrix = NDArray[Any]
ROWS_AT_ONCE = 128


class SideKernel(Protocol):
    """A symmetric positive semidefinite n × n matrix by its products."""

    def times(self, X: Matrix, n_threads: int) -> Matrix:
        """K X."""
        ...

    def after(self, X: Matrix, n_threads: int) -> Matrix:
        """X K."""
        ...


@dataclass(frozen=True)
class IdentityKernel:
    """K = I: rows (columns) tell nothing of each other."""

    def times(self, X: Matrix, n_threads: int) -> Matrix:
        """X itself."""
        return X

    def after(self, X: Matrix, n_threads: int) -> Matrix:
        """X itself."""
        return X


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
