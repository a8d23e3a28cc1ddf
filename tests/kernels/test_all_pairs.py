"""Terms of every pair of some rows against the sums written out over a dense matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.all_pairs import every_terms

from ..problem.brute import PLAIN_LOSSES, loss_named

M, N = 9, 7
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def twin(loss, stored, c, y, z, p, q, score):
    """(Σ_j w ℓ per row, w ℓ', w ℓ''), dense: w and target are (c, y) on stored pairs and (p_i q_j, z) elsewhere."""
    value, slope, curvature = PLAIN_LOSSES[loss]
    w, x = np.outer(p, q), np.broadcast_to(z, (M, N)).copy()
    w[stored], x[stored] = c, y
    return (w * value(x, score)).sum(axis=1), w * slope(x, score), w * curvature(x, score)


@pytest.mark.parametrize("imputed", [False, True])
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_the_twin_in_any_chunks(loss, imputed, dtype):
    random = np.random.default_rng(0)
    stored = random.random((M, N)) < 0.4
    stored[2], stored[4] = False, True
    pattern = sp.csr_array(stored)
    c, y = random.lognormal(size=pattern.nnz).astype(dtype), random.choice([-1.0, 0.5, 1.0], pattern.nnz).astype(dtype)
    z = random.normal(size=(M, N) if imputed else (1, 1)).astype(dtype)
    p, q = random.uniform(size=M).astype(dtype), random.uniform(size=N).astype(dtype)
    score = 2 * random.normal(size=(M, N)).astype(dtype)
    chosen = loss_named(loss)
    loops = chosen.loops(dtype, dtype)
    indptr, indices = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32)
    values, r, t = np.full(M, 77.0), np.full((M, N), 77, dtype), np.full((M, N), 77, dtype)
    for start, stop in ((0, 4), (4, 5), (5, M)):
        rows = slice(start, stop)
        mine = z[rows] if imputed else z
        every_terms(loops, start, stop, indptr, indices, c, y, mine, p, q, score[rows], values[rows], r[rows], t[rows])
    wide = (array.astype(np.float64) for array in (c, y, z, p, q, score))
    for computed, plain in zip((values, r, t), twin(loss, stored, *wide)):
        np.testing.assert_allclose(computed, plain, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    whole = np.full(M, 77.0), np.empty_like(r), np.empty_like(t)
    every_terms(loops, 0, M, indptr, indices, c, y, z, p, q, score, *whole)
    for one, chunked in zip(whole, (values, r, t)):
        assert np.array_equal(one, chunked)
