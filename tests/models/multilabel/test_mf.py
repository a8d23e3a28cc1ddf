import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from everypair.metrics.multilabel import multilabel_metrics
from everypair.models.multilabel import Kernel, ridge_search
from everypair.models.multilabel.mf import MultiLabelMF
from everypair.models.multilabel.rivals import BinaryRelevance
from everypair.problem.losses import LOSSES, get_loss
from everypair.solvers.loop import Status


def problem(n=120, d=10, labels=7, seed=0, shift=1.5):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    Z = random.standard_normal((d, 3)) @ random.standard_normal((3, labels))
    Y = (X @ Z / 2 + 0.5 * random.standard_normal((n, labels)) > shift).astype(int)
    return X, Y


X, Y = problem()
MASK = np.random.default_rng(9).random(Y.shape) < 0.6
UNKNOWN = np.where(MASK, Y, np.nan)


def exact(**parameters):
    """A model without scaling or threshold, in double precision, trained until nothing moves."""
    plain = {"rank": 3, "reg": 0.5, "normalize": False, "threshold": 0.0, "max_iter": 100, "tol": 1e-13}
    plain |= {"dtype": "float64", "n_threads": 1, "random_state": 0}
    return MultiLabelMF(**plain | parameters)


def brute_force(model, weights=None, label_weight=None, known=None, features=X):
    """F of the docstring over all n·L entries, plain numpy."""
    rows = np.hstack([features, np.ones((len(features), 1))]) if model.fit_intercept else features
    scores = rows @ model.feature_weights_ @ model.label_factors_.T
    loss = get_loss(model.loss)
    entries = np.outer(
        np.ones(len(X)) if weights is None else weights, np.ones(Y.shape[1]) if label_weight is None else label_weight
    )
    positive = loss.value(1.0, scores)
    if model.negative_loss_ == "same":
        negative = model.negative_weight_ * loss.value(loss.dislike_target, scores)
    else:
        negative = 0.5 * model.negative_weight_ * (model.negative_value_ - scores) ** 2
    total = np.where(Y == 1, positive, negative) * entries
    if known is not None:
        total = total[known]
    norms = np.sum(model.feature_weights_**2) + np.sum(model.label_factors_**2)
    return total.sum() + 0.5 * model.reg_ * norms


def test_rows_of_any_scale_are_told_apart():
    plain = MultiLabelMF(reg=1.0, threshold=0.0, random_state=0).fit(X, Y).predict_scores(X)
    assert np.ptp(plain, axis=0).min() > 0.5
    for scale in (1e-25, 1e25):
        for features in (X * scale, (X * scale).astype(np.float32)):
            model = MultiLabelMF(reg=1.0, threshold=0.0, random_state=0).fit(features, Y)
            np.testing.assert_allclose(model.predict_scores(features), plain, atol=1e-2)


@pytest.mark.parametrize(("scale", "dtype"), [(1e25, "float32"), (1e200, "float64")])
def test_features_too_large_to_be_squared_are_refused(scale, dtype):
    model = MultiLabelMF(normalize=False, reg=1.0, threshold=0.0, dtype=dtype, random_state=0)
    with pytest.raises(ValueError, match=f"X has values too large for {dtype}: rescale them, or set normalize=True"):
        model.fit(X * scale, Y)
    model.fit(X, Y)
    with pytest.raises(ValueError, match=f"X has values too large for {dtype}"):
        model.predict(X * scale)


@pytest.mark.parametrize("weight", [1e-150, 1e150])
def test_weights_beyond_the_numbers_of_the_model_are_refused(weight):
    weights = np.where(np.arange(len(X)) == 3, weight, 1.0)
    for sample_weight in (weights, np.full(len(X), weight)):
        with pytest.raises(
            ValueError, match=r"sample_weight times label_weight goes from .* beyond what float32 holds"
        ):
            MultiLabelMF(random_state=0).fit(X, Y, sample_weight=sample_weight)
    with pytest.raises(ValueError, match="beyond what float32 holds"):
        MultiLabelMF(label_weight=np.full(Y.shape[1], weight), random_state=0).fit(X, Y)
    tiny = exact(max_iter=3).fit(X, Y, sample_weight=np.full(len(X), 1e-150))
    assert np.isfinite(tiny.predict_scores(X)).all()


def test_negatives_beyond_the_numbers_of_the_model():
    with pytest.raises(ValueError, match="the weight of negatives has values too large for float32"):
        MultiLabelMF(negative_weight=1e39, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="reg, scaled by the weight of a row, has values too large for float32"):
        MultiLabelMF(reg=1e39, random_state=0).fit(X, Y)
    nothing, tiny = (
        MultiLabelMF(unlabeled="missing", negative_weight=weight, reg=1.0, threshold=0.0, random_state=0)
        for weight in (0.0, 1e-60)
    )
    assert np.array_equal(nothing.fit(X, UNKNOWN).predict_scores(X), tiny.fit(X, UNKNOWN).predict_scores(X))


def test_known_negatives_of_no_weight_with_the_ridge_searched():
    """Positives alone count; the labels that folds share stay whole."""
    model = MultiLabelMF(unlabeled="missing", negative_weight=0, random_state=0).fit(X, UNKNOWN)
    positives = sp.csr_array(np.where(MASK & (Y == 1), 1.0, 0.0))
    same = MultiLabelMF(unlabeled="missing", reg=model.reg_, threshold=0.0, random_state=0).fit(X, positives)
    np.testing.assert_allclose(model.predict_scores(X), same.predict_scores(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("negative_loss", ["squared", "same"])
def test_the_objective_is_what_the_docstring_says(loss, negative_loss):
    random = np.random.default_rng(1)
    weights, label_weight = random.random(len(X)) + 0.5, random.random(Y.shape[1]) + 0.5
    model = exact(loss=loss, negative_loss=negative_loss, label_weight=label_weight, max_iter=3)
    model.fit(X, Y, sample_weight=weights)
    assert model.objective_ == pytest.approx(brute_force(model, weights, label_weight), rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_with_missing_labels_only_known_entries_count(loss):
    model = exact(loss=loss, unlabeled="missing", negative_weight=0.7, max_iter=3).fit(X, Y, mask=MASK)
    assert model.negative_loss_ == "same"
    assert model.objective_ == pytest.approx(brute_force(model, known=MASK), rel=1e-9)


@pytest.mark.parametrize(
    ("loss", "options"),
    [("squared", {}), ("logistic", {"negative_loss": "squared"}), ("logistic", {"unlabeled": "missing"})],
)
def test_training_ends_where_an_independent_minimiser_ends(loss, options):
    """With the ridge the factored problem's minimum is that of a convex one, so it does not depend on the start."""
    model = exact(loss=loss, rank=7, reg=2.0, **options).fit(X, UNKNOWN if options.get("unlabeled") else Y)
    rows, rank = np.hstack([X, np.ones((len(X), 1))]), 7
    known = MASK if options.get("unlabeled") else np.ones(Y.shape, bool)
    function = get_loss(loss)

    def terms(scores):
        same = model.negative_loss_ == "same"
        w, z = model.negative_weight_, model.negative_value_
        value = np.where(
            Y == 1, function.value(1.0, scores),
            w * function.value(z, scores) if same else 0.5 * w * (scores - z) ** 2,
        )  # fmt: skip
        slope = np.where(
            Y == 1, function.slope(1.0, scores), w * function.slope(z, scores) if same else w * (scores - z)
        )
        return (value * known).sum(), slope * known

    def value_and_gradient(theta):
        W, H = theta[: 11 * rank].reshape(11, rank), theta[11 * rank :].reshape(7, rank)
        value, slope = terms(rows @ W @ H.T)
        gradient = np.concatenate([(rows.T @ slope @ H + 2 * W).ravel(), (slope.T @ rows @ W + 2 * H).ravel()])
        return value + theta @ theta, gradient

    start = 0.3 * np.random.default_rng(5).standard_normal(18 * rank)
    peer = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B",
                    options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9})  # fmt: skip
    assert model.objective_ == pytest.approx(peer.fun, rel=1e-6)


def test_rows_and_labels_of_a_toy_with_a_known_answer():
    """Three kinds of rows, each with two labels of its own."""
    kinds = np.repeat(np.eye(3), 20, axis=0)
    truth = np.repeat(np.eye(6, dtype=int)[:3] + np.eye(6, dtype=int)[3:], 20, axis=0)
    for loss in LOSSES:
        model = MultiLabelMF(loss=loss, threshold=0.5 if loss == "squared" else 0.0, random_state=0).fit(kinds, truth)
        np.testing.assert_array_equal(model.predict(kinds), truth)
        np.testing.assert_array_equal(np.sort(model.predict_topk(np.eye(3), k=2)[0]), [[0, 3], [1, 4], [2, 5]])
    sparse = MultiLabelMF(random_state=0).fit(sp.csr_array(kinds), sp.csr_array(truth))
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(kinds)).toarray(), truth)
    assert sparse.rank_ == 4  # three features and the constant
    assert model.score(kinds, truth) == 1


def test_missing_but_none_missing_is_the_loss_on_every_pair():
    model = exact(unlabeled="missing").fit(X, Y)
    same = exact(negative_loss="same").fit(X, Y)
    np.testing.assert_allclose(model.predict_scores(X), same.predict_scores(X), atol=1e-6)
    assert model.negative_loss_ == "same"


@pytest.mark.parametrize("unlabeled", ["negative", "missing"])
def test_a_row_of_weight_2_is_that_row_twice(unlabeled):
    weights = np.random.default_rng(3).integers(1, 4, len(X))
    labels = UNKNOWN if unlabeled == "missing" else Y
    model = exact(unlabeled=unlabeled).fit(X, labels, sample_weight=weights)
    repeated = exact(unlabeled=unlabeled).fit(np.repeat(X, weights, axis=0), np.repeat(labels, weights, axis=0))
    assert model.negative_weight_ == pytest.approx(repeated.negative_weight_)
    assert model.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    np.testing.assert_allclose(model.predict_scores(X), repeated.predict_scores(X), atol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "squared", "reg": 1.0},
        {"unlabeled": "missing", "reg": 1.0},
        {"kernel": Kernel(landmarks=40), "reg": 1.0},
    ],
)
def test_the_same_bits_on_any_number_of_threads(options):
    features, labels = problem(520, seed=4)
    labels = (
        np.where(np.random.default_rng(0).random(labels.shape) < 0.7, labels, np.nan)
        if "unlabeled" in options
        else labels
    )
    models = [
        MultiLabelMF(n_threads=threads, random_state=3, max_iter=2, **options).fit(features, labels)
        for threads in (1, 3)
    ]
    np.testing.assert_array_equal(models[0].feature_weights_, models[1].feature_weights_)
    np.testing.assert_array_equal(models[0].predict_scores(features), models[1].predict_scores(features))
    assert models[0].threshold_ == models[1].threshold_


@pytest.mark.parametrize("features", [X, X[:8]], ids=["more rows than features", "fewer"])
def test_a_linear_kernel_over_all_rows_is_no_kernel(features):
    labels = Y[: len(features)]
    plain = exact(rank=7, reg=2.0, fit_intercept=False).fit(features, labels)
    kernel = exact(rank=7, reg=2.0, fit_intercept=False, kernel="linear").fit(features, labels)
    assert len(kernel.feature_weights_) == len(features)
    assert kernel.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    np.testing.assert_allclose(kernel.predict_scores(X), plain.predict_scores(X), atol=0.02)


def test_an_rbf_kernel_learns_what_no_line_can():
    random = np.random.default_rng(0)
    points = random.uniform(-1, 1, (400, 2))
    rings = np.stack([np.hypot(*points.T) < 0.6, np.hypot(*points.T) >= 0.6], axis=1).astype(int)
    options = {"normalize": False, "random_state": 0}
    line = MultiLabelMF(**options).fit(points[:300], rings[:300])
    curve = MultiLabelMF(kernel=Kernel("rbf", gamma=1.0, landmarks=60), **options).fit(points[:300], rings[:300])
    assert curve.feature_weights_.shape == (61, 2)
    exact_match = [np.mean(m.predict(points[300:])[:, 0] == rings[300:, 0]) for m in (line, curve)]
    assert exact_match[0] < 0.75
    assert exact_match[1] > 0.9
    own = MultiLabelMF(
        kernel=Kernel(lambda rows, c: np.exp(-((rows[:, None] - c[None]) ** 2).sum(2)), landmarks=60), **options
    )
    assert np.mean(own.fit(points[:300], rings[:300]).predict(points[300:])[:, 0] == rings[300:, 0]) > 0.9


def test_both_penalties_of_a_kernel_are_what_their_names_say():
    features, labels = X[:40], Y[:40]

    def kernel(rows, landmarks):
        return np.exp(-((rows[:, None] - landmarks[None]) ** 2).sum(2) / 10)

    values = kernel(features, features)
    spectrum, basis = np.linalg.eigh(values)
    roots = basis * np.sqrt(spectrum) @ basis.T
    options = {"fit_intercept": False, "loss": "squared", "negative_weight": 1, "reg": 0.3, "rank": 7}
    for penalty, as_features in (("rkhs", roots), ("weights", values)):
        model = exact(kernel=Kernel(kernel, penalty=penalty), **options).fit(features, labels)
        plain = exact(**options).fit(as_features, labels)  # the same ridge, on features written out
        assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
        np.testing.assert_allclose(model.predict_scores(features), plain.predict_scores(as_features), atol=1e-3)
        W, H = model.feature_weights_, model.label_factors_
        A = np.linalg.solve(roots, W) if penalty == "rkhs" else W
        ridge = 0.15 * (np.trace(A.T @ (values if penalty == "rkhs" else np.eye(40)) @ A) + np.sum(H**2))
        fit = 0.5 * np.sum((labels - values @ A @ H.T) ** 2)
        assert model.objective_ == pytest.approx(fit + ridge, rel=1e-6)


def test_a_kernel_without_whitening_is_written_down_and_read():
    model = MultiLabelMF(kernel=Kernel(penalty="weights"), reg=1.0, threshold=0.0, random_state=0).fit(X, Y)
    again = MultiLabelMF.from_parts(*model.to_parts())
    assert np.array_equal(again.predict_scores(X), model.predict_scores(X))


def test_the_closed_form_is_the_limit_of_training_without_ridge():
    options = {"loss": "squared", "fit_intercept": False}
    svd = exact(solver="svd", reg="auto", **options).fit(X, Y)
    trained = exact(reg=1e-9, **options).fit(X, Y)
    assert svd.objective_ == pytest.approx(brute_force(svd), rel=1e-9)
    assert trained.objective_ == pytest.approx(svd.objective_, rel=1e-6)
    np.testing.assert_allclose(trained.predict_scores(X), svd.predict_scores(X), atol=1e-3)
    assert (svd.status_, svd.reg_, svd.n_iter_) == (Status.SOLVED, 0.0, 1)
    weights = np.random.default_rng(3).integers(1, 4, len(X))
    weighted = exact(solver="svd", reg=0, **options).fit(X, Y, sample_weight=weights)
    repeated = exact(solver="svd", reg=0, **options).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    np.testing.assert_allclose(weighted.predict_scores(X), repeated.predict_scores(X), atol=1e-8)
    assert weighted.objective_ == pytest.approx(repeated.objective_)


def test_other_solvers_reach_the_same_objective():
    reference = exact(rank=7, reg=2.0).fit(X, Y).objective_
    for solver in ("newton-linesearch", "gradient", "nonlinear-cg", "gradient-region"):
        assert exact(rank=7, reg=2.0, solver=solver, max_iter=200).fit(X, Y).objective_ == pytest.approx(
            reference, rel=1e-4
        )


def test_full_rank_and_the_loss_on_every_pair_is_binary_relevance():
    """Their ridges differ, ‖Z‖_* here and ½‖Z‖² there; without a ridge both are one logistic regression per label."""
    features, labels = problem(600, shift=0.5, seed=2)
    ours = exact(rank=7, normalize=True, negative_loss="same", reg=1e-6, max_iter=300).fit(features[:400], labels[:400])
    peer = BinaryRelevance(reg=1e-6, threshold=0.0).fit(features[:400], labels[:400])
    scores, expected = (m.predict_scores(features[400:]) for m in (ours, peer))
    assert np.abs(scores - expected).max() <= 1e-3 * np.ptp(expected)
    quality = [multilabel_metrics(found, labels[400:])["auc"] for found in (scores, expected)]
    assert quality[0] == pytest.approx(quality[1], abs=1e-6)
    assert quality[1] > 0.95


def test_probabilities_are_of_the_right_size():
    """The square that replaces a negative's loss leaves the mean probability near the share of positives."""
    features, labels = problem(1500, shift=3, seed=6)
    plain = {"reg": 2.0, "threshold": 0.0, "negative_loss": "squared", "random_state": 0}
    model = MultiLabelMF(**plain).fit(features[:1000], labels[:1000])
    probability = model.predict_proba(features[1000:])
    np.testing.assert_allclose(probability, expit(model.predict_scores(features[1000:])))
    share = labels[1000:].mean()
    assert share < 0.1
    assert share / 1.5 < probability.mean() < 1.5 * share
    arbitrary = MultiLabelMF(negative_weight=1 / 16, negative_value=-1, **plain).fit(features[:1000], labels[:1000])
    assert arbitrary.predict_proba(features[1000:]).mean() > 2 * share
    for loss in ("squared", "squared_hinge"):
        assert not hasattr(MultiLabelMF(loss=loss), "predict_proba")


def test_what_auto_stands_for():
    sparse = MultiLabelMF(random_state=0).fit(*problem(shift=4))
    dense = MultiLabelMF(random_state=0).fit(*problem(shift=0.5))
    share = problem(shift=4)[1].mean()
    assert 0 < share < 0.1 < problem(shift=0.5)[1].mean()
    assert (sparse.negative_loss_, dense.negative_loss_) == ("squared", "same")
    by_label = problem(shift=4)[1].mean(axis=0)
    curvature = (by_label**2 * (1 - by_label)).sum() / by_label.sum()
    multiple = sparse.negative_weight_ / curvature
    assert multiple == pytest.approx(1) or multiple == pytest.approx(2)
    expected = np.log(share / (1 - share)) - share / sparse.negative_weight_
    assert sparse.negative_value_ == pytest.approx(expected)
    unit = 0.25 * np.sqrt(len(X) * share * (1 - share))
    assert np.log2(sparse.reg_ / unit) == pytest.approx(round(np.log2(sparse.reg_ / unit)), abs=1e-6)
    assert (dense.negative_weight_, dense.negative_value_) == (1.0, -1.0)
    assert sparse.rank_ == 7
    assert MultiLabelMF().fit(X[:49], Y[:49]).reg_ == pytest.approx(
        0.25 * np.sqrt(49 * Y[:49].mean() * (1 - Y[:49].mean()))
    )


@pytest.mark.parametrize("wanted", [1.0, 0.001, 50.0, 1e9])
def test_the_search_for_the_ridge_goes_beyond_its_grid(wanted):
    tried = []

    def quality(multiple):
        tried.append(multiple)
        return -abs(np.log(multiple / wanted))

    best = ridge_search.best_multiple(quality)
    assert abs(np.log2(best / wanted)) <= 1 or best == ridge_search.LARGEST
    assert len(tried) == len(set(tried)) < 12
    assert ridge_search.best_multiple(lambda multiple: 0.5) == 4.0  # equals: the largest of the grid


def test_noise_gets_a_larger_ridge():
    logs = []
    for seed in (0, 1):  # one small draw may choose anything
        random = np.random.default_rng(seed)
        features = random.standard_normal((300, 30))
        clean = (features[:, :6] > 1).astype(int)
        noise = (random.random((300, 6)) < clean.mean()).astype(int)
        fits = [MultiLabelMF(threshold=0.0, random_state=0).fit(features, labels) for labels in (clean, noise)]
        logs.append(np.log2([model.reg_ for model in fits]))
    clean_mean, noise_mean = np.mean(logs, axis=0)
    assert noise_mean > clean_mean + 1


def test_dense_features_may_have_any_units_and_sparse_rows_have_unit_length():
    features, labels = problem(300, seed=4)
    units = 10.0 ** np.arange(features.shape[1]) - 5.0 * (np.arange(features.shape[1]) == 1)
    options = {"rank": 3, "reg": 0.1, "threshold": 0.0, "random_state": 0, "dtype": "float64", "n_threads": 1}
    plain, scaled = (
        MultiLabelMF(**options).fit(rows, labels, validation=(rows[:50], labels[:50]))
        for rows in (features, features * units + 3)
    )
    np.testing.assert_allclose(scaled.predict_scores(features * units + 3), plain.predict_scores(features), atol=1e-6)
    assert scaled.history_[-1]["ndcg@5"] == pytest.approx(plain.history_[-1]["ndcg@5"])
    z = (features - features.mean(axis=0)) / features.std(axis=0)
    own = MultiLabelMF(normalize=False, **options)
    z = np.clip(z, -3, 3) / np.sqrt(z.shape[1])
    np.testing.assert_allclose(own.fit(z, labels).predict_scores(z), plain.predict_scores(features), atol=1e-6)
    few = sp.csr_array(np.where(features > 1, features, 0))
    unit, automatic = (MultiLabelMF(**options, **how).fit(few, labels) for how in ({"normalize": True}, {}))
    np.testing.assert_array_equal(automatic.predict_scores(few), unit.predict_scores(few))


def test_few_rows_of_many_features_are_searched_in_their_own_span():
    wide = np.random.default_rng(0).standard_normal((60, 400))
    labels = (wide[:, :5] > 0.5).astype(int)
    plain = MultiLabelMF(normalize=True, random_state=0, threshold=0.0, dtype="float64").fit(wide, labels)
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((400, 400)))[0]
    rotated = MultiLabelMF(normalize=True, random_state=0, threshold=0.0, dtype="float64").fit(wide @ rotation, labels)
    assert plain.reg_ == pytest.approx(rotated.reg_)
    np.testing.assert_allclose(rotated.predict_scores(wide @ rotation), plain.predict_scores(wide), atol=1e-3)


def test_history_validation_patience_and_callbacks():
    features, labels = problem(600, shift=2.0, seed=3)
    seen = []
    model = MultiLabelMF(patience=2, max_iter=30, tol=0.0, reg=0.01, threshold=0.0, random_state=0).fit(
        features[:100],
        labels[:100],
        validation=(features[100:], labels[100:]),
        callbacks=[lambda s: seen.append(s.iteration)],
    )
    assert model.status_ is Status.NO_IMPROVEMENT
    assert seen == [entry["iteration"] for entry in model.history_]
    assert model.n_iter_ == len(model.history_)
    best = max(entry["ndcg@5"] for entry in model.history_)
    kept = multilabel_metrics(model.predict_scores(features[100:]), labels[100:])
    assert kept["ndcg@5"] == pytest.approx(best)
    stopped = MultiLabelMF(reg=1.0, threshold=0.0).fit(X, Y, callbacks=[lambda sweep: sweep.iteration == 2])
    assert (stopped.status_, stopped.n_iter_) == (Status.CALLBACK, 2)
    falling = np.diff([entry["objective"] for entry in exact(max_iter=20).fit(X, Y).history_])
    assert (falling < 1e-9).all()


def test_in_a_pipeline_with_a_parallel_grid_search_and_data_frames():
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MultiLabelMF(max_iter=3, random_state=0, threshold=0.0)),
        {"multilabelmf__reg": [0.5, 1e4]},
        scoring="f1_micro",
        cv=KFold(2),
        n_jobs=2,
    ).fit(frame, pd.DataFrame(Y))
    assert search.best_params_ == {"multilabelmf__reg": 0.5}
    model = MultiLabelMF(reg=1.0).fit(frame, Y)
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    assert model.n_features_in_ == X.shape[1]
    np.testing.assert_array_equal(model.classes_, range(7))
    np.testing.assert_array_equal(model.decision_function(frame), model.predict_scores(frame))


def test_a_second_fit_forgets_the_first():
    model = MultiLabelMF(random_state=0).fit(*problem(seed=5))
    again = model.fit(X, Y)
    fresh = MultiLabelMF(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(again.feature_weights_, fresh.feature_weights_)
    assert again.threshold_ == fresh.threshold_


def test_labels_without_a_row_and_rows_without_a_label():
    labels = Y.copy()
    labels[:, 3], labels[:5] = 0, 0
    model = MultiLabelMF(random_state=0).fit(X, labels)
    assert np.isfinite(model.predict_scores(X)).all()
    assert model.predict_proba(X)[:, 3].mean() < 0.5 * model.predict_proba(X).mean()
    everything = MultiLabelMF(threshold=0.0, random_state=0).fit(X, np.ones_like(Y))
    assert everything.predict(X).all()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"rank": 0}, "rank must be"),
        ({"rank": 12}, "larger than the number of features, 11, and of labels, 7"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"reg": -1}, "reg must be"),
        ({"reg": np.inf}, "reg must be"),
        ({"negative_weight": "some"}, "negative_weight must be"),
        ({"negative_value": np.inf}, "negative_value must be"),
        ({"negative_loss": "log"}, "negative_loss must be"),
        ({"unlabeled": "missing", "negative_loss": "squared"}, "leave negative_loss"),
        ({"unlabeled": "missing", "negative_value": -1}, "leave negative_loss"),
        ({"solver": "als"}, "solver must be one of"),
        ({"solver": "svd"}, 'for loss="squared"'),
        ({"solver": "svd", "loss": "squared", "reg": 1.0}, "needs reg=0"),
        ({"solver": "svd", "loss": "squared", "negative_weight": 0.5}, "needs negative_weight=1"),
        ({"solver": "svd", "loss": "squared", "label_weight": np.ones(7)}, "without label_weight"),
        ({"kernel": "poly"}, "kernel must be"),
        ({"label_weight": np.ones(3)}, "one weight per label"),
        ({"label_weight": np.zeros(7)}, "finite and positive"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1}, "tol must be"),
        ({"patience": 2}, "patience needs validation"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"dtype": "int8"}, "dtype must be"),
    ],
)
def test_bad_parameters_get_a_sentence(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        MultiLabelMF(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kind": "poly"}, "kernel must be one of 'rbf', 'linear', got 'poly'"),
        ({"penalty": "ridge"}, "penalty must be one of 'rkhs', 'weights'"),
        ({"gamma": 0}, "gamma must be"),
        ({"kind": "linear", "gamma": 1.0}, 'gamma belongs to the kernel "rbf"'),
        ({"landmarks": 0}, "landmarks must be"),
    ],
)
def test_bad_kernels_get_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Kernel(**options)


def test_a_kernel_by_name_has_the_defaults():
    named, spelled = (exact(reg=1.0, kernel=kernel).fit(X, Y) for kernel in ("rbf", Kernel("rbf")))
    assert np.array_equal(named.predict_scores(X), spelled.predict_scores(X))
    assert MultiLabelMF.from_parts(*spelled.to_parts()).kernel == Kernel()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"y": UNKNOWN}, 'set unlabeled="missing"'),
        ({"validation": X}, "pair"),
        ({"validation": (X, Y[:, :3])}, "7 labels"),
        ({"validation": (X[:, :3], Y)}, "X has 3 features"),
    ],
)
def test_bad_data_gets_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        MultiLabelMF(reg=1.0, threshold=0.0).fit(**({"X": X, "y": Y} | arguments))


def test_other_refusals():
    with pytest.raises(ValueError, match="every label known"):
        MultiLabelMF(loss="squared", solver="svd", unlabeled="missing", threshold=0.5).fit(X, UNKNOWN)
    with pytest.raises(TypeError, match="callbacks must be functions"):
        MultiLabelMF().fit(X, Y, callbacks=[3])


# The checks that scikit-learn's common tests of classifiers cannot make of a multi-label classifier, and why
ONE_AND_TWO = "the check writes its labels as 1 and 2 (or as class numbers); ours are zeros and ones"
ONE_COLUMN = "the check expects the answers of a single label; ours have one column per label"
FLAT_Y = "the check gives a 1-D y; a multi-label Y has one column per label"
EXCLUDED = {
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            MultiLabelMF(max_iter=3, dtype="float64", n_threads=1),
            expected_failed_checks=EXCLUDED,
            on_skip=None,
            on_fail="raise",
        )
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(EXCLUDED)
    assert sum(r["status"] == "passed" for r in results) > 40
