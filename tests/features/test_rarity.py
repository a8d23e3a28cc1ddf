"""RarityScaling: rare features count more, counts are damped, rows have length 1, later rows are read alike."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.features.rarity import RarityScaling

COUNTS = np.random.default_rng(0).poisson(0.7, (20, 8)) * 1.0
SHARES = np.where(COUNTS > 0, COUNTS / 10, 0)


def by_hand(X, training, exponent, counts):
    out = np.zeros_like(X)
    for i, row in enumerate(X):
        for f, value in enumerate(row):
            idf = 1 + np.log((1 + len(training)) / (1 + sum(training[:, f] != 0)))
            out[i, f] = (1 + np.log(value) if counts and value > 0 else value) * idf**exponent
        length = np.sqrt(sum(out[i] ** 2))
        out[i] /= length if length > 0 else 1
    return out


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("X", "counts"), [(COUNTS, True), (SHARES, False), (-COUNTS, False)])
def test_formula(X, counts, exponent):
    for form in (np.asarray, sp.csr_array, sp.coo_array):
        given = form(X[:15])
        scaling = RarityScaling.of(sp.csr_array(given) if sp.issparse(given) else given, exponent)
        assert scaling.counts == counts
        got = scaling(form(X))
        assert sp.issparse(got) == sp.issparse(given)
        np.testing.assert_allclose(got.toarray() if sp.issparse(got) else got, by_hand(X, X[:15], exponent, counts))
    np.testing.assert_array_equal(given.toarray(), X[:15])


def test_columns_that_are_scaled_already_and_float32():
    scaled = np.arange(8) < 3
    scaling = RarityScaling.of(COUNTS.astype(np.float32), 1.0, scaled)
    assert (scaling.weights[:3] == 1).all()
    assert (scaling.weights[3:] > 1).all()
    assert scaling.weights.dtype == scaling(COUNTS.astype(np.float32)).dtype == np.float32
    assert RarityScaling.of(np.zeros((3, 2)), 1.0)(np.zeros((1, 2))).tolist() == [[0, 0]]
