"""The WARP kernel against a plain-Python twin on the same random numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.bpr import draw_negative, draw_positive, random_number
from everypair.kernels.warp import shorten, warp_epoch


def twin(updates, X, positives, sums, negatives, margin, rate, limit, W, V, state):
    """One epoch in plain numpy; ``negatives`` is None where whatever is not positive is negative."""
    total = 0.0
    owners = np.repeat(np.arange(X.shape[0]), np.diff(positives.indptr))
    for _ in range(updates):
        entry = draw_positive(0, positives.nnz, sums, state)
        i, p = owners[entry], positives.indices[entry]
        first, last = positives.indptr[i], positives.indptr[i + 1]
        x = X[[i]].toarray()[0]
        u = x @ W
        if negatives is None:
            count = len(V) - (last - first)
        else:
            listed = negatives.indices[negatives.indptr[i] : negatives.indptr[i + 1]]
            count = len(listed)
        for attempt in range(1, count + 1):
            if negatives is None:
                n = draw_negative(first, last, positives.indices, len(V), state)
            else:
                n = listed[int(random_number(state) * count)]
            violation = margin - u @ V[p] + u @ V[n]
            if violation > 0:
                weight = sum(1 / t for t in range(1, count // attempt + 1))
                total += weight * violation
                W += rate * weight * np.outer(x, V[p] - V[n])
                V[p] += rate * weight * u
                V[n] -= rate * weight * u
                for M in (W, V):
                    M *= np.minimum(1, limit / np.linalg.norm(M, axis=1, keepdims=True))
                break
    return total / updates


@pytest.mark.parametrize("every", [True, False])
def test_equals_the_twin(every):
    rng = np.random.default_rng(0)
    X = sp.random_array((30, 12), density=0.4, rng=rng, format="csr")
    Y = rng.random((30, 9)) < 0.25
    Y[0] = False
    Y[1] = True  # a row without negatives must be passed over
    known = rng.random((30, 9)) < 0.6
    positives = sp.csr_array(Y if every else Y & known, dtype=np.float32)
    negatives = sp.csr_array(~Y & known, dtype=np.float32)
    sums = np.concatenate([[0.0], np.cumsum(rng.random(positives.nnz))])
    W, V = (M / np.maximum(1, np.linalg.norm(M, axis=1))[:, None] for M in rng.standard_normal((2, 12, 4)))
    V = V[:9]
    expected_W, expected_V = W.copy(), V.copy()
    owners = np.repeat(np.arange(30), np.diff(positives.indptr))
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, 10))])
    state, expected_state = np.array([7], np.uint64), np.array([7], np.uint64)
    loss = warp_epoch(
        200, X.indptr, X.indices, X.data, positives.indptr, positives.indices, owners, sums, every,
        negatives.indptr, negatives.indices, harmonic, 1.0, 0.1, 1.0, W, V, state,
    )  # fmt: skip
    expected = twin(
        200, X, positives, sums, None if every else negatives, 1.0, 0.1, 1.0, expected_W, expected_V, expected_state
    )
    assert loss == pytest.approx(expected)
    assert state[0] == expected_state[0]
    np.testing.assert_allclose(W, expected_W, atol=1e-10)
    np.testing.assert_allclose(V, expected_V, atol=1e-10)
    assert np.linalg.norm(W, axis=1).max() > 0.999  # the bound was met and held
    assert max(np.linalg.norm(M, axis=1).max() for M in (W, V)) < 1 + 1e-12


def test_shorten_scales_only_long_rows():
    matrix = np.array([[3.0, 4.0], [0.3, 0.4]])
    shorten(matrix, 0, 2.0)
    shorten(matrix, 1, 2.0)
    np.testing.assert_allclose(matrix, [[1.2, 1.6], [0.3, 0.4]])
