"""Kernel ridge regression of all columns at once, and what each row would be told if it had not been there.

    A = argmin Σ_i c_i ‖y_i − (KA)_i‖² + λ tr(AᵀKA) = (K + λC⁻¹)⁻¹ Y
    L = Y − A / diag((K + λC⁻¹)⁻¹)         row i of L: the prediction of row i by the model fitted without it

One Cholesky factorisation serves every column, and its inverse's diagonal every row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.solvers.kernel_ridge.points import lower_matrix
from everypair.solvers.kernel_ridge.tiles import TiledCholesky

Matrix = NDArray[Any]
KernelValues = Callable[[slice, slice], Matrix]  # of the rows of one block with those of another


@dataclass(frozen=True)
class KernelRidge:
    """The factorised system K + diag(``ridges``), ready for any number of columns.

    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> system = KernelRidge.of(lambda i, j: rows[i] @ rows[j].T, np.ones(3), n_threads=1)
    >>> Y = np.array([[1.0], [0.0], [1.0]])
    >>> A = system.coefficients(Y)
    >>> (rows.T @ A).round(3).ravel().tolist()  # the weights of a linear kernel
    [0.625, 0.125]
    >>> system.left_out(Y, A).round(3).ravel().tolist()
    [0.4, 0.2, 0.5]
    """

    factor: TiledCholesky
    n_threads: int

    @classmethod
    def of(cls, values: KernelValues, ridges: Matrix, n_threads: int) -> KernelRidge:
        """Fill and factorise the matrix of ``values``, with one ridge λ/c_i per row; n² numbers of ridges' type."""
        lower = lower_matrix(values, len(ridges), ridges.dtype, n_threads)
        lower[np.diag_indices_from(lower)] += ridges
        return cls(TiledCholesky.factorise(lower, n_threads), n_threads)

    def coefficients(self, Y: Matrix) -> Matrix:
        """A."""
        return self.factor.solve(Y, self.n_threads)

    def left_out(self, Y: Matrix, A: Matrix, start: int = 0) -> Matrix:
        """L, from row ``start`` on: the last third of the rows costs a 27th of all."""
        return np.asarray(Y[start:] - A[start:] / self.factor.inverse_diagonal(self.n_threads, start)[:, None])
