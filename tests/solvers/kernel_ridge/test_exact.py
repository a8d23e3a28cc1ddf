import numpy as np
import pytest
import scipy.sparse as sp

from everypair.solvers.kernel_ridge import points as points_module
from everypair.solvers.kernel_ridge import tiles as tiles_module
from everypair.solvers.kernel_ridge.exact import KernelRidge
from everypair.solvers.kernel_ridge.landmarks import LandmarkFactor, LandmarkRidge
from everypair.solvers.kernel_ridge.points import Points
from everypair.solvers.kernel_ridge.tiles import TiledCholesky


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(tiles_module, "TILE", 16)
    monkeypatch.setattr(tiles_module, "COLUMNS_AT_ONCE", 2)


def problem(n=75, d=4, columns=5, dtype=np.float64):
    random = np.random.default_rng(0)
    X, Y = random.standard_normal((n, d)).astype(dtype), random.standard_normal((n, columns)).astype(dtype)
    points = Points.of(X)
    ridges = (0.3 / (0.5 + random.random(n))).astype(dtype)
    return X, Y, ridges, lambda some, others: points[some].rbf(points[others], 0.5)


def plain_kernel(X, Z, gamma=0.5):
    return np.exp(-gamma * np.square(X[:, None] - Z[None]).sum(axis=2))


def test_coefficients_are_those_of_the_dense_system():
    X, Y, ridges, values = problem()
    expected = np.linalg.solve(plain_kernel(X, X) + np.diag(ridges), Y)
    np.testing.assert_allclose(KernelRidge.of(values, ridges, 1).coefficients(Y), expected, rtol=1e-9)


def test_leaving_a_row_out_is_fitting_without_it():
    X, Y, ridges, values = problem()
    system = KernelRidge.of(values, ridges, 1)
    left_out = system.left_out(Y, system.coefficients(Y))
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        K = plain_kernel(X[kept], X[kept]) + np.diag(ridges[kept])
        expected = plain_kernel(X[[i]], X[kept]) @ np.linalg.solve(K, Y[kept])
        np.testing.assert_allclose(left_out[[i]], expected, rtol=0, atol=1e-9)


def test_the_last_rows_are_left_out_alone():
    _, Y, ridges, values = problem()
    system = KernelRidge.of(values, ridges, 1)
    A = system.coefficients(Y)
    for start in (0, 31, 32, 33, 74):
        np.testing.assert_array_equal(system.left_out(Y, A, start), system.left_out(Y, A)[start:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(dtype):
    _, Y, ridges, values = problem(dtype=dtype)
    results = []
    for threads in (1, 2, 3):
        system = KernelRidge.of(values, ridges, threads)
        A = system.coefficients(Y)
        results.append((A.tobytes(), system.left_out(Y, A).tobytes()))
        assert A.dtype == dtype
    assert results[0] == results[1] == results[2]


def test_one_row_and_one_column():
    system = KernelRidge.of(lambda some, others: np.ones((1, 1)), np.ones(1), 2)
    A = system.coefficients(np.array([[3.0]]))
    assert np.allclose(A, 1.5)
    assert np.allclose(system.left_out(np.array([[3.0]]), A), 0)  # nothing is known without it


def test_a_matrix_that_is_not_positive_definite_is_refused():
    with pytest.raises(ValueError, match="not positive definite in float64: raise reg"):
        TiledCholesky.factorise(-np.eye(3), 1)


@pytest.mark.parametrize("density", [1.0, 0.2, 0.01])
def test_kernel_values_are_their_definition(density):
    random = np.random.default_rng(1)
    X = random.standard_normal((30, 20)) * (random.random((30, 20)) < density)
    for rows in (X, sp.csr_array(X)):
        points = Points.of(rows)
        assert sp.issparse(points.rows) == (sp.issparse(rows) and density < points_module.DENSE_SHARE)
        np.testing.assert_allclose(points[:7].rbf(points, 0.7), plain_kernel(X[:7], X, 0.7), rtol=1e-9)
    np.testing.assert_allclose(Points.of(sp.csr_array(X)).rbf(Points.of(X), 0.7), plain_kernel(X, X, 0.7), rtol=1e-9)


def landmarks(values, n, count, threads=1, dtype=np.float64):
    return LandmarkFactor.drawn(values, np.ones(n, dtype), count, np.random.default_rng(0), threads)


def test_all_rows_as_landmarks_are_exact():
    X, Y, ridges, values = problem()
    factor = landmarks(values, 75, 100)
    assert sorted(factor.chosen) == list(range(75))
    system = LandmarkRidge.of(factor.F, 0.3, 0.3 / ridges, 1)
    W = system.weights(Y)
    exact = KernelRidge.of(values, ridges, 1)
    A = exact.coefficients(Y)
    new = np.random.default_rng(5).standard_normal((9, 4))
    by_landmarks = plain_kernel(new, X[factor.chosen]) @ factor.coefficients(W)
    np.testing.assert_allclose(by_landmarks, plain_kernel(new, X) @ A, atol=1e-6)
    np.testing.assert_allclose(system.left_out(Y, W), exact.left_out(Y, A), atol=1e-6)


@pytest.mark.parametrize("at_once", [7, 512])
def test_the_factor_is_the_nystrom_approximation(at_once, monkeypatch):
    monkeypatch.setattr("everypair.solvers.kernel_ridge.landmarks.AT_ONCE", at_once)
    X, _, _, values = problem()
    factor = landmarks(values, 75, 30)
    assert len(set(factor.chosen)) == 30
    across = plain_kernel(X, X[factor.chosen])
    expected = across @ np.linalg.solve(across[factor.chosen], across.T)
    np.testing.assert_allclose(factor.F @ factor.F.T, expected, atol=1e-6)
    again = LandmarkFactor.at(values, np.ones(75), factor.chosen, 1)
    np.testing.assert_array_equal(again.F, factor.F)


def test_landmarks_leave_a_row_out_as_refitting_does():
    _, Y, ridges, values = problem()
    factor, weights = landmarks(values, 75, 20), 0.3 / ridges
    system = LandmarkRidge.of(factor.F, 0.3, weights, 1)
    left_out = system.left_out(Y, system.weights(Y))
    for i in (0, 40, 74):
        kept = np.arange(75) != i
        other = LandmarkRidge.of(factor.F[kept], 0.3, weights[kept], 1)
        np.testing.assert_allclose(left_out[i], factor.F[i] @ other.weights(Y[kept]), atol=1e-9)


def test_drawing_prefers_what_is_not_explained_yet():
    rows = np.vstack([np.zeros((200, 2)), 3 * np.eye(2), -3 * np.eye(2)])  # one place two hundred times, four others
    points = Points.of(rows)
    count = {"everypair.solvers.kernel_ridge.landmarks.AT_ONCE": 1}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in count.items():
            patch.setattr(name, value)
        factor = landmarks(lambda some, others: points[some].rbf(points[others], 1.0), 204, 5)
    assert set(factor.chosen) >= {200, 201, 202, 203}


def test_threads_change_no_bit_of_landmarks():
    _, Y, ridges, values = problem(dtype=np.float32)
    results = []
    for threads in (1, 2):
        factor = landmarks(values, 75, 30, threads, np.float32)
        system = LandmarkRidge.of(factor.F, 0.3, 0.3 / ridges, threads)
        W = system.weights(Y)
        results.append((factor.F.tobytes(), W.tobytes(), system.left_out(Y, W).tobytes()))
    assert results[0] == results[1]
