import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from everypair.models.multilabel.rivals import CPLST, PLST, BinaryRelevance, LabelCCA
from everypair.models.multilabel.rivals import label_space as module
from everypair.models.multilabel.rivals.ridge import RidgeSolver


def problem(n=80, d=12, labels=7, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    low = random.standard_normal((d, 3)) @ random.standard_normal((3, labels))
    return X, (X @ low + random.standard_normal((n, labels)) > 2).astype(int)


X, Y = problem()
C = np.random.default_rng(1).random(len(X)) + 0.2
ALL = [PLST, CPLST, LabelCCA]


def plain(model, rank, **parameters):
    return model(rank=rank, **{"normalize": False, "fit_intercept": False, "threshold": 0.5} | parameters)


@pytest.mark.parametrize("shape", [(30, 9), (9, 30)])
@pytest.mark.parametrize("sparse", [False, True])
def test_ridge_of_many_targets_is_ridge_of_each(shape, sparse):
    random = np.random.default_rng(2)
    A, T, c = random.standard_normal(shape), random.standard_normal((shape[0], 4)), random.random(shape[0]) + 0.1
    form = sp.csr_array if sparse else np.asarray
    weights = RidgeSolver(form(A), 0.3, c).weights(form(T))
    expected = Ridge(alpha=0.3, fit_intercept=False).fit(A, T, sample_weight=c).coef_.T
    np.testing.assert_allclose(weights, expected, atol=1e-9)
    no_ridge = RidgeSolver(form(A), 0.0, c).weights(T)
    root = np.sqrt(c)[:, None]
    np.testing.assert_allclose(no_ridge, np.linalg.pinv(root * A) @ (root * T), atol=1e-7)
    np.testing.assert_allclose(RidgeSolver(form(A), 0.3, c).correlations(T), A.T @ (c[:, None] * T))


def test_without_a_ridge_a_rank_deficient_matrix_gets_the_least_norm():
    A = np.hstack([X[:, :4], X[:, :4]])
    np.testing.assert_allclose(RidgeSolver(A, 0.0).weights(Y * 1.0), np.linalg.pinv(A) @ Y, atol=1e-8)


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize("weights", [None, C])
def test_with_all_codes_they_are_ridge_regression_of_the_shifted_labels(model, weights):
    fitted = plain(model, 7, reg=0.8).fit(X, Y, sample_weight=weights)
    mean = np.average(Y, axis=0, weights=weights)
    ridge = Ridge(alpha=0.8, fit_intercept=False).fit(X, Y - mean, sample_weight=weights)
    np.testing.assert_allclose(fitted.predict_scores(X), ridge.predict(X) + mean, atol=1e-9)
    np.testing.assert_allclose(fitted.mean_, mean)


def test_plst_directions_are_the_singular_vectors_of_the_shifted_labels():
    model = plain(PLST, 3, reg=0.5).fit(X, Y, sample_weight=C)
    Z = np.sqrt(C)[:, None] * (Y - np.average(Y, axis=0, weights=C))
    V = np.linalg.svd(Z)[2][:3].T
    np.testing.assert_allclose(np.abs(model.decoder_.T @ V), np.eye(3), atol=1e-9)


@pytest.mark.parametrize("rows", [80, 8])
def test_cplst_directions_are_those_of_the_explicit_hat_matrix(rows):
    features, labels, c = X[:rows], Y[:rows], C[:rows]
    model = plain(CPLST, 2, reg=0.5).fit(features, labels, sample_weight=c)
    A = np.sqrt(c)[:, None] * features
    Z = np.sqrt(c)[:, None] * (labels - np.average(labels, axis=0, weights=c))
    hat = A @ np.linalg.solve(A.T @ A + 0.5 * np.eye(12), A.T)
    V = np.linalg.eigh(Z.T @ hat @ Z)[1][:, -2:]
    np.testing.assert_allclose(model.decoder_ @ model.decoder_.T, V @ V.T, atol=1e-9)


def closed_form(X, M, rank):
    """LEML's Claim 1: V_X Σ_X⁻¹ M_k with M = U_Xᵀ Y cut to rank k."""
    U, S, Vt = np.linalg.svd(X, full_matrices=False)
    left, values, right = np.linalg.svd(U.T @ M, full_matrices=False)
    return Vt.T / S @ (left[:, :rank] * values[:rank]) @ right[:rank]


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_cplst_without_ridge_is_lemls_closed_form(rank):
    """Claims 1 and 2, on the labels that CPLST itself sees: their means taken out."""
    model = plain(CPLST, rank, reg=0.0).fit(X, Y)
    expected = closed_form(X, Y - Y.mean(axis=0), rank)
    np.testing.assert_allclose(model.codes_ @ model.decoder_.T, expected, atol=1e-9)


@pytest.mark.parametrize("rank", [1, 3])
def test_cplst_is_the_best_of_its_rank(rank):
    """Claim 1 says argmin: no perturbed pair of factors of the same rank fits the shifted labels better."""
    doubled, labels = np.vstack([X, -X]), np.vstack([Y, 1 - Y])  # every mean is ½
    model = plain(CPLST, rank, reg=0.0).fit(doubled, labels)
    np.testing.assert_allclose(model.mean_, 0.5)
    Z = model.codes_ @ model.decoder_.T
    np.testing.assert_allclose(Z, closed_form(doubled, labels - 0.5, rank), atol=1e-9)
    random = np.random.default_rng(3)
    least = np.sum((labels - 0.5 - doubled @ Z) ** 2)
    for size in (1e-3, 1e-2, 0.1):
        W = model.codes_ + size * random.standard_normal(model.codes_.shape)
        V = model.decoder_ + size * random.standard_normal(model.decoder_.shape)
        assert np.sum((labels - 0.5 - doubled @ W @ V.T) ** 2) > least


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_cplst_reaches_a_lower_objective_than_plst(rank):
    reg = 0.7
    Z = Y - Y.mean(axis=0)

    def objective(model):
        W, V = model.codes_, model.decoder_
        return np.sum((X @ W - Z @ V) ** 2) + reg * np.sum(W**2) + np.sum((Z - Z @ V @ V.T) ** 2)

    conditional, principal = (objective(plain(model, rank, reg=reg).fit(X, Y)) for model in (CPLST, PLST))
    assert conditional < principal
    solver = RidgeSolver(X, reg)
    for seed in range(5):
        V = np.linalg.qr(np.random.default_rng(seed).standard_normal((7, rank)))[0]
        W = solver.weights(Z @ V)
        assert conditional < np.sum((X @ W - Z @ V) ** 2) + reg * np.sum(W**2) + np.sum((Z - Z @ V @ V.T) ** 2)


@pytest.mark.parametrize("model", ALL)
def test_sparse_equals_dense_and_float32_stays(model):
    sparse_X = X * (np.random.default_rng(5).random(X.shape) < 0.5)
    dense = model(rank=3).fit(sparse_X, Y)
    sparse = model(rank=3, n_threads=2).fit(sp.csr_array(sparse_X), sp.csr_array(Y))
    np.testing.assert_allclose(dense.predict_scores(sparse_X), sparse.predict_scores(sparse_X), atol=1e-9)
    single = model(rank=3).fit(sparse_X.astype(np.float32), Y)
    assert single.predict_scores(sparse_X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("model", ALL)
def test_more_codes_than_labels_are_as_many_as_labels(model):
    assert model(rank=100).fit(X, Y).decoder_.shape == (7, 7)


def test_all_codes_equal_binary_relevance_where_the_mean_lies_in_the_features():
    """A constant feature absorbs the shift when it is not penalised; with a vanishing ridge it is not."""
    reg = 1e-9
    scores = [
        m.fit(X, Y).predict_scores(X)
        for m in (PLST(rank=7, reg=reg), CPLST(rank=7, reg=reg), BinaryRelevance(loss="squared", reg=reg))
    ]
    np.testing.assert_allclose(scores[0], scores[2], atol=1e-6)
    np.testing.assert_allclose(scores[1], scores[2], atol=1e-6)


@pytest.mark.parametrize("model", ALL)
def test_bad_input_gets_a_sentence(model):
    with pytest.raises(ValueError, match="rank must be an integer"):
        model(rank=0).fit(X, Y)
    with pytest.raises(ValueError, match="reg must be a finite number ≥ 0"):
        model(rank=2, reg=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match="cannot learn from missing labels"):
        model(rank=2).fit(X, Y, mask=Y > 0)


@pytest.mark.parametrize("weights", [None, C])
def test_canonical_directions_are_those_of_whitened_features_and_labels(weights):
    fitted = plain(LabelCCA, 3, reg=0.0).fit(X, Y, sample_weight=weights)
    root = np.sqrt(np.ones(len(X)) if weights is None else weights)[:, None]
    A, Z = root * X, root * (Y - np.average(Y, axis=0, weights=weights))
    left, right = np.linalg.svd(A, full_matrices=False)[0], np.linalg.svd(Z, full_matrices=False)[0]
    variates = right @ np.linalg.svd(left.T @ right)[2][:3].T  # of the labels, orthonormal
    expected = left @ left.T @ variates @ variates.T @ Z
    np.testing.assert_allclose(root * (fitted.predict_scores(X) - fitted.mean_), expected, atol=1e-9)


def test_labels_that_do_not_vary_are_no_direction():
    labels = np.column_stack([Y, Y[:, 0], np.ones(len(Y), int)])
    model = plain(LabelCCA, 9, reg=0.3).fit(X, labels)
    assert model.decoder_.shape == (9, 7)
    expected = plain(PLST, 7, reg=0.3).fit(X, Y).predict_scores(X)
    np.testing.assert_allclose(model.predict_scores(X)[:, :7], expected, atol=1e-9)
    np.testing.assert_allclose(
        model.predict_scores(X)[:, 7:], np.column_stack([expected[:, 0], np.ones(80)]), atol=1e-9
    )


def test_directions_have_one_sign():
    gram = np.diag([3.0, 1.0, 2.0])
    np.testing.assert_allclose(module.leading(gram, 2), [[1, 0], [0, 0], [0, 1]], atol=1e-12)
