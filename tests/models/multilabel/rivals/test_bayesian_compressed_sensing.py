"""Bayesian compressed sensing: updates against dense algebra, a bound that never falls, recovery, missing labels."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, gammaln
from sklearn.metrics import roc_auc_score

from everypair.models.multilabel.rivals.bayesian_compressed_sensing import BayesianCompressedSensing
from everypair.models.multilabel.rivals.compressed_inference import Inference, Scales, WeightPosterior, infer_labels


def planted(n=200, d=15, L=20, noise=0.0, seed=0):
    """Rows of a few of d features, each of which brings its own two labels."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.1).astype(float)
    X[np.arange(n), rng.integers(d, size=n)] = 1
    owner = rng.integers(d, size=L)
    Y = (X[:, owner] > 0).astype(float)
    return X + noise * rng.standard_normal(X.shape), Y


def inference(missing, d=6, n=12, learn=(True, True), weights=None):
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((n, d)), (rng.random((n, 9)) < 0.3).astype(float)
    unknown = rng.random(Y.shape) < 0.6 if missing else None
    positives = Y if unknown is None else Y * ~unknown
    weights = np.ones(n) if weights is None else weights
    projection = rng.standard_normal((4, 9))
    return Inference(X, positives, unknown, projection, weights, Scales(1.3, 0.2, 0.5), (0.3, 0.05), learn, n_threads=1)


@pytest.mark.parametrize("d", [6, 20])  # more rows than features, and fewer
@pytest.mark.parametrize("missing", [True, False])
def test_no_update_lowers_the_bound(missing, d):
    state = inference(missing, d, weights=np.linspace(0.5, 2, 12))
    state.sweep()
    bounds = [state.bound()]
    for _ in range(15):
        for update in (state.update_weights, state.update_labels, state.update_precisions, state.update_scales):
            update()
            bounds.append(state.bound())
    assert np.diff(bounds).min() > -1e-9 * abs(bounds[0])
    assert bounds[-1] > bounds[0] + 1


def test_bound_equals_its_definition():
    """E_q[log p] + H[q] with dense covariance matrices, one row and label at a time."""
    state = inference(missing=True)
    state.sweep()
    state.sweep()
    s, k, d = state.scales, 4, 6
    # q(W), q(y) and q(z) still have the covariances of the scales and precisions they were updated with
    previous = inference(missing=True)
    previous.sweep()
    old = previous.scales
    S_W = np.linalg.inv(state.X.T @ state.X / old.compressed + np.eye(d) / old.weight)
    v_z = 1 / (1 / old.compressed + 1 / old.projected)
    log_normal = lambda square, variance, size: -0.5 * (size * np.log(2 * np.pi * variance) + square / variance)  # noqa: E731
    expected = log_normal((state.M**2).sum() + k * np.trace(S_W), s.weight, d * k)
    expected += 0.5 * k * np.linalg.slogdet(2 * np.pi * np.e * S_W)[1]
    a0, b0 = state.shape, state.rate
    a = a0 + 0.5
    for i, x in enumerate(state.X):
        U = state.unknown[i]
        Phi = state.projection[:, U]
        S = np.linalg.inv(np.diag(1 / previous.prior_variance[i, U]) + Phi.T @ Phi / old.projected)
        mean = state.labels.mean[i, U]
        misfit = ((state.Z[i] - state.M.T @ x) ** 2).sum() + k * v_z + k * x @ S_W @ x
        expected += log_normal(misfit, s.compressed, k)
        misfit = ((state.known_part[i] + Phi @ mean - state.Z[i]) ** 2).sum() + k * v_z + np.trace(Phi @ S @ Phi.T)
        expected += log_normal(misfit, s.projected, k)
        expected += 0.5 * k * np.log(2 * np.pi * np.e * v_z) + 0.5 * np.linalg.slogdet(2 * np.pi * np.e * S)[1]
        b = b0 + 0.5 * (mean**2 + np.diag(S))
        log_alpha, alpha = digamma(a) - np.log(b), a / b
        expected += np.sum(0.5 * (log_alpha - np.log(2 * np.pi)) - 0.5 * alpha * (mean**2 + np.diag(S)))
        expected += np.sum(a0 * np.log(b0) - gammaln(a0) + (a0 - 1) * log_alpha - b0 * alpha)
        expected += np.sum(a - np.log(b) + gammaln(a) + (1 - a) * digamma(a))
    assert state.bound() == pytest.approx(expected, rel=1e-9)


def test_labels_of_a_row_equal_the_dense_gaussian_conditional():
    """The joint mean of (y, z) is that of the dense precision matrix; y's covariance is its block's inverse."""
    rng = np.random.default_rng(2)
    k, L, scales = 5, 8, Scales(0.7, 0.1, 1.0)
    Phi, precision = rng.standard_normal((k, L)), rng.uniform(0.5, 20, (2, L))
    predicted = rng.standard_normal((2, k))
    known = np.array([np.zeros(L, bool), np.arange(L) < 3])
    y_known = np.where(known, rng.integers(2, size=(2, L)), 0.0)
    found = infer_labels(predicted - y_known @ Phi.T, np.where(known, 0, 1 / precision), Phi, scales)
    for i in range(2):
        U = ~known[i]
        top = np.hstack([np.diag(precision[i, U]) + Phi[:, U].T @ Phi[:, U] / scales.projected, -Phi[:, U].T / 0.1])
        bottom = np.hstack([-Phi[:, U] / 0.1, np.eye(k) * (1 / 0.7 + 1 / 0.1)])
        shift = Phi @ y_known[i] / 0.1
        linear = np.concatenate([-Phi[:, U].T @ shift, predicted[i] / 0.7 + shift])
        mean = np.linalg.solve(np.vstack([top, bottom]), linear)
        covariance = np.linalg.inv(top[:, : U.sum()])
        np.testing.assert_allclose(found.mean[i, U], mean[: U.sum()], rtol=1e-8)
        np.testing.assert_allclose(found.variance[i, U], np.diag(covariance), rtol=1e-8)
        assert (found.mean[i, ~U] == 0).all()
        assert found.log_determinant[i] == pytest.approx(np.linalg.slogdet(covariance)[1])
        assert found.projected_trace[i] == pytest.approx(np.trace(Phi[:, U] @ covariance @ Phi[:, U].T))


@pytest.mark.parametrize("shape", [(30, 7), (7, 30)])
def test_weights_equal_weighted_ridge(shape):
    rng = np.random.default_rng(3)
    X, weights = sp.random_array(shape, density=0.5, rng=rng, format="csr"), rng.random(shape[0])
    Z = rng.standard_normal((shape[0], 3))
    scales, dense = Scales(0.6, 1.0, 2.0), X.toarray()
    S_W = np.linalg.inv(dense.T @ (weights[:, None] * dense) / 0.6 + np.eye(shape[1]) / 2)
    posterior = WeightPosterior(X, weights)
    np.testing.assert_allclose(posterior.update(Z, scales), S_W @ dense.T @ (weights[:, None] * Z) / 0.6, atol=1e-10)
    fit, trace, log_determinant = posterior.spread(scales)
    assert fit == pytest.approx(weights @ np.einsum("if,fg,ig->i", dense, S_W, dense))
    assert trace == pytest.approx(np.trace(S_W))
    assert log_determinant == pytest.approx(np.linalg.slogdet(S_W)[1])


def test_recovers_planted_sparse_labels_from_fewer_numbers():
    X, Y = planted(n=400, d=30, L=40, noise=0.01)
    sparse = {"sparsity_shape": 0.01, "projection_noise": 0.05, "label_iter": 50, "normalize": False}
    model = BayesianCompressedSensing(rank=24, **sparse, random_state=0).fit(X[:300], Y[:300])
    assert (model.predict(X[300:]) == Y[300:]).mean() > 0.97
    assert np.diff([sweep["objective"] for sweep in model.history_]).max() < 0
    sparse = model.predict_scores(X[300:]) - Y[300:]
    model.state_ = replace(model.state_, model=replace(model.state_.model, label_iter=1))
    dense = model.predict_scores(X[300:]) - Y[300:]
    assert (sparse**2).mean() < 0.5 * (dense**2).mean()


def test_missing_labels_are_inferred_with_the_same_bits_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("everypair.models.multilabel.rivals.compressed_inference.BATCH_NUMBERS", 5000)  # many batches
    X, Y = planted(n=300)
    mask = np.random.default_rng(0).random(Y.shape) < 0.5
    options = {"rank": 14, "normalize": False, "threshold": 0.25, "unlabeled": "missing", "random_state": 0}
    one, many = (BayesianCompressedSensing(**options, n_threads=t).fit(X, Y, mask=mask) for t in (1, 2))
    assert (one.feature_weights_ == many.feature_weights_).all()
    assert (one.predict_scores(X) == many.predict_scores(X)).all()
    bounds = [-sweep["objective"] for sweep in one.history_]
    assert len(bounds) > 2
    assert np.diff(bounds).min() > 0
    scores = one.predict_scores(X)
    assert roc_auc_score(Y[~mask], scores[~mask]) > 0.9


def test_rows_of_weight_two_count_twice():
    X, Y = planted(n=40)
    options = {"rank": 8, "threshold": 0.5, "compressed_noise": 1.0, "weight_scale": 1.0, "random_state": 0}
    weighted = BayesianCompressedSensing(**options).fit(X, Y, sample_weight=np.repeat([2.0, 1.0], 20))
    doubled = BayesianCompressedSensing(**options).fit(np.vstack([X, X[:20]]), np.vstack([Y, Y[:20]]))
    np.testing.assert_allclose(weighted.feature_weights_, doubled.feature_weights_, atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"rank": 0}, "rank must be an integer"),
        ({"rank": 21}, "rank must be at most the number of labels, 20"),
        ({"compressed_noise": 0}, 'compressed_noise must be a finite number > 0 or "auto"'),
        ({"weight_scale": "big"}, 'weight_scale must be a finite number > 0 or "auto"'),
        ({"projection_noise": "auto"}, "projection_noise must be a finite number > 0, got"),
        ({"sparsity_shape": -1.0}, "sparsity_shape must be a finite number > 0, got"),
        ({"sparsity_rate": float("inf")}, "sparsity_rate must be a finite number > 0"),
        ({"max_iter": 0}, "max_iter must be an integer"),
        ({"label_iter": 1.5}, "label_iter must be an integer"),
        ({"tol": -1.0}, "tol must be a number"),
    ],
)
def test_bad_parameters(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        BayesianCompressedSensing(**{"rank": 5, **parameters}).fit(*planted(n=60))
