"""How much a linear model uses each feature: ‖W_f‖ of the ridge regression of targets on features.

    W = argmin ½ Σ_i c_i ‖t_i − a_i W‖² + ½ μ ‖W‖² = (AᵀCA + μI)⁻¹ AᵀCT

μ has the least squared error of predicting each row without it, in closed form from one eigendecomposition: with
AᵀCA = QΛQᵀ and h_i = c_i a_i Q (Λ + μ)⁻¹ Qᵀa_iᵀ the error of row i is (t_i − a_i W) / (1 − h_i). W is never kept: its
columns are solved some hundreds at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.parallel import even_chunks, single_threaded_blas

Matrix = NDArray[Any]
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
CHOICE_ROWS = 2000  # rows that μ is chosen on, at most
LARGEST_GRAM = 8192  # side up to which W is exact; beyond it comes from so many steps of conjugate gradients:
STEPS = 30
TARGETS_AT_ONCE = 256


def choose_ridge(
    A: Any,
    T: Any,
    sample_weight: Matrix | None = None,
    ridges: Sequence[float] = RIDGES,
    seed: int = 0,
    most_rows: int = CHOICE_ROWS,
) -> float:
    """Return μ with the least leave-one-out squared error, of at most ``most_rows`` rows drawn at random.

    >>> A, T = np.eye(3)[[0, 0, 1, 1]], np.array([[1.0], [1.0], [0.0], [0.0]])
    >>> choose_ridge(A, T)
    0.1
    """
    if A.shape[0] > most_rows:
        chosen = np.sort(np.random.default_rng(seed).choice(A.shape[0], most_rows, replace=False))
        A, T = A[chosen], T[chosen]
        sample_weight = None if sample_weight is None else sample_weight[chosen]
    A, T = _weighted(A, sample_weight), dense(_weighted(T, sample_weight))
    with single_threaded_blas():
        errors = _errors_wide if A.shape[0] <= A.shape[1] else _errors_tall
        squared = list(errors(A, T, ridges))
    return float(ridges[int(np.argmin(squared))])


def feature_norms(A: Any, T: Any, ridge: float, sample_weight: Matrix | None = None) -> Matrix:
    """Return ‖W_f‖ of every feature, for targets T (n × k), sparse or dense.

    >>> feature_norms(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0], [1.0]]), ridge=1.0).round(3).tolist()
    [0.5, 0.4]
    """
    A = _weighted(A, sample_weight)
    T = sp.csc_array(_weighted(T, sample_weight)) if sp.issparse(T) else _weighted(T, sample_weight)
    squares = np.zeros(A.shape[1])
    with single_threaded_blas():
        weights = _weights_of(A, ridge)
        for start, stop in even_chunks(T.shape[1], TARGETS_AT_ONCE):
            squares += np.square(weights(dense(T[:, start:stop])), dtype=np.float64).sum(axis=1)
    return np.sqrt(squares)


def ridge_weights(A: Any, T: Any, ridge: float) -> Matrix:
    """Return W itself (d × k), for a few dense targets T (n × k).

    >>> ridge_weights(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0], [1.0]]), ridge=1.0).round(3).tolist()
    [[0.5], [0.4]]
    """
    with single_threaded_blas():
        return _weights_of(A, ridge)(T)


def _weights_of(A: Any, ridge: float) -> Callable[[Matrix], Matrix]:
    """What makes columns of W of columns of T."""
    n, d = A.shape
    if min(n, d) > LARGEST_GRAM:
        return lambda T: _by_conjugate_gradients(A, T, ridge)
    gram = dense(A.T @ A if d <= n else A @ A.T)
    gram[np.diag_indices_from(gram)] += gram.dtype.type(ridge)
    factor = scipy.linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)

    def solve(right: Matrix) -> Matrix:
        return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))

    return (lambda T: solve(np.asarray(A.T @ T))) if d <= n else (lambda T: np.asarray(A.T @ solve(T)))


def _by_conjugate_gradients(A: Any, T: Matrix, ridge: float) -> Matrix:
    """Columns of W, each with steps of its own length."""
    W, residual = np.zeros((A.shape[1], T.shape[1]), T.dtype), np.asarray(A.T @ T)
    direction, size = residual.copy(), np.square(residual).sum(axis=0)
    goal = 1e-8 * size
    for _ in range(STEPS):
        applied = np.asarray(A.T @ (A @ direction)) + T.dtype.type(ridge) * direction
        step = size / np.maximum((direction * applied).sum(axis=0), np.finfo(T.dtype).tiny)
        W += step * direction
        residual -= step * applied
        before, size = size, np.square(residual).sum(axis=0)
        if (size <= goal).all():
            break
        direction = residual + (size / np.maximum(before, np.finfo(T.dtype).tiny)) * direction
    return W


def _errors_tall(A: Any, T: Matrix, ridges: Sequence[float]) -> Any:
    """Leave-one-out squared errors from the eigenvectors of AᵀA."""
    values, vectors = scipy.linalg.eigh(dense(A.T @ A), overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0)
    rows = np.asarray(A @ vectors)
    inside, squares = rows.T @ T, rows * rows
    for ridge in ridges:
        shrunk = 1 / (values + T.dtype.type(ridge))
        left = 1 - squares @ shrunk
        yield float(np.square((T - rows @ (shrunk[:, None] * inside)) / left[:, None], dtype=np.float64).sum())


def _errors_wide(A: Any, T: Matrix, ridges: Sequence[float]) -> Any:
    """The same from those of AAᵀ, where t − aW = μ (AAᵀ + μI)⁻¹T and 1 − h = μ diag (AAᵀ + μI)⁻¹."""
    values, vectors = scipy.linalg.eigh(dense(A @ A.T), overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0)
    inside, squares = vectors.T @ T, vectors * vectors
    for ridge in ridges:
        shrunk = 1 / (values + T.dtype.type(ridge))
        errors = (vectors @ (shrunk[:, None] * inside)) / (squares @ shrunk)[:, None]
        yield float(np.square(errors, dtype=np.float64).sum())


def _weighted(matrix: Any, sample_weight: Matrix | None) -> Any:
    """Rows times the root of their weights."""
    if sample_weight is None:
        return matrix
    root = np.sqrt(sample_weight).astype(matrix.dtype)
    return sp.csr_array(sp.diags_array(root) @ matrix) if sp.issparse(matrix) else root[:, None] * matrix


def dense(matrix: Any) -> Matrix:
    """A sparse or dense matrix as an array."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)
