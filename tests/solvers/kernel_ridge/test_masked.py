"""Masked Kronecker ridge and its λ beside dense systems."""

import numpy as np
import pytest

from everypair.data.observed import Observed
from everypair.solvers.kernel_ridge import gcv
from everypair.solvers.kernel_ridge.gcv import gcv_scores, quadratures, random_signs
from everypair.solvers.kernel_ridge.masked import MaskedKernelRidge
from everypair.solvers.kernel_ridge.products import DenseKernel, FactoredKernel, IdentityKernel

RIDGES = (0.03, 0.3, 3.0)


def factors(n, p, seed):
    return np.random.default_rng(seed).standard_normal((n, p))


KERNELS = {
    "dense": lambda n, seed: DenseKernel(factors(n, n, seed) @ factors(n, n, seed).T / n),
    "factored": lambda n, seed: FactoredKernel(factors(n, 3, seed), 0.2),
    "identity": lambda n, seed: IdentityKernel(n),
}


def case(left, right, n=12, m=9, seed=0):
    random = np.random.default_rng(seed)
    pattern = Observed.from_matrix(np.where(random.random((n, m)) < 0.4, random.standard_normal((n, m)), np.nan))
    return pattern, KERNELS[left](n, 1), KERNELS[right](m, 2)


def dense(pattern, left, right):
    """K_Ω, entry by entry."""
    (n, m), (rows, columns) = pattern.shape, (pattern.rows, pattern.indices)
    K_r, K_c = left.times(np.eye(n), 1), right.times(np.eye(m), 1)
    return np.array([[K_r[i, k] * K_c[j, l] for k, l in zip(rows, columns)] for i, j in zip(rows, columns)]), K_r, K_c


@pytest.mark.parametrize("left", KERNELS)
@pytest.mark.parametrize("right", KERNELS)
def test_equals_the_dense_system(left, right):
    pattern, K_r, K_c = case(left, right)
    K, whole_r, whole_c = dense(pattern, K_r, K_c)
    system = MaskedKernelRidge(pattern, K_r, K_c, 0.3, 1)
    targets = np.column_stack([pattern.values, np.random.default_rng(3).standard_normal((pattern.nnz, 2))])
    expected = np.linalg.solve(K + 0.3 * np.eye(pattern.nnz), targets)
    found = system.solve(targets, tol=1e-12)
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    again = system.solve(targets, start=expected + 0.1, tol=1e-12)
    np.testing.assert_allclose(again.values, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    assert system.solve(targets, start=expected).products <= 3  # it is there already
    A = np.zeros(pattern.shape)
    A[pattern.rows, pattern.indices] = expected[:, 0]
    np.testing.assert_allclose(system.completed(expected[:, 0]), whole_r @ A @ whole_c, atol=1e-10)
    for kernel, whole in ((K_r, whole_r), (K_c, whole_c)):
        other = np.random.default_rng(4).standard_normal((3, len(whole)))
        np.testing.assert_allclose(kernel.after(other, 1), other @ whole, atol=1e-12)


def test_it_is_the_minimiser_off_the_mask_too():
    """The best A of all n × m matrices is zero off Ω: moving any entry raises the objective."""
    pattern, K_r, K_c = case("dense", "dense")
    _, whole_r, whole_c = dense(pattern, K_r, K_c)
    a = MaskedKernelRidge(pattern, K_r, K_c, 0.3, 1).solve(pattern.values[:, None], tol=1e-13).values[:, 0]
    mask = pattern.with_values(np.ones(pattern.nnz)).to_dense() > 0
    A = np.zeros(pattern.shape)
    A[mask] = a

    def value(A):
        F = whole_r @ A @ whole_c
        return 0.5 * np.sum((F[mask] - pattern.values) ** 2) + 0.15 * np.sum(A * F)

    random = np.random.default_rng(5)
    for _ in range(50):
        assert value(A + 1e-3 * random.standard_normal(A.shape)) > value(A)


@pytest.mark.parametrize("kind", KERNELS)
def test_threads_change_no_bit(kind):
    pattern, K_r, K_c = case(kind, kind, 300, 140)
    one, two = (
        MaskedKernelRidge(pattern, K_r, K_c, 0.5, threads).solve(pattern.values[:, None]).values for threads in (1, 2)
    )
    assert np.array_equal(one, two)


def test_nothing_to_learn_needs_no_product():
    pattern, K_r, K_c = case("dense", "dense")
    found = MaskedKernelRidge(pattern, K_r, K_c, 0.3, 1).solve(np.zeros((pattern.nnz, 1)))
    assert found.products == 0
    assert not found.values.any()


def test_gcv_is_its_definition(monkeypatch):
    monkeypatch.setattr(gcv, "ENOUGH", 0.0)
    pattern, K_r, K_c = case("dense", "dense")
    K, *_ = dense(pattern, K_r, K_c)
    y, z, N = pattern.values, random_signs(pattern.nnz), pattern.nnz
    product = MaskedKernelRidge(pattern, K_r, K_c, 0.0, 1).product
    found = gcv_scores(product, y, z, RIDGES, steps=N)
    for score, ridge in zip(found, RIDGES):
        inverse = np.linalg.inv(K + ridge * np.eye(N))
        a = inverse @ y
        np.testing.assert_allclose(score, N * (a @ a) / (z @ inverse @ z) ** 2, rtol=1e-8)
        # which is the residual of the smoother S, its trace estimated by one probe
        S = K @ inverse
        plain = N * np.sum((y - S @ y) ** 2) / (N - np.trace(S)) ** 2
        probes = [random_signs(N, seed) for seed in range(400)]
        trace = np.mean([probe @ inverse @ probe for probe in probes])
        np.testing.assert_allclose(N * (a @ a) / trace**2, plain, rtol=0.1)


def test_few_steps_are_close_enough_to_choose():
    pattern, K_r, K_c = case("dense", "factored", 60, 40)
    product = MaskedKernelRidge(pattern, K_r, K_c, 0.0, 1).product
    y, z = pattern.values, random_signs(pattern.nnz)
    np.testing.assert_allclose(
        gcv_scores(product, y, z, RIDGES), gcv_scores(product, y, z, RIDGES, steps=400), rtol=0.05
    )


def test_quadratures_of_nothing_are_zero_and_of_an_eigenvector_exact():
    scale = np.array([3.0, 1.0, 0.5])
    assert quadratures(lambda x: scale * x, np.zeros(3), RIDGES, 1).tolist() == [0, 0, 0]
    np.testing.assert_allclose(
        quadratures(lambda x: scale * x, np.array([2.0, 0, 0]), RIDGES, 2), [4 / (3 + r) ** 2 for r in RIDGES]
    )
