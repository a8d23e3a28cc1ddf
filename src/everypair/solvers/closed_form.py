"""The best linear model of low rank under the squared loss, in closed form (LEML, Claims 1 and 2).

    min_{rank Z ≤ k} ½ ‖Y − XZ‖²  at  Z = V_X Σ_X⁻¹ M_k,    X = U_X Σ_X V_Xᵀ (thin SVD),    M = U_XᵀY

M_k is M cut to its k leading singular values: what lies outside the range of X costs the same whatever Z is, and
inside it ‖U_XᵀY − Σ_X V_XᵀZ‖ is smallest where Σ_X V_XᵀZ is the best approximation of M of rank k. Where several Z are
best this one has the least norm. It is also the solution of conditional principal label space transformation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from everypair.parallel import single_threaded_blas

Matrix = NDArray[np.float64]
DENSE_ENTRIES = 2**24  # up to which X is decomposed as a dense matrix
EXACT_SIDE = 4096  # shorter side up to which the other decompositions are exact
LEADING = 1024  # directions of X that count beyond that
POWER_STEPS = 7


def low_rank_regression(X: Any, Y: Any, rank: int, seed: int = 0) -> tuple[Matrix, Matrix]:
    """Return W (d × r) and H (L × r), r ≤ ``rank``, with WHᵀ = Z and ‖W‖ balanced against H; X, Y sparse or dense.

    Exact where X has at most 16 million entries or one side of at most 4096; beyond that X is replaced by its 1024
    leading directions, found by randomized SVD (and M's likewise where it is as large).

    >>> X, Y = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> W, H = low_rank_regression(X, Y, rank=2)
    >>> np.allclose(W @ H.T, [[1.0, 1.0], [0.0, 0.5]])
    True
    """
    with single_threaded_blas():
        left, values, right = _thin_svd(X, seed)
        inside = np.asarray((Y.T @ left).T, np.float64)  # M
        r = min(rank, *inside.shape)
        if min(inside.shape) <= EXACT_SIDE:
            U, S, Vt = scipy.linalg.svd(inside, full_matrices=False, check_finite=False)
        else:
            U, S, Vt = randomized_svd(inside, r, n_iter=POWER_STEPS, random_state=seed)
        roots = np.sqrt(S[:r])
        return (right / values) @ (U[:, :r] * roots), Vt[:r].T * roots


def _thin_svd(X: Any, seed: int) -> tuple[Matrix, Matrix, Matrix]:
    """U_X, the singular values that rounding cannot have made, and V_X."""
    n, d = X.shape
    X = X.astype(np.float64)
    if n * d <= DENSE_ENTRIES:
        dense = X.toarray() if sp.issparse(X) else X
        left, values, across = scipy.linalg.svd(dense, full_matrices=False, check_finite=False)
        kept = values > max(n, d) * np.finfo(np.float64).eps * values[0]
        return left[:, kept], values[kept], across[kept].T
    if min(n, d) <= EXACT_SIDE:
        return _by_gram(X)
    left, values, across = randomized_svd(X, min(LEADING, n, d), n_iter=POWER_STEPS, random_state=seed)
    kept = values > np.sqrt(np.finfo(np.float64).eps) * values[0]
    return left[:, kept], values[kept], across[kept].T


def _by_gram(X: Any) -> tuple[Matrix, Matrix, Matrix]:
    """The thin SVD from the eigenvectors of the smaller of XᵀX and XXᵀ."""
    wide = X.shape[0] < X.shape[1]
    gram = X @ X.T if wide else X.T @ X
    squares, vectors = scipy.linalg.eigh(gram.toarray() if sp.issparse(gram) else gram, check_finite=False)
    kept = squares > len(squares) * np.finfo(np.float64).eps * squares[-1]
    values, vectors = np.sqrt(squares[kept]), vectors[:, kept]
    other = np.asarray((X.T if wide else X) @ vectors) / values
    return (vectors, values, other) if wide else (other, values, vectors)
