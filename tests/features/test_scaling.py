import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize as scale_rows

from everypair.features.scaling import prepare_features

X = np.array([[3.0, 0.0, -4.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
UNIT = np.array([[0.6, 0.0, -0.8], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
ONES = np.ones((3, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, sp.coo_array])
@pytest.mark.parametrize(
    ("normalize", "fit_intercept", "expected"),
    [
        (False, False, X),
        (True, False, UNIT),
        (False, True, np.hstack([X, ONES])),
        (True, True, np.hstack([UNIT, ONES])),
    ],
)
def test_unit_rows_then_a_constant(form, dtype, normalize, fit_intercept, expected):
    given = form(X.astype(dtype))
    prepared = prepare_features(given, normalize, fit_intercept)
    assert prepared.dtype == dtype
    assert isinstance(prepared, np.ndarray if form is np.asarray else sp.csr_array)
    dense = prepared.toarray() if sp.issparse(prepared) else prepared
    np.testing.assert_allclose(dense, expected, rtol=1e-6)
    np.testing.assert_array_equal(given.toarray() if sp.issparse(given) else given, X)


def test_sparse_features_store_no_more_than_their_entries_and_the_constant():
    prepared = prepare_features(sp.csr_array(X), True, True)
    assert prepared.nnz == np.count_nonzero(X) + len(X)


def test_whole_numbers_become_float64():
    assert prepare_features(np.array([[3, 4]]), True, False).tolist() == [[0.6, 0.8]]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("dtype", "scales"), [(np.float32, (1e-37, 1e-25, 1e25, 1e37)), (np.float64, (1e-300, 1e300))])
def test_rows_of_any_scale_have_unit_length(form, dtype, scales):
    for scale in scales:
        prepared = prepare_features(form((X * scale).astype(dtype)), True, False)
        dense = prepared.toarray() if sp.issparse(prepared) else prepared
        np.testing.assert_allclose(dense, UNIT, rtol=1e-5)
    plain = np.random.default_rng(0).standard_normal((50, 7)).astype(dtype)
    assert np.array_equal(prepare_features(plain, True, False), scale_rows(plain))  # the same bits as ever
