"""Products of two towers that move together, and Adam's step, against plain numpy."""

import numpy as np
import pytest

from everypair.kernels.tower_pairs import PAIRS, adam_step, joint_product


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [1, 5, 16])
def test_joint_products_are_those_of_the_pairs(dtype, rank):
    random = np.random.default_rng(0)
    lengths = np.array([0, 1, 3, PAIRS, PAIRS + 9, 2 * PAIRS + 1])  # of rows
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    m, n = len(lengths), 4 * PAIRS
    indices = np.concatenate([random.choice(n, length, replace=False) for length in lengths]).astype(np.int32)
    W, U = (random.normal(size=(m, rank)).astype(dtype) for _ in range(2))
    H, V = (random.normal(size=(n, rank)).astype(dtype) for _ in range(2))
    t = random.normal(size=len(indices)).astype(dtype)
    z, out = np.empty_like(t), np.empty_like(W)
    for start, stop in ((0, 2), (2, m)):
        joint_product(start, stop, indptr, indices, t, W, H, U, V, z, out)
    rows = np.repeat(np.arange(m), lengths)
    expected = t * (np.sum(W[rows] * V[indices], axis=1) + np.sum(U[rows] * H[indices], axis=1))
    total = np.zeros((m, rank))
    np.add.at(total, rows, expected[:, None] * V[indices])
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(z, expected, **close)
    np.testing.assert_allclose(out, total, **close)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_of_adam_is_its_formula(dtype):
    random = np.random.default_rng(0)
    x, g, m, v, average = (random.normal(size=33).astype(dtype) for _ in range(5))
    v = v * v
    b1, b2, rate, root, small, share = (dtype(one) for one in (0.9, 0.99, 0.1, 0.5, 1e-8, 0.3))
    means, squares = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    moved = x - rate * means / (np.sqrt(squares) / root + small)
    expected = moved, means, squares, average + share * (moved - average)
    adam_step(x, g, m, v, average, b1, b2, rate, root, small, share)
    for found, one in zip((x, m, v, average), expected, strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, one, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-7)
