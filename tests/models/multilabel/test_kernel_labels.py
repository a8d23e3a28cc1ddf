import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import everypair
from everypair import InterruptedTraining, KernelLabels
from everypair.data.labels import Labels
from everypair.features.learned_metric import learned_scale
from everypair.features.ridge_weights import choose_ridge
from everypair.features.row_scale import RowScale
from everypair.metrics import per_row
from everypair.metrics.ranking import rank_dense
from everypair.models.multilabel import kernel_choice, kernel_learner, kernel_systems
from everypair.models.multilabel.calibration import Calibration
from everypair.models.multilabel.kernel_stages import StageRows
from everypair.models.multilabel.kernel_systems import ExactSystem, LandmarkSystem
from everypair.models.multilabel.threshold import best_threshold
from everypair.solvers.kernel_ridge.exact import KernelRidge
from everypair.solvers.kernel_ridge.points import Points
from everypair.solvers.loop import Status


def problem(n=90, d=12, n_labels=7, sparse=False):
    random = np.random.default_rng(1)
    X = random.random((n, d)) * (random.random((n, d)) < (0.3 if sparse else 0.9))
    Y = (X @ random.normal(0, 1, (d, n_labels)) + random.normal(0, 0.3, (n, n_labels)) > 0.8).astype(int)
    return (sp.csr_array(X) if sparse else X), Y


def kernel(x, z, p=None, q=None, gamma=1.0):
    def squares(a, b):
        return np.square(a[:, None] - b[None]).sum(axis=2)

    K = np.exp(-gamma * squares(x, z)) + 0.1
    return K if p is None else K * np.exp(-squares(p, q))


def unit(scores):
    rows = np.maximum(scores, 0)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def left_out(K, Y, reg):
    inverse = np.linalg.inv(K + np.diag(reg))
    return Y - (inverse @ Y) / np.diag(inverse)[:, None]


def as_array(rows):
    return rows.toarray() if sp.issparse(rows) else rows


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_both_stages_are_those_of_plain_numpy(sparse, weighted):
    X, Y = problem(sparse=sparse)
    weights = 0.5 + np.random.default_rng(2).random(60) if weighted else np.ones(60)
    model = KernelLabels(dtype="float64", gamma=0.7).fit(X[:60], Y[:60], weights)
    scale = model.state_.model.scale
    x, z, y = as_array(scale(X[:60])), as_array(scale(X[60:])), Y[:60]
    reg = model.reg_ / weights
    K = kernel(x, x, gamma=0.7)
    L = left_out(K, y, reg)
    first = kernel(z, x, gamma=0.7) @ np.linalg.solve(K + np.diag(reg), y)
    p, q = unit(first), unit(L)
    K2 = kernel(x, x, q, q, 0.7)
    second = kernel(z, x, p, q, 0.7) @ np.linalg.solve(K2 + np.diag(reg), y)
    np.testing.assert_allclose(model.predict_scores(X[60:]), (first + second) / 2, rtol=0, atol=1e-9)
    both = (L + left_out(K2, y, reg)) / 2
    assert model.threshold_ == pytest.approx(best_threshold(both, Labels.from_y(y), weights), abs=1e-9)


def test_left_out_scores_of_both_stages_are_those_of_a_fit_without_the_row():
    X, Y = problem(n=40)
    y, x, ones = Y.astype(float), RowScale.of(X)(X), np.ones(40)
    compared = StageRows(Points.of(x), 1.0)

    def stage(rows, start):
        system = ExactSystem.of(rows, 0.3, ones, 1)
        return system.left_out(y, system.solve(y), start)

    L = stage(compared, 0)
    q = unit(L)
    L2 = stage(replace(compared, predicted=Points.of(q)), 30)
    for row in range(40):
        kept = np.arange(40) != row
        A = np.linalg.solve(kernel(x[kept], x[kept]) + 0.3 * np.eye(39), y[kept])
        np.testing.assert_allclose(L[[row]], kernel(x[[row]], x[kept]) @ A, rtol=0, atol=1e-9)
        if row >= 30:
            A = np.linalg.solve(kernel(x[kept], x[kept], q[kept], q[kept]) + 0.3 * np.eye(39), y[kept])
            expected = kernel(x[[row]], x[kept], q[[row]], q[kept]) @ A
            np.testing.assert_allclose(L2[[row - 30]], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_as_landmarks_are_the_exact_system(weighted):
    X, Y = problem(n=50)
    y, compared = Y.astype(float), StageRows(Points.of(RowScale.of(X)(X)), 1.0)
    inverse_weights = 1 / (0.5 + np.random.default_rng(0).random(50)) if weighted else np.ones(50)
    exact = ExactSystem.of(compared, 0.3, inverse_weights, 1)
    through = LandmarkSystem.of(compared, 0.3, inverse_weights, 50, 1)
    A, W = exact.solve(y), through.solve(y)
    order = through.factor.chosen
    assert sorted(order) == list(range(50))
    for function in ("gap", "left_out"):
        start = (10,) if function == "left_out" else ()
        one, other = getattr(exact, function)(y, A, *start), getattr(through, function)(y, W, *start)
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-6)
    other = LandmarkSystem.of(compared, 0.3, inverse_weights, np.arange(50), 1)
    values = compared.kernel(compared)
    np.testing.assert_allclose(values @ other.coefficients(other.solve(y)), values @ A, rtol=0, atol=1e-6)


def test_some_landmarks_are_near_all_rows():
    X, Y = problem(n=300)
    exact, near, far = (
        KernelLabels(landmarks=count, metric_exponent=0.0, reg=1.0, dtype="float64").fit(X[:250], Y[:250])
        for count in ("auto", 200, 20)
    )
    assert exact.state_.model.rows.shape[0] == 250
    assert near.state_.model.rows.shape == (200, 12)
    assert near.state_.model.predicted.shape == near.state_.model.second.shape == (200, 7)
    scores = exact.predict_scores(X[250:])
    gaps = [np.abs(model.predict_scores(X[250:]) - scores).mean() for model in (near, far)]
    assert gaps[0] < 0.5 * gaps[1]


@pytest.mark.parametrize("sparse", [False, True])
def test_landmarks_are_taken_where_memory_ends(monkeypatch, sparse):
    X, Y = problem(sparse=sparse)
    monkeypatch.setattr(kernel_learner, "BUDGET", 4 * 90 * 30)
    monkeypatch.setattr(kernel_learner, "FEWEST_LANDMARKS", 10)
    one, two = (KernelLabels(n_threads=threads).fit(X, Y) for threads in (1, 2))
    assert one.state_.model.rows.shape[0] == 30
    np.testing.assert_array_equal(one.predict_scores(X), two.predict_scores(X))
    assert KernelLabels(landmarks=90).fit(X, Y).state_.model.rows.shape[0] == 90


def test_unknown_labels_are_filled_in_until_they_say_nothing(monkeypatch):
    monkeypatch.setattr(kernel_systems, "ROUNDS", 3000)
    monkeypatch.setattr(kernel_systems, "CHANGE", 1e-12)
    X, Y = problem(n=60)
    unknown = np.random.default_rng(0).random(Y.shape) < 0.4
    x = RowScale.of(X)(X)
    labels = Labels.from_y(np.where(unknown, np.nan, Y), "missing")
    y, hidden = kernel_choice.targets(labels, np.float64)
    np.testing.assert_array_equal(hidden, unknown)
    for system in (
        ExactSystem.of(StageRows(Points.of(x), 1.0), 0.3, np.ones(60), 1),
        LandmarkSystem.of(StageRows(Points.of(x), 1.0), 0.3, np.ones(60), 60, 1),
    ):
        solution, filled = kernel_systems.solved(system, y, hidden)
        scores = filled - system.gap(filled, solution)
        for label in range(7):
            known = ~unknown[:, label]
            K = kernel(x[known], x[known]) + 0.3 * np.eye(known.sum())
            expected = kernel(x, x[known]) @ np.linalg.solve(K, Y[known, label])
            np.testing.assert_allclose(scores[:, label], expected, rtol=0, atol=1e-6)


def held_out_quality(X, Y, exponent, reg):
    """nDCG@5 of the rows of every fold, by a metric and a regression of the other two."""
    order = np.random.default_rng(0).permutation(len(X))
    X, Y = X[order], Y[order].astype(float)
    plain = RowScale.of(X)
    metric_ridge = choose_ridge(plain(X), Y)
    found = []
    for fold in range(3):
        held = np.arange(fold, len(X), 3)
        kept = np.setdiff1d(np.arange(len(X)), held)
        scale = learned_scale(plain, plain(X[kept]), Y[kept], metric_ridge, exponent)
        x, z = scale(X[kept]), scale(X[held])
        scores = kernel(z, x) @ np.linalg.solve(kernel(x, x) + reg * np.eye(len(kept)), Y[kept])
        found.append(per_row.ndcg(rank_dense(scores, Y[held], None), 5))
    found = np.concatenate(found)
    return found[~np.isnan(found)]


def test_ridge_and_metric_are_those_that_rank_held_out_rows_best():
    X, Y = problem()
    model = KernelLabels(dtype="float64").fit(X, Y)
    ridges = {reg: held_out_quality(X, Y, 0.5, reg).mean() for reg in kernel_choice.RIDGES}
    assert ridges[model.reg_] > max(ridges.values()) - kernel_choice.TIE
    assert KernelLabels(reg=0.7).fit(X, Y).reg_ == 0.7
    plain = held_out_quality(X, Y, 0.0, model.reg_)
    gains = {e: held_out_quality(X, Y, e, model.reg_) - plain for e in kernel_choice.EXPONENTS}
    best = max(e for e in gains if gains[e].mean() > max(gain.mean() for gain in gains.values()) - kernel_choice.TIE)
    sure = gains[best].mean() > kernel_choice.ERRORS * gains[best].std() / np.sqrt(len(plain))
    assert model.metric_exponent_ == (best if sure else 0.0)


def test_the_ridge_of_one_label_has_the_least_error_and_that_of_ties_is_the_usual_one():
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (300, 3))
    one, noise = (X[:, :1] > 0).astype(int), (random.random((300, 1)) < 0.5).astype(int)
    assert KernelLabels().fit(X, one).reg_ < 1 < KernelLabels().fit(X, noise).reg_
    assert kernel_choice.uphill((1.0, 2.0, 3.0), lambda value: 0.0001 * value) == 2.0
    everything = KernelLabels().fit(X, np.ones((300, 3), int))
    assert everything.reg_ == 0.3
    assert everything.predict(X).all()


def test_a_metric_is_learnt_where_it_helps_and_not_where_it_does_not():
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (200, 20))
    few = (X[:, :3] > 0).astype(int)  # three features of twenty say all
    assert KernelLabels().fit(X, few).metric_exponent_ > 0
    noise = (random.random((200, 3)) < 0.4).astype(int)
    assert KernelLabels().fit(X, noise).metric_exponent_ == 0


def test_features_that_say_nothing_count_less():
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (150, 12))
    Y = (X[:, :2] > 0).astype(int)
    scale = KernelLabels(metric_exponent=1.0).fit(X, Y).state_.model.scale.scale * X.std(axis=0)
    assert scale[:2].min() > 3 * scale[2:].max()
    plain = KernelLabels(metric_exponent=0.0).fit(X, Y).state_.model.scale.scale * X.std(axis=0)
    np.testing.assert_allclose(plain, plain[0])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_does_not_depend_on_its_batch(sparse):
    X, Y = problem(n=400, sparse=sparse)
    model = KernelLabels(dtype="float64").fit(X[:60], Y[:60])
    scores = model.predict_scores(X)
    for row in (0, 255, 256, 399):
        np.testing.assert_allclose(model.predict_scores(X[[row]]), scores[[row]], rtol=0, atol=1e-12)
    dense = as_array(X)
    dense[0] = 1  # a full row among sparse ones
    np.testing.assert_allclose(model.predict_scores(dense)[1:], scores[1:], rtol=0, atol=1e-12)


def test_files_keep_every_bit(tmp_path):
    for sparse in (False, True):
        X, Y = problem(sparse=sparse)
        model = KernelLabels().fit(X, Y)
        model.save(tmp_path / "labels.ep")
        again = everypair.load(tmp_path / "labels.ep")
        np.testing.assert_array_equal(again.predict_scores(X), model.predict_scores(X))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.threshold_ == model.threshold_


def test_a_time_limit_leaves_the_second_stage_out():
    X, Y = problem()
    model = KernelLabels(time_limit=1e-9).fit(X, Y)
    assert model.status_ == Status.TIME_LIMIT
    assert model.state_.model.second is None
    assert np.isfinite(model.threshold_)
    assert np.isfinite(model.predict_proba(X)).all()
    assert KernelLabels(time_limit=600).fit(X, Y).status_ == Status.SOLVED


def test_interrupted_in_the_second_stage_it_is_the_first(monkeypatch):
    X, Y = problem()
    whole, calls = KernelRidge.left_out, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return whole(self, *args)

    monkeypatch.setattr(KernelRidge, "left_out", interrupted)
    stop = 2
    with pytest.warns(InterruptedTraining, match="first stage alone"):
        model = KernelLabels(reg=0.3).fit(X, Y)
    assert model.status_ == Status.INTERRUPTED
    alone = KernelLabels(reg=0.3, time_limit=1e-9).fit(X, Y)
    np.testing.assert_array_equal(model.predict_scores(X), alone.predict_scores(X))
    calls.clear()
    stop = 1
    untouched = KernelLabels(reg=0.3)
    with pytest.raises(KeyboardInterrupt):
        untouched.fit(X, Y)
    assert not hasattr(untouched, "state_")


def test_probabilities_are_shares():
    random = np.random.default_rng(0)
    scores = random.random((4000, 5)).astype(np.float32)
    labels = Labels.from_y((random.random((4000, 5)) < 0.1 + 0.6 * scores**2).astype(int))
    curve = Calibration.of(scores, labels)
    asked = np.linspace(0.02, 0.98, 50)
    assert np.abs(curve(asked) - (0.1 + 0.6 * asked**2)).max() < 0.08
    assert (np.diff(curve(np.sort(scores.ravel()))) >= 0).all()
    assert curve(np.array([-5.0])) == curve.shares[0]
    assert curve(np.array([5.0])) == curve.shares[-1]


def test_probabilities_of_weights_known_entries_and_one_score():
    scores = np.array([[0.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    labels = Labels.from_y([[0, 1], [1, 1], [0, 0]])
    twice = Calibration.of(scores, labels, np.array([2.0, 1.0, 1.0]))
    rows = [0, 0, 1, 2]
    again = Calibration.of(scores[rows], labels.rows(rows))
    np.testing.assert_allclose(twice.shares, again.shares)
    known = Labels.from_y([[0.0, 1.0], [np.nan, 1.0], [0.0, np.nan]], "missing")
    assert Calibration.of(scores, known).shares[0] < Calibration.of(scores, labels).shares[0]
    flat = Calibration.of(np.zeros((4, 1)), Labels.from_y([[1], [0], [0], [0]]))
    np.testing.assert_allclose(flat(np.array([[0.0], [1.0]])), 0.25)


def test_what_makes_no_sense_is_refused():
    X, Y = problem()
    bad = {
        "gamma": 0.0,
        "reg": 0.0,
        "metric_exponent": -1.0,
        "time_limit": 0,
        "dtype": "float16",
        "verbose": 1,
        "landmarks": 0,
    }
    for name, value in bad.items():
        with pytest.raises(ValueError, match=f"{name} must be"):
            KernelLabels(**{name: value}).fit(X, Y)
    with pytest.raises(ValueError, match="MultiLabelMF, which learns on a cluster"):
        KernelLabels().fit(X, Y, client="tcp://somewhere")
    with pytest.raises(ValueError, match=r"X has values too large for float64: rescale them\."):
        KernelLabels().fit(X * 1e200, Y)


def test_progress_is_shown(capsys, monkeypatch):
    monkeypatch.setattr("everypair.progress.SECONDS_BETWEEN_LINES", 0.0)
    X, Y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelLabels(verbose=True).fit(X, Y)
    assert "2 of 3 steps" in capsys.readouterr().err
