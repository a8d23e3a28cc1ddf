import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.utils.estimator_checks import check_estimator

from everypair.features import nystrom
from everypair.features.nystrom import NystromFeatures


def mixture(rows=90, width=7, seed=0, dtype=np.float64):
    """Rows around five centres, a third of the values zero."""
    rng = np.random.default_rng(seed)
    values = 2 * rng.normal(size=(5, width))[rng.integers(5, size=rows)] + rng.normal(size=(rows, width))
    return (values * (rng.random((rows, width)) < 0.67)).astype(dtype)


def twin(X, landmarks, gamma):
    """The paper's formula, row by row and pair by pair."""
    K = np.array([[np.exp(-gamma * np.sum((c - e) ** 2)) for e in landmarks] for c in landmarks])
    eigenvalues, vectors = np.linalg.eigh(K)
    root = vectors @ np.diag(eigenvalues**-0.5) @ vectors.T
    return np.array([root @ [np.exp(-gamma * np.sum((c - x) ** 2)) for c in landmarks] for x in X])


@pytest.mark.parametrize("count", [500, 20])  # all rows are landmarks; k-means
def test_scikit_learns_contract(count):
    check_estimator(NystromFeatures(n_landmarks=count), on_skip=None, expected_failed_checks={})


@pytest.mark.parametrize("gamma", [0.02, 1.0])
def test_all_rows_as_landmarks_give_the_kernel_matrix(gamma):
    X = mixture()
    expected = rbf_kernel(X, gamma=gamma / X.var())
    for matrix in (X, sp.csr_array(X), sp.csc_matrix(X)):
        Z = NystromFeatures(n_landmarks=90, gamma=gamma, append=False).fit_transform(matrix)
        assert isinstance(Z, np.ndarray)
        np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-12)


def test_landmarks_are_the_distinct_rows_if_there_are_few():
    X = mixture(10)
    repeated = np.vstack([X, X, X])
    repeated[11][X[1] == 0] = -0.0
    stored = sp.csr_array(repeated)
    with_zeros = sp.csr_array((np.ones(210), np.tile(np.arange(7), 30), np.arange(0, 211, 7)), shape=(30, 7))
    with_zeros.data[:] = repeated.ravel()  # explicit zeros
    for matrix in (repeated, stored, with_zeros):
        features = NystromFeatures(n_landmarks=10).fit(matrix)
        assert np.array_equal(features.landmarks_, X)
    assert with_zeros.nnz == 210  # the caller's matrix is as it was
    assert NystromFeatures(n_landmarks=9, random_state=0).fit(repeated).landmarks_.shape == (9, 7)


def test_k_means_landmarks_and_new_rows_follow_the_papers_formula():
    X, new = mixture(), mixture(seed=1)
    features = NystromFeatures(n_landmarks=6, gamma=0.05, random_state=0).fit(X)
    assert features.landmarks_.shape == (6, 7)
    assert features.root_.shape == (6, 6)
    expected = np.hstack([new, twin(new, features.landmarks_, 0.05 / X.var())])
    np.testing.assert_allclose(features.transform(new), expected, rtol=1e-9, atol=1e-12)
    appended = features.transform(sp.csr_matrix(new))
    assert isinstance(appended, sp.csr_matrix)
    assert isinstance(features.transform(sp.csr_array(new)), sp.csr_array)
    np.testing.assert_allclose(appended.toarray(), expected, rtol=1e-9, atol=1e-12)
    sparse = NystromFeatures(n_landmarks=6, gamma=0.05, random_state=0).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.landmarks_, features.landmarks_, rtol=1e-9, atol=1e-12)


def test_landmarks_are_near_the_rows():
    X = mixture(300)
    squares = ((X[:, None, :] - NystromFeatures(5, random_state=0).fit(X).landmarks_) ** 2).sum(axis=2)
    assert squares.min(axis=1).mean() < 0.8 * ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()


def test_gamma_is_a_multiple_of_one_over_the_variance_of_all_values():
    X = mixture() + 100.0 * (np.arange(7) == 2)
    for matrix in (X, sp.csr_array(X), X.astype(np.float32), np.asfortranarray(X)):
        assert NystromFeatures(gamma=0.5).fit(matrix).gamma_ == pytest.approx(0.5 / X.var(), rel=1e-6)
        assert NystromFeatures().fit(matrix).gamma_ == pytest.approx(1 / X.var() / X.shape[1], rel=1e-6)
    with pytest.raises(ValueError, match="All values of X are the same"):
        NystromFeatures().fit(np.full((4, 3), 0.1))
    with pytest.raises(ValueError, match="All values of X are the same"):
        NystromFeatures().fit(sp.csr_array((4, 3)))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_blocks_and_threads_do_not_change_the_result(form, monkeypatch):
    X = form(mixture(2500))
    features = NystromFeatures(n_landmarks=30, gamma=0.1, random_state=0, n_threads=1)
    one = sp.csr_array(features.fit_transform(X))
    three = sp.csr_array(clone(features).set_params(n_threads=3).fit_transform(X))
    assert np.array_equal(one.toarray(), three.toarray())
    monkeypatch.setattr(nystrom, "_BLOCK_ROWS", 7)
    np.testing.assert_allclose(sp.csr_array(features.transform(X)).toarray(), one.toarray(), rtol=1e-9, atol=1e-12)


def test_float32_stays_float32_and_is_computed_in_float64():
    X = mixture(dtype=np.float32)
    for matrix in (X, sp.csr_array(X)):
        features = NystromFeatures(n_landmarks=90, gamma=0.05).fit(matrix)
        assert features.transform(matrix).dtype == features.landmarks_.dtype == np.float32
        Z = features.set_params(append=False).transform(matrix).astype(np.float64)
        np.testing.assert_allclose(Z @ Z.T, rbf_kernel(X.astype(np.float64), gamma=features.gamma_), atol=1e-6)
    assert NystromFeatures().fit_transform(np.eye(3, dtype=np.int64)).dtype == np.float64


def test_linear_kernel_is_of_low_rank_and_still_exact():
    X = mixture()
    for matrix in (X, sp.csr_array(X)):
        features = NystromFeatures(n_landmarks=90, kernel="linear", append=False).fit(matrix)
        assert features.gamma_ is None
        assert np.linalg.matrix_rank(features.root_) == 7
        Z, new = features.transform(matrix), mixture(seed=2)
        np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-9)
        np.testing.assert_allclose(features.transform(new) @ Z.T, new @ X.T, atol=1e-9)
    nothing = NystromFeatures(kernel="linear", append=False).fit_transform(np.zeros((3, 2)))
    assert np.array_equal(nothing, np.zeros((3, 1)))


def test_a_kernel_function():
    X = mixture()
    expected = polynomial_kernel(X, degree=2)
    for matrix in (X, sp.csr_array(X), X.astype(np.float32)):
        Z = NystromFeatures(90, append=False, kernel=lambda A, C: polynomial_kernel(A, C, degree=2)).fit_transform(
            matrix
        )
        np.testing.assert_allclose(Z @ Z.T, expected, rtol=1e-3, atol=1e-9 if matrix.dtype == np.float64 else 1e-3)


def test_rows_with_entries_stored_twice_count_their_sum():
    twice = sp.csr_array((np.array([1.0, 2.0, 1.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    plain = np.array([[3.0, 0.0], [0.0, 1.0]])
    for matrix in (twice, plain):
        features = NystromFeatures(gamma=0.1).fit(matrix)
        assert features.gamma_ == pytest.approx(0.1 / plain.var())
        assert np.array_equal(features.landmarks_, plain)
        np.testing.assert_allclose(features.transform(twice).toarray(), features.transform(plain), atol=1e-12)


def test_seeds():
    X = mixture()
    first, second, other = (NystromFeatures(8, random_state=seed).fit(X).landmarks_ for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    generated = NystromFeatures(8, random_state=np.random.default_rng(3)).fit(X).landmarks_
    assert np.array_equal(first, generated)


def test_feature_names():
    features = NystromFeatures(2, random_state=0).fit(mixture(width=2))
    assert features.get_feature_names_out().tolist() == ["x0", "x1", "nystrom0", "nystrom1"]
    assert features.get_feature_names_out(["a", "b"]).tolist() == ["a", "b", "nystrom0", "nystrom1"]
    assert features.set_params(append=False).get_feature_names_out().tolist() == ["nystrom0", "nystrom1"]
    with pytest.raises(ValueError, match="input_features"):
        features.get_feature_names_out(["a"])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_landmarks": 0}, "n_landmarks must be an integer ≥ 1, got 0"),
        ({"n_landmarks": 2.5}, "n_landmarks must be an integer ≥ 1, got 2.5"),
        ({"gamma": 0.0}, "gamma must be a positive number, a multiple of 1/σ², or .scale., got 0.0"),
        ({"gamma": -1}, "gamma must be a positive number"),
        ({"gamma": np.nan}, "gamma must be a positive number"),
        ({"gamma": np.inf}, "gamma must be a positive number"),
        ({"gamma": "auto"}, "gamma must be a positive number"),
        ({"gamma": 2.0, "kernel": "linear"}, "gamma belongs to kernel='rbf'"),
        ({"kernel": "cosine"}, "kernel must be 'rbf', 'linear' or a function"),
        ({"random_state": "today"}, "random_state must be a non-negative integer"),
        ({"n_threads": 0}, "n_threads must be a positive integer"),
        ({"kernel": lambda A, C: np.ones((2, 2))}, r"must return an array of shape \(90, 90\), got \(2, 2\)"),
        ({"kernel": lambda A, C: np.full((len(A), len(C)), np.nan)}, "must return finite real numbers"),
        ({"kernel": lambda A, C: np.triu(np.ones((len(A), len(C))))}, "kernel must be symmetric"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        NystromFeatures(**parameters).fit(mixture())


def test_bad_matrices_are_refused():
    X = mixture()
    features = NystromFeatures(4, random_state=0)
    with pytest.raises(NotFittedError):
        features.transform(X)
    holes = X.copy()
    holes[3, 1] = np.nan
    for matrix in (holes, sp.csr_array(holes)):
        with pytest.raises(ValueError, match="contains NaN"):
            features.fit(matrix)
        with pytest.raises(ValueError, match="contains NaN"):
            features.fit(X).transform(matrix)
    for narrow in (X[:, :5], sp.csr_array(X[:, :5])):
        with pytest.raises(ValueError, match="X has 5 features, but NystromFeatures is expecting 7"):
            features.transform(narrow)
