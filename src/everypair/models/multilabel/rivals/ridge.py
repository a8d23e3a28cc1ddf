"""Ridge regression in closed form for many targets at once: W = argmin ½ Σ_i c_i ‖t_i − x_i W‖² + ½ λ ‖W‖².

With A = √C X, B = √C T and one Cholesky factorisation of the smaller side:

    d ≤ n:  W = (AᵀA + λI)⁻¹ AᵀB          n < d:  W = Aᵀ (AAᵀ + λI)⁻¹ B

λ = 0 gives the solution of least norm, A⁺B, through the eigenvalues of the same matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class RidgeSolver:
    """The factorised normal equations of features X (n × d), ready for any number of target matrices.

    Memory is min(n, d)² numbers; neither a sparse X nor sparse targets are made dense.

    >>> solver = RidgeSolver(np.array([[1.0, 0.0], [0.0, 2.0]]), reg=1.0)
    >>> solver.weights(np.array([[1.0], [1.0]])).round(3).tolist()
    [[0.5], [0.4]]
    """

    def __init__(self, X: Any, reg: float, sample_weight: Matrix | None = None) -> None:
        n, d = X.shape
        X = X.astype(np.float64)
        self.root = np.sqrt(np.ones(n) if sample_weight is None else sample_weight)
        self.A = _scaled(X, self.root)
        self.primal = d <= n
        gram = _dense(self.A.T @ self.A if self.primal else self.A @ self.A.T)
        if reg > 0:
            gram[np.diag_indices_from(gram)] += reg
            self._lower = scipy.linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
        else:
            values, vectors = scipy.linalg.eigh(gram, overwrite_a=True, check_finite=False)
            kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
            self._whitener = vectors[:, kept] / np.sqrt(values[kept])
            self._lower = None

    def _solve(self, right: Matrix) -> Matrix:
        if self._lower is None:
            return np.asarray(self._whitener @ (self._whitener.T @ right))
        return np.asarray(scipy.linalg.cho_solve((self._lower, True), right, check_finite=False))

    def weights(self, T: Any) -> Matrix:
        """W (d × k) for targets T (n × k), dense or sparse."""
        if self.primal:
            return self._solve(self.correlations(T))
        return np.asarray(self.A.T @ self._solve(_dense(_scaled(T, self.root))))

    def correlations(self, T: Any) -> Matrix:
        """XᵀCT (d × k)."""
        return _dense(self.A.T @ _scaled(T, self.root))


def _scaled(matrix: Any, by: Matrix) -> Any:
    """diag(by) · matrix, sparse if it was."""
    return sp.csr_array(sp.diags_array(by) @ matrix) if sp.issparse(matrix) else by[:, None] * matrix


def _dense(matrix: Any) -> Matrix:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, np.float64)
