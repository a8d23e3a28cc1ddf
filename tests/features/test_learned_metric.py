import numpy as np
import pytest
import scipy.sparse as sp

from everypair.features import LearnedMetric, ridge_weights
from everypair.features.ridge_weights import choose_ridge, feature_norms
from everypair.features.row_scale import RowScale


def problem(n=40, d=7, targets=3, density=1.0, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) * (random.random((n, d)) < density) + 0.0
    return X, X @ random.standard_normal((d, targets)) + random.standard_normal((n, targets))


def left_out_error(A, T, ridge, weights):
    """The squared errors of refitting without each row, one after the other."""
    total = 0.0
    for i in range(len(A)):
        kept = np.arange(len(A)) != i
        c = weights[kept, None]
        W = np.linalg.solve(A[kept].T @ (c * A[kept]) + ridge * np.eye(A.shape[1]), A[kept].T @ (c * T[kept]))
        total += weights[i] * ((T[i] - A[i] @ W) ** 2).sum()
    return total


@pytest.mark.parametrize("shape", [(40, 7), (12, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_ridge_has_the_least_error_of_refitting_without_each_row(shape, weighted):
    A, T = problem(*shape)
    weights = np.random.default_rng(3).random(len(A)) + 0.2 if weighted else np.ones(len(A))
    errors = ridge_weights._errors_wide if shape[0] <= shape[1] else ridge_weights._errors_tall
    root = np.sqrt(weights)[:, None]
    measured = list(errors(root * A, root * T, ridge_weights.RIDGES))
    expected = [left_out_error(A, T, ridge, weights) for ridge in ridge_weights.RIDGES]
    np.testing.assert_allclose(measured, expected, rtol=1e-9)
    best = ridge_weights.RIDGES[int(np.argmin(expected))]
    assert choose_ridge(A, T, weights if weighted else None) == best


@pytest.mark.parametrize("shape", [(40, 7), (12, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("sparse", [False, True])
def test_norms_are_those_of_the_ridge_regression(shape, sparse, monkeypatch):
    A, T = problem(*shape, density=0.4)
    weights = np.random.default_rng(3).random(len(A)) + 0.2
    W = np.linalg.solve(A.T @ (weights[:, None] * A) + 0.3 * np.eye(A.shape[1]), A.T @ (weights[:, None] * T))
    expected = np.linalg.norm(W, axis=1)
    kind = sp.csr_array if sparse else np.asarray
    monkeypatch.setattr(ridge_weights, "TARGETS_AT_ONCE", 2)
    np.testing.assert_allclose(feature_norms(kind(A), kind(T), 0.3, weights), expected, rtol=1e-9)
    monkeypatch.setattr(ridge_weights, "LARGEST_GRAM", 3)  # by conjugate gradients
    np.testing.assert_allclose(feature_norms(kind(A), kind(T), 0.3, weights), expected, rtol=2e-3)


def test_sparse_rows_are_weighted_by_rarity_and_of_unit_length():
    X = sp.csr_array([[1.0, 2.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    scale = RowScale.of(X)
    assert scale.center is None
    np.testing.assert_allclose(scale.scale**2, 1 + np.log(5 / (1 + np.array([3, 1, 0, 0]))))
    expected = X.toarray() * scale.scale
    expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-300)
    rows = scale(X)
    assert sp.issparse(rows)
    np.testing.assert_allclose(rows.toarray(), expected)
    np.testing.assert_array_equal(RowScale.of(X.toarray())(X.toarray()).toarray(), rows.toarray())


def test_dense_rows_are_standardised_and_constant_features_vanish():
    X, _ = problem()
    X[:, 2] = 0.1
    scale = RowScale.of(X)
    rows = scale(X)
    np.testing.assert_allclose(rows.std(axis=0), np.where(np.arange(7) == 2, 0, 1 / np.sqrt(7)))
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_array_equal(rows, scale(sp.csr_array(X)))
    assert np.isclose((scale.weighted(np.arange(7))(X) ** 2).sum(), (rows**2).sum())  # the mean square stays
    assert scale.weighted(np.zeros(7)) is scale


def test_a_robust_scale_cuts_at_three_deviations():
    X, _ = problem(200)
    X[0, 0], X[:, 3] = 1e6, 2.0
    plain, robust = RowScale.of(X), RowScale.of(X, robust=True)
    z = (X - X.mean(axis=0)) / np.where(np.arange(7) == 3, np.inf, X.std(axis=0))
    np.testing.assert_allclose(robust(X), np.clip(z, -3, 3) / np.sqrt(7))
    np.testing.assert_allclose(plain(X), z / np.sqrt(7))
    weights = np.arange(1.0, 8.0)
    np.testing.assert_allclose(
        robust.weighted(weights)(X) / weights, robust(X) / np.sqrt(np.mean(weights[z.any(0)] ** 2))
    )
    counts = 1 + np.arange(200) % 3
    twice = RowScale.of(np.repeat(X, counts, axis=0), robust=True)
    np.testing.assert_allclose(RowScale.of(X, robust=True, sample_weight=counts)(X), twice(X), atol=1e-12)


def test_sparse_measurements_in_units_of_their_own_are_scaled_as_dense_ones():
    X, _ = problem(60, density=0.3)
    assert RowScale.of(sp.csr_array(X), robust=True).center is None
    X[:, 2] *= 1e5
    assert RowScale.of(X).center is None
    np.testing.assert_allclose(RowScale.of(sp.csr_array(X), robust=True)(X), RowScale.of(X, robust=True)(X))
    assert RowScale.of(X, robust=True).center is not None
    assert RowScale.of(np.zeros((3, 2)), robust=True).center is None


@pytest.mark.parametrize("density", [1.0, 0.3], ids=["dense", "sparse"])
@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_the_metric_is_its_formula(density, exponent):
    X, T = problem(60, density=density)
    metric = LearnedMetric(exponent=exponent, ridge=2.0, dtype="float64").fit(X, T)
    plain = RowScale.of(X)(X)
    A = plain.toarray() if density < 1 else plain
    weights = np.linalg.norm(np.linalg.solve(A.T @ A + 2.0 * np.eye(7), A.T @ T), axis=1) ** exponent
    expected = A * weights
    length = np.linalg.norm(expected, axis=1, keepdims=True) if density < 1 else np.sqrt((expected**2).sum(1).mean())
    size = 1.0 if density < 1 else np.sqrt((A**2).sum(1).mean())
    rows = metric.transform(X)
    rows = rows.toarray() if density < 1 else rows
    np.testing.assert_allclose(rows, expected * size / np.where(length > 0, length, 1), atol=1e-12)


def test_features_that_predict_nothing_count_little():
    X, _ = problem(200, 10)
    labels = (X[:, :2] > 0).astype(int)
    weights = LearnedMetric().fit(X, labels).scale_.scale * X.std(axis=0)
    assert weights[:2].min() > 5 * weights[2:].max()


def test_rows_of_any_kind_and_later_ones():
    X, T = problem(50, density=0.3)
    metric = LearnedMetric().fit(sp.csr_array(X), T)
    assert metric.transform(X).dtype == np.float32
    assert (metric.transform(X[:3]).toarray() == metric.transform(sp.csc_matrix(X))[:3].toarray()).all()
    assert (LearnedMetric().fit(X, sp.csr_array(T)).scale_.scale == metric.scale_.scale).all()
    weights = np.ones(50)
    weights[7:] = 0
    assert LearnedMetric(ridge=1.0).fit(X, T, weights).ridge_ == 1.0


def test_what_makes_no_sense_is_refused():
    X, T = problem()
    for refused, sentence in [
        (lambda: LearnedMetric().fit(X, None), "y must hold targets"),
        (lambda: LearnedMetric().fit(X, T[:3]), "one row of targets for each of the 40 rows"),
        (lambda: LearnedMetric().fit(X, np.where(T > 0, np.nan, T)), "NaN or infinite"),
        (lambda: LearnedMetric(exponent=-1).fit(X, T), "exponent must be"),
        (lambda: LearnedMetric(ridge=0).fit(X, T), "ridge must be"),
        (lambda: LearnedMetric(dtype="int8").fit(X, T), "dtype must be"),
        (lambda: LearnedMetric().fit(X, T).transform(X[:, :3]), "expecting 7"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            refused()
