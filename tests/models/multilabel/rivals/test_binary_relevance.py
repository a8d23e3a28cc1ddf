import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from everypair.models.multilabel.rivals import BinaryRelevance
from everypair.models.multilabel.rivals import binary_relevance as module
from everypair.problem.losses import LOSSES, get_loss


def problem(n=120, d=15, labels=6, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) * (random.random((n, d)) < 0.4)
    Y = (X @ random.standard_normal((d, labels)) + 0.5 * random.standard_normal((n, labels)) > 0.7).astype(int)
    return X, Y


X, Y = problem()
MASK = np.random.default_rng(9).random(Y.shape) < 0.5


def exact(**parameters):
    return BinaryRelevance(**{"normalize": False, "threshold": 0.0, "tol": 1e-10} | parameters)


def targets(loss):
    return Y if loss == "squared" else 2 * Y - 1


def gradient(model, mask, weights):
    """∇ of the whole objective at the model's weights, plain numpy."""
    loss = get_loss(model.loss)
    features = np.hstack([X, np.ones((len(X), 1))])
    W = np.vstack([model.coef_.T, model.intercept_])
    slopes = loss.slope(targets(model.loss), features @ W) * mask * weights[:, None]
    return features.T @ slopes + model.reg * W


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("reg", [0.01, 3.0])
def test_the_gradient_vanishes(loss, missing, reg):
    weights = np.random.default_rng(2).random(len(X)) + 0.1
    model = exact(loss=loss, reg=reg, unlabeled="missing" if missing else "negative")
    model.fit(X, Y, sample_weight=weights, mask=MASK if missing else None)
    start = gradient_at_zero(loss, MASK if missing else np.ones_like(MASK), weights)
    assert np.abs(gradient(model, MASK if missing else 1, weights)).max() < 1e-8 * start


def gradient_at_zero(loss, mask, weights):
    features = np.hstack([X, np.ones((len(X), 1))])
    slopes = get_loss(loss).slope(targets(loss), np.zeros(Y.shape)) * mask * weights[:, None]
    return np.abs(features.T @ slopes).max()


def newton(loss, y, reg):
    """The kernel's plain twin: full Newton steps with an exact solve, halved until the value falls."""
    w = np.zeros(X.shape[1])

    def value(w):
        return loss.value(y, X @ w).sum() + 0.5 * reg * w @ w

    for _ in range(60):
        scores = X @ w
        slope = X.T @ loss.slope(y, scores) + reg * w
        hessian = (X.T * loss.curvature(y, scores)) @ X + reg * np.eye(len(w))
        step, length = np.linalg.solve(hessian, slope), 1.0
        while length > 1e-9 and value(w - length * step) > value(w):
            length /= 2
        w = w - length * step
    return w


@pytest.mark.parametrize("loss", LOSSES)
def test_the_kernel_equals_its_plain_twin(loss, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_GRAM", 0)  # the squared loss through the kernel too
    model = exact(loss=loss, reg=0.5, fit_intercept=False).fit(X, Y)
    for label in range(Y.shape[1]):
        expected = newton(get_loss(loss), targets(loss)[:, label], 0.5)
        np.testing.assert_allclose(model.coef_[label], expected, rtol=1e-7, atol=1e-8)
    assert (model.intercept_ == 0).all()


def test_the_optimum_is_that_of_scikit_learn():
    reg = 0.7
    logistic = exact(loss="logistic", reg=reg, fit_intercept=False).fit(X, Y)
    hinge = exact(loss="squared_hinge", reg=reg, fit_intercept=False).fit(X, Y)
    squared = exact(loss="squared", reg=reg, fit_intercept=False).fit(X, Y)
    peers = [
        (logistic, LogisticRegression(C=1 / reg, fit_intercept=False, tol=1e-9, max_iter=1000)),
        (hinge, LinearSVC(C=1 / (2 * reg), dual=False, fit_intercept=False, tol=1e-10, max_iter=10000)),
        (squared, Ridge(alpha=reg, fit_intercept=False)),
    ]
    for model, peer in peers:
        for label in range(Y.shape[1]):
            np.testing.assert_allclose(model.coef_[label], peer.fit(X, Y[:, label]).coef_.ravel(), atol=2e-6)


def test_missing_labels_count_as_if_their_rows_were_left_out():
    model = exact(unlabeled="missing").fit(X, np.where(MASK, Y, np.nan))
    for label in range(Y.shape[1]):
        rows = MASK[:, label]
        alone = exact().fit(X[rows], Y[rows][:, [label]])
        np.testing.assert_allclose(model.coef_[label], alone.coef_[0], atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_more_features_than_rows(loss):
    """The optimum lies in the span of the rows, so rotated features give the same scores."""
    few, labels = X[:10], Y[:10]
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((15, 15)))[0]
    plain, rotated = exact(loss=loss).fit(few, labels), exact(loss=loss).fit(few @ rotation, labels)
    np.testing.assert_allclose(plain.predict_scores(X), rotated.predict_scores(X @ rotation), atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_equals_dense_and_threads_do_not_matter(loss):
    dense = BinaryRelevance(loss=loss, n_threads=1).fit(X, Y)
    sparse = BinaryRelevance(loss=loss, n_threads=2).fit(sp.csr_array(X), sp.csr_array(Y))
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-9, atol=1e-12)
    again = BinaryRelevance(loss=loss, n_threads=1).fit(sp.csr_array(X), sp.csr_array(Y))
    np.testing.assert_array_equal(again.coef_, sparse.coef_)
    assert again.threshold_ == sparse.threshold_


def test_weights_equal_repetitions():
    counts = np.random.default_rng(4).integers(0, 3, len(X))
    weighted = exact().fit(X, Y, sample_weight=counts)
    repeated = exact().fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


def test_probabilities_are_offered_by_the_logistic_loss_only():
    model = BinaryRelevance().fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-model.predict_scores(X))))
    assert not hasattr(BinaryRelevance(loss="squared"), "predict_proba")


def test_natural_thresholds_and_labels_that_nobody_or_everybody_has():
    labels = np.column_stack([Y[:40, 0], np.zeros(40, int), np.ones(40, int)])
    for loss, cut in zip(LOSSES, [0.5, 0.0, 0.0]):
        model = BinaryRelevance(loss=loss).fit(X[:40], labels)
        assert model.threshold_ == cut
        np.testing.assert_array_equal(model.predict(X)[:, 1:], [[0, 1]] * len(X))


def test_float32_stays_float32():
    model = BinaryRelevance().fit(X.astype(np.float32), Y)
    assert model.coef_.dtype == model.predict_scores(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.coef_, BinaryRelevance().fit(X, Y).coef_, atol=1e-4)


def test_too_few_steps_are_said():
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        model = BinaryRelevance(max_iter=1, threshold=0.0).fit(X, Y)
    assert model.n_iter_ == 1


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"loss": "hinge"}, "loss must be one of"),
        ({"reg": 0.0}, "reg must be a finite number > 0"),
        ({"reg": "much"}, "reg must be a finite number > 0"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_parameters_get_a_sentence(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        BinaryRelevance(**parameters).fit(X, Y)


ONE_AND_TWO = "the check numbers two classes 1 and 2; an indicator matrix holds zeros and ones"
ONE_COLUMN = "the check expects the answers of a single label; ours have one column per label"
FLAT_Y = "the check gives a 1-D y; a multi-label Y has one column per label"
EXPECTED_FAILURES = {
    "check_estimators_dtypes": ONE_AND_TWO,
    "check_sample_weights_pandas_series": ONE_AND_TWO,
    "check_sample_weights_not_an_array": ONE_AND_TWO,
    "check_sample_weights_shape": ONE_AND_TWO,
    "check_sample_weights_not_overwritten": ONE_AND_TWO,
    "check_classifier_data_not_an_array": ONE_AND_TWO,
    "check_fit2d_1feature": ONE_AND_TWO,
    "check_estimator_sparse_array": ONE_COLUMN,
    "check_estimator_sparse_matrix": ONE_COLUMN,
    "check_classifiers_train": ONE_COLUMN,
    "check_classifiers_classes": FLAT_Y,
    "check_decision_proba_consistency": FLAT_Y,
    "check_classifier_not_supporting_multiclass": FLAT_Y,
}


def test_scikit_learns_checks():
    results = check_estimator(
        BinaryRelevance(), expected_failed_checks=EXPECTED_FAILURES, on_skip=None, on_fail="raise"
    )
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(EXPECTED_FAILURES)
    assert sum(r["status"] == "passed" for r in results) > 40
