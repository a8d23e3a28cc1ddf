import numpy as np
import pytest

from everypair.problem.gram import BLOCK_ROWS, gram, weighted_norm

SIZES = [1, 7, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 5]


def random_side(size, dtype):
    rng = np.random.default_rng(size)
    return (
        rng.normal(size=(size, 5)).astype(dtype),
        rng.uniform(size=size).astype(dtype),
        rng.normal(size=(size, 2)).astype(dtype),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("imputed", [False, True])
def test_weighted_products(dtype, size, imputed):
    factors, weights, values = random_side(size, dtype)
    computed = gram(factors, weights, values if imputed else None, n_threads=2)
    weighted = factors.astype(np.float64).T * weights.astype(np.float64)
    other = values.astype(np.float64) if imputed else np.ones((size, 1))
    assert computed.matrix.dtype == computed.pull.dtype == np.float64
    np.testing.assert_allclose(computed.matrix, weighted @ factors.astype(np.float64), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(computed.pull, weighted @ other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_threads_do_not_change_a_bit(dtype, size):
    side = random_side(size, dtype)
    one, *others = (gram(*side, n_threads=threads) for threads in (1, 2, 3))
    for other in others:
        assert np.array_equal(one.matrix, other.matrix)
        assert np.array_equal(one.pull, other.pull)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_weighted_norm(dtype, size):
    factors, weights, _ = random_side(size, dtype)
    expected = np.sum(weights.astype(np.float64)[:, None] * factors.astype(np.float64) ** 2)
    assert weighted_norm(factors, weights) == pytest.approx(expected, rel=1e-12)
