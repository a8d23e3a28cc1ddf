import numpy as np
import pytest
import scipy.sparse as sp

from everypair.features.matrix import DENSE_ROWS, Features

KINDS = {
    "sparse": sp.csr_array,
    "columns": sp.csc_array,
    "coordinates": sp.coo_array,
    "matrix": sp.csr_matrix,
    "dense": np.asarray,
    "fortran": np.asfortranarray,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def example(shape=(9, 6), seed=0):
    """A matrix with an empty row and an empty column."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=shape) * (random.random(shape) < 0.4)
    matrix[3], matrix[:, 2] = 0, 0
    return matrix, random


@every_kind
def test_products_against_dense(kind):
    matrix, random = example()
    features = Features(KINDS[kind](matrix))
    weights, gradient, p = random.normal(size=(6, 5)), random.normal(size=(9, 5)), random.random(9)
    p[1] = 0
    assert features.shape == (9, 6)
    np.testing.assert_allclose(features.product(weights), matrix @ weights, atol=1e-14)
    np.testing.assert_allclose(features.adjoint(gradient), matrix.T @ gradient, atol=1e-14)
    np.testing.assert_allclose(features.gram(p), matrix.T @ np.diag(p) @ matrix, atol=1e-14)
    np.testing.assert_allclose(features.squares(p), np.diag(features.gram(p)), atol=1e-14)
    assert features.mean_square_norm() == pytest.approx(np.mean(np.sum(matrix**2, axis=1)))
    stored = features.matrix
    assert np.array_equal(stored.toarray() if sp.issparse(stored) else stored, matrix)


@every_kind
@pytest.mark.parametrize("stored", [np.float32, np.float64, np.int64, bool])
def test_dtypes(kind, stored):
    matrix, random = example()
    matrix = (matrix * 3).astype(stored)
    features = Features(KINDS[kind](matrix), np.float32)
    weights = random.normal(size=(6, 5)).astype(np.float32)
    product, adjoint = features.product(weights), features.adjoint(np.ones((9, 5), np.float32))
    assert product.dtype == adjoint.dtype == features.matrix.dtype == np.float32
    np.testing.assert_allclose(product, matrix.astype(np.float64) @ weights, rtol=1e-5, atol=1e-5)
    ones = np.ones(9, np.float32)
    exact = matrix.astype(np.float32).astype(np.float64)
    for wide, expected in [(features.gram(ones), exact.T @ exact), (features.squares(ones), (exact**2).sum(axis=0))]:
        assert wide.dtype == np.float64
        np.testing.assert_allclose(wide, expected, rtol=1e-6, atol=1e-12)


def test_entries_stored_twice_or_out_of_order_are_summed():
    data, rows, columns = np.array([2.0, 1.0, 4.0, 3.0]), np.array([0, 0, 0, 1]), np.array([2, 2, 0, 1])
    unsorted = sp.csr_array((data, columns, np.array([0, 3, 4])), shape=(2, 3))
    twice = sp.coo_array((data, (rows, columns)), shape=(2, 3))
    expected = np.array([[4.0, 0, 3], [0, 3, 0]])
    for matrix in (unsorted, twice):
        features = Features(matrix)
        assert np.array_equal(features.product(np.eye(3)), expected)
        assert np.array_equal(features.adjoint(np.eye(2)), expected.T)
        assert np.array_equal(features.gram(np.ones(2)), expected.T @ expected)
        assert np.array_equal(features.squares(np.ones(2)), (expected**2).sum(axis=0))
        assert features.mean_square_norm() == 17


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_threads_do_not_change_a_bit(kind, dtype):
    matrix, random = example((3 * DENSE_ROWS + 7, 2 * DENSE_ROWS + 5))
    features = Features(KINDS[kind](matrix), dtype)
    weights = random.normal(size=(matrix.shape[1], 5)).astype(dtype)
    gradient = random.normal(size=(matrix.shape[0], 5)).astype(dtype)
    assert np.array_equal(features.product(weights, 1), features.product(weights, 2))
    assert np.array_equal(features.adjoint(gradient, 1), features.adjoint(gradient, 2))
    tolerance = 1e-3 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(features.product(weights), matrix @ weights, atol=tolerance)
    np.testing.assert_allclose(features.adjoint(gradient), matrix.T @ gradient, atol=tolerance)
