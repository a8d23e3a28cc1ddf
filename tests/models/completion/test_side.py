"""Orthonormal features: the span of the raw ones, their names kept."""

import numpy as np
import pytest

from everypair.models.completion.side import orthonormal_map


@pytest.mark.parametrize("shape", [(20, 6), (5, 9)])
def test_orthonormal_columns_span_the_same_and_dependent_ones_are_left_out(shape):
    random = np.random.default_rng(0)
    X = random.standard_normal(shape)
    X[:, 3] = X[:, 0] - 2 * X[:, 1]
    T, kept = orthonormal_map(X)
    Q = X @ T
    rank = np.linalg.matrix_rank(X)
    assert Q.shape[1] == len(kept) == rank
    np.testing.assert_allclose(Q.T @ Q, np.eye(rank), atol=1e-10)
    np.testing.assert_allclose(Q @ Q.T @ X, X, atol=1e-9)
    assert len(kept) < shape[1]
    unused = np.setdiff1d(np.arange(shape[1]), kept)
    assert not T[unused].any()


def test_orthonormal_features_stay_as_they_are():
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((10, 4)))[0]
    T, kept = orthonormal_map(Q)
    assert kept.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(Q @ T, Q, atol=1e-12)
