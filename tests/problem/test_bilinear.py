"""A N Cᵀ in factors equals the dense product, for every combination of sides."""

import numpy as np
import pytest

from everypair.data.observed import Observed
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.low_rank import DENSE_SHARE, LowRank, entries_of, sparse_adjoint, sparse_product
from everypair.problem.completion.masked import MaskedProblem

N, M = 9, 7
RANDOM = np.random.default_rng(0)
OBSERVED = Observed.from_matrix(RANDOM.standard_normal((N, M)), RANDOM.random((N, M)) < 0.5)


def case(sides, centred, wide=False):
    random = np.random.default_rng(1)
    a, c = (5, 3) if wide else (3, 5)
    A = random.standard_normal((N, a)) if sides in ("both", "left") else None
    C = random.standard_normal((M, c)) if sides in ("both", "right") else None
    side = Bilinear((N, M), A, C, centred)
    full_a, full_c = np.eye(N) if A is None else A, np.eye(M) if C is None else C
    if centred:
        full_c = full_c - full_c.mean(axis=0)
    return side, full_a, full_c, random.standard_normal(side.weights_shape)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("sides", ["both", "left", "right"])
def test_products_and_adjoints(sides, centred, wide):
    side, A, C, weights = case(sides, centred, wide)
    X = A @ weights @ C.T
    np.testing.assert_allclose(side.dense(weights), X, atol=1e-12)
    assert side.factors(weights)[0].shape[1] == min(side.weights_shape) or sides != "both"
    np.testing.assert_allclose(side.entries(OBSERVED, weights), X[OBSERVED.rows, OBSERVED.indices], atol=1e-12)
    left, right = RANDOM.standard_normal((N, 2)), RANDOM.standard_normal((M, 2))
    np.testing.assert_allclose(side.project(left, right), A.T @ left @ right.T @ C, atol=1e-11)
    dense = OBSERVED.to_dense()
    np.testing.assert_allclose(side.project_dense(dense), A.T @ dense @ C, atol=1e-11)
    np.testing.assert_allclose(side.project_sparse(OBSERVED, OBSERVED.values), A.T @ dense @ C, atol=1e-11)
    np.testing.assert_allclose(side.curve(weights), A.T @ X @ C, atol=1e-10)
    assert side.curvature == pytest.approx(np.linalg.norm(A, 2) ** 2 * np.linalg.norm(C, 2) ** 2)


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_few_and_many_entries_give_the_same(share):
    random = np.random.default_rng(0)
    dense = random.standard_normal((300, 90))
    observed = Observed.from_matrix(dense, random.random(dense.shape) < share)
    P, Q = random.standard_normal((300, 4)), random.standard_normal((90, 4))
    assert (observed.nnz * DENSE_SHARE >= dense.size) == (share == 0.5)
    for threads in (1, 2):
        np.testing.assert_allclose(entries_of(observed, P, Q, threads), (P @ Q.T)[observed.rows, observed.indices])
        zero_filled = observed.to_dense()
        np.testing.assert_allclose(sparse_product(observed, observed.values, Q, threads), zero_filled @ Q, atol=1e-11)
        np.testing.assert_allclose(sparse_adjoint(observed, observed.values, P, threads), zero_filled.T @ P, atol=1e-11)


def test_the_masked_residual_and_slope():
    side, A, C, weights = case("both", False)
    problem = MaskedProblem(OBSERVED, side)
    U, s, Vt = np.linalg.svd(RANDOM.standard_normal((N, M)), full_matrices=False)
    low_rank = LowRank(U[:, :2], s[:2], Vt[:2].T)
    at = OBSERVED.rows, OBSERVED.indices
    for M_part, N_part in ((low_rank, weights), (None, weights), (low_rank, None), (LowRank.zero((N, M)), None)):
        full = np.zeros((N, M))
        full += 0 if M_part is None else M_part.dense()
        full += 0 if N_part is None else A @ N_part @ C.T
        np.testing.assert_allclose(problem.residual(M_part, N_part), full[at] - OBSERVED.values, atol=1e-12)
    residual = problem.residual(low_rank, weights)
    spread = np.zeros((N, M))
    spread[at] = residual
    np.testing.assert_allclose(problem.slope(residual), A.T @ spread @ C, atol=1e-11)
    np.testing.assert_allclose(problem.moved(low_rank, 0.3, residual).dense(), low_rank.dense() - 0.3 * spread)
    nuclear, l1 = problem.strongest()
    assert nuclear == pytest.approx(np.linalg.norm(OBSERVED.to_dense(), 2), rel=1e-6)
    assert l1 == pytest.approx(np.abs(A.T @ OBSERVED.to_dense() @ C).max())
