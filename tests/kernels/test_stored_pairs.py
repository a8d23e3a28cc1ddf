import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.stored_pairs import curvature_product, pair_scores, pair_terms, sparse_dense, weight_sums

from ..problem.brute import PLAIN_LOSSES, loss_named

M, N, K = 9, 7, 5
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


@pytest.fixture(params=[np.float32, np.float64])
def data(request):
    """A pattern with an empty and a full row, factors, and one random number per stored pair."""
    dtype = request.param
    rng = np.random.default_rng(0)
    pattern = rng.random((M, N)) < 0.5
    pattern[2], pattern[4] = False, True
    csr = sp.csr_array(pattern)
    return {
        "dtype": dtype,
        "tolerance": TOLERANCE[dtype],
        "indptr": csr.indptr.astype(np.int64),
        "indices": csr.indices.astype(np.int32),
        "pairs": np.nonzero(pattern),
        "U": rng.normal(size=(M, K)).astype(dtype),
        "V": rng.normal(size=(N, K)).astype(dtype),
        "coefficients": rng.normal(size=csr.nnz).astype(dtype),
    }


def wide(array):
    return np.asarray(array, np.float64)


def scores_twin(data):
    i, j = data["pairs"]
    return (wide(data["U"]) @ wide(data["V"]).T)[i, j]


def sparse_dense_twin(data, coefficients):
    dense = np.zeros((M, N))
    dense[data["pairs"]] = coefficients
    return dense @ wide(data["V"])


def terms_twin(data, loss, c, y, z, p, q, score):
    """(Σ [c ℓ − ½ w (z − s)²] per row, c ℓ' − w (s − z), c ℓ'' − w)."""
    value, slope, curvature = PLAIN_LOSSES[loss]
    i, j = data["pairs"]
    w = p[i] * q[j]
    sums = np.bincount(i, c * value(y, score) - 0.5 * w * (z - score) ** 2, minlength=M)
    return sums, c * slope(y, score) - w * (score - z), c * curvature(y, score) - w


def test_pair_scores(data):
    out = np.empty(len(data["indices"]), data["dtype"])
    for chunk in ((0, 4), (4, M)):
        pair_scores(*chunk, data["indptr"], data["indices"], data["U"], data["V"], out)
    np.testing.assert_allclose(out, scores_twin(data), rtol=data["tolerance"], atol=data["tolerance"])


def test_sparse_dense(data):
    out = np.full((M, K), 77, data["dtype"])
    for chunk in ((0, 4), (4, M)):
        sparse_dense(*chunk, data["indptr"], data["indices"], data["coefficients"], data["V"], out)
    expected = sparse_dense_twin(data, data["coefficients"])
    np.testing.assert_allclose(out, expected, rtol=data["tolerance"], atol=data["tolerance"])
    assert not out[2].any()


def test_curvature_product(data):
    out, scores = np.full((M, K), 77, data["dtype"]), np.empty(len(data["indices"]), data["dtype"])
    arrays = data["coefficients"], data["U"], data["V"], scores, out
    for chunk in ((0, 4), (4, M)):
        curvature_product(*chunk, data["indptr"], data["indices"], *arrays)
    np.testing.assert_allclose(scores, scores_twin(data), rtol=data["tolerance"], atol=data["tolerance"])
    expected = sparse_dense_twin(data, wide(data["coefficients"]) * scores_twin(data))
    np.testing.assert_allclose(out, expected, rtol=10 * data["tolerance"], atol=10 * data["tolerance"])


@pytest.mark.parametrize("imputed", [False, True])
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_pair_terms(data, loss, imputed):
    rng = np.random.default_rng(1)
    dtype, nnz = data["dtype"], len(data["indices"])
    c, y = rng.lognormal(size=nnz).astype(dtype), rng.choice([-1.0, 0.5, 1.0], nnz).astype(dtype)
    z = rng.normal(size=nnz if imputed else 1).astype(dtype)
    p, q = rng.uniform(size=M).astype(dtype), rng.uniform(size=N).astype(dtype)
    score = rng.normal(size=nnz).astype(dtype) * 2
    values, r, t = np.full(M, 77.0), np.empty(nnz, dtype), np.empty(nnz, dtype)
    chosen = loss_named(loss)
    loops = chosen.loops(dtype, dtype)
    for chunk in ((0, 4), (4, M)):
        pair_terms(loops, *chunk, data["indptr"], data["indices"], c, y, z, p, q, score, values, r, t)
    expected = terms_twin(data, loss, *map(wide, (c, y, z, p, q, score)))
    for computed, plain in zip((values, r, t), expected):
        np.testing.assert_allclose(computed, plain, rtol=data["tolerance"], atol=data["tolerance"])
    assert values[2] == 0


@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_equal_weights_and_targets_are_read_row_by_row(data, loss):
    rng = np.random.default_rng(1)
    dtype, nnz = data["dtype"], len(data["indices"])
    p, q, z = rng.uniform(size=M).astype(dtype), rng.uniform(size=N).astype(dtype), np.zeros(1, dtype)
    score = rng.normal(size=nnz).astype(dtype) * 2
    loops = loss_named(loss).loops(dtype, dtype)
    results = []
    for count in (nnz, N):  # one for each pair, one for each pair of the longest row
        values, r, t = np.full(M, 77.0), np.empty(nnz, dtype), np.empty(nnz, dtype)
        c, y = np.full(count, 1.5, dtype), np.ones(count, dtype)
        for chunk in ((0, 4), (4, M)):
            pair_terms(loops, *chunk, data["indptr"], data["indices"], c, y, z, p, q, score, values, r, t)
        results.append((values, r, t))
    for every, repeated in zip(*results):
        assert np.array_equal(every, repeated)


def test_weight_sums(data):
    out = np.empty(M)
    weights = np.abs(data["coefficients"])
    weight_sums(data["indptr"], weights, out)
    rows = np.split(weights.astype(np.float64), data["indptr"][1:-1])
    assert np.array_equal(out, [sum(row.tolist()) for row in rows])
    part = np.empty(M - 3)
    weight_sums(data["indptr"][3:], weights, part)
    assert np.array_equal(part, out[3:])  # of some rows: the same bits


def test_only_the_rows_asked_for_are_written(data):
    scores = np.full(len(data["indices"]), 77, data["dtype"])
    dense = np.full((M, K), 77, data["dtype"])
    pair_scores(3, 5, data["indptr"], data["indices"], data["U"], data["V"], scores)
    sparse_dense(3, 5, data["indptr"], data["indices"], data["coefficients"], data["V"], dense)
    inside = np.isin(data["pairs"][0], [3, 4])
    assert (scores[~inside] == 77).all()
    assert (scores[inside] != 77).all()
    assert (np.delete(dense, [3, 4], axis=0) == 77).all()
    assert (dense[3:5] != 77).all()
