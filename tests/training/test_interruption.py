"""Ctrl-C, sent as the real signal: what is kept, what is said, and that a second one raises."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import everypair
from everypair import Blend, EnsembleMF, InterruptedTraining, ItemItem, MultiLabelMF, OneClassMF
from everypair.evaluate import feature_report
from everypair.models.multilabel import learner, mf, ridge_search
from everypair.solvers.loop import Status, StopRules, run
from everypair.training.interruption import warn_interrupted, was_interrupted

MATRIX = (np.random.default_rng(0).random((30, 20)) < 0.3).astype(float)


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)  # the handler runs before this ends, and ends it


def at_sweep(number):
    """A callback that presses Ctrl-C after so many sweeps, whosever they are."""
    seen = []

    def press(sweep):
        seen.append(sweep)
        if len(seen) == number:
            ctrl_c()

    return press


def model(**changed):
    return OneClassMF(**{"rank": 3, "tol": 0.0, "max_iter": 6, "random_state": 0, "n_threads": 1} | changed)


def labelled(n=120, d=10, labels=7):
    random = np.random.default_rng(0)
    X = random.standard_normal((n, d))
    return X, (X @ random.standard_normal((d, labels)) > 1.5).astype(int)


def test_fit_keeps_whole_sweeps_and_warns_its_caller():
    with pytest.warns(
        InterruptedTraining, match=r"^Interrupted: the model is what 3 of 6 sweeps have learnt\.$"
    ) as said:
        fitted = model().fit(MATRIX, callbacks=[at_sweep(3)])
    three = model(max_iter=3).fit(MATRIX)
    assert was_interrupted(fitted)
    assert not was_interrupted(three)
    assert np.array_equal(fitted.item_factors_, three.item_factors_)
    assert said[0].filename == __file__


def test_nothing_to_keep_before_the_first_sweep_ends(monkeypatch):
    monkeypatch.setattr("everypair.solvers.alternating.Alternating.step", lambda *_: ctrl_c())
    with pytest.raises(KeyboardInterrupt):
        model(solver="newton").fit(MATRIX)


def test_one_after_the_other_raises():
    class Stubborn:
        descends = True

        def step(self, state):
            try:
                ctrl_c()
            finally:
                ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        run(Stubborn(), None, StopRules(3, 0.0))


def test_an_ensemble_is_the_mean_of_its_members_so_far():
    options = {"rank": 3, "random_state": 0, "tol": 0.0, "max_iter": 4, "n_threads": 1}
    with pytest.warns(InterruptedTraining, match="mean of 2 of 5 members") as said:
        fitted = EnsembleMF(n_models=5, **options).fit(MATRIX, callbacks=[at_sweep(6)])
    assert (fitted.n_models_, fitted.n_iter_, len(said)) == (2, 6, 1)
    assert fitted.recommend(n=1)[0].shape == (30, 1)


def test_an_ensemble_drops_a_member_without_a_sweep(monkeypatch):
    step, steps = everypair.solvers.alternating.Alternating.step, []

    def third(self, state):
        steps.append(1)
        if len(steps) == 7:  # kernels are loaded by a step of each member
            ctrl_c()
        return step(self, state)

    monkeypatch.setattr("everypair.solvers.alternating.Alternating.step", third)
    options = {"rank": 3, "random_state": 0, "tol": 0.0, "max_iter": 2, "n_threads": 1, "solver": "newton"}
    with pytest.warns(InterruptedTraining, match="mean of 2 of 5 members"):
        fitted = EnsembleMF(n_models=5, **options).fit(MATRIX)
    assert np.array_equal(fitted.item_factors_, EnsembleMF(n_models=2, **options).fit(MATRIX).item_factors_)


def test_an_ensemble_keeps_its_first_member_cut_short():
    def press(sweep):
        ctrl_c()

    with pytest.warns(InterruptedTraining, match="mean of 1 of 2 members"):
        EnsembleMF(n_models=2, rank=3, random_state=0).fit(MATRIX, callbacks=[press])


def pressing(cls, at_fit, monkeypatch):
    """Let the fit of that number of a class press Ctrl-C in its second sweep, or at once where it has none."""
    fit, fits = cls.fit, []

    def pressed(self, *arguments, **options):
        fits.append(1)
        if len(fits) == at_fit:
            if not hasattr(self, "max_iter"):
                ctrl_c()
            options["callbacks"] = [at_sweep(2)]
        return fit(self, *arguments, **options)

    monkeypatch.setattr(cls, "fit", pressed)


def test_a_blend_keeps_the_models_so_far(monkeypatch):
    pressing(ItemItem, 1, monkeypatch)
    with pytest.warns(InterruptedTraining, match="the blend is 1 of 2 models"):
        fitted = Blend(models=[model(), ItemItem()]).fit(MATRIX)
    assert (len(fitted.models_), fitted.weights_, fitted.models_[0].n_iter_) == (1, (1.0,), 6)
    assert np.array_equal(fitted.recommend(n=3)[0], model().fit(MATRIX).recommend(n=3)[0])


def test_a_blend_whose_weights_are_not_found_yet(monkeypatch):
    pressing(OneClassMF, 1, monkeypatch)
    with pytest.warns(InterruptedTraining, match="the blend is 1 of 2 models") as said:
        fitted = Blend(models=[model(), ItemItem()], weights="auto").fit(MATRIX)
    assert (len(said), fitted.models_[0].n_iter_, fitted.search_) == (1, 2, None)


def test_a_blend_that_is_complete_but_for_the_last_sweeps(monkeypatch):
    pressing(OneClassMF, 2, monkeypatch)
    with pytest.warns(InterruptedTraining, match="the blend is 2 of 2 models"):
        fitted = Blend(models=[ItemItem(), model()], weights="auto").fit(MATRIX)
    assert [entry["weights"] for entry in fitted.search_]
    assert fitted.models_[1].n_iter_ == 2


def test_a_report_has_the_variants_so_far():
    features = {"a": np.eye(20)[:, :4], "b": np.eye(20)[:, 4:8]}
    test = (np.random.default_rng(1).random(MATRIX.shape) < 0.2) * (MATRIX == 0)
    with pytest.warns(InterruptedTraining, match="2 of 4 variants are measured") as said:
        report = feature_report(model(), MATRIX, test, item_features=features, callbacks=[at_sweep(15)])
    whole = feature_report(model(), MATRIX, test, item_features=features)
    assert len(said) == 1
    assert report.rows == {name: whole.rows[name] for name in ("all", "without item_features[a]")}
    assert report.missing == ("without item_features[b]", "none")
    assert whole.missing == ()
    assert report.gain("item_features[a]") == whole.gain("item_features[a]")
    assert str(report).endswith("not measured: without item_features[b], none")
    with pytest.raises(ValueError, match=r"no time to measure the model without item_features\[b\]"):
        report.gain("item_features[b]")
    with pytest.raises(KeyboardInterrupt):
        feature_report(model(), MATRIX, test, item_features=features, callbacks=[at_sweep(2)])


def test_a_report_ends_at_its_time_limit():
    test = (np.random.default_rng(1).random(MATRIX.shape) < 0.2) * (MATRIX == 0)
    report = feature_report(model(), MATRIX, test, item_features=np.eye(20), time_limit=1e-6)
    assert list(report.rows) == ["all"]
    assert report.missing == ("without item_features", "none")
    with pytest.raises(ValueError, match="time_limit"):
        feature_report(model(), MATRIX, test, item_features=np.eye(20), time_limit=-1)


@pytest.mark.parametrize("wide", [False, True])
def test_ctrl_c_in_the_ridge_search_keeps_the_best_candidate(monkeypatch, wide):
    X, Y = labelled(d=200 if wide else 10)  # with more features than rows the search has coordinates of its own
    scores, calls = ridge_search.Fold.scores, []

    def pressed(fold, choice):
        calls.append(choice)
        if len(calls) == 8:  # three folds, the third candidate
            ctrl_c()
        return scores(fold, choice)

    monkeypatch.setattr(ridge_search.Fold, "scores", pressed)
    with pytest.warns(InterruptedTraining, match="search of reg ended early") as said:
        fitted = MultiLabelMF(rank=4, random_state=0, n_threads=1).fit(X, Y)
    tried = {calls[0], calls[3]}
    units = {choice.ridge * mf.LabelProblem.of(X, *_labels(Y)).reg_unit(mf.get_loss("logistic")) for choice in tried}
    assert len(said) == 1
    assert fitted.status_ is Status.INTERRUPTED
    assert any(fitted.reg_ == pytest.approx(unit) for unit in units)
    assert fitted.n_iter_ == 1
    monkeypatch.undo()
    whole = MultiLabelMF(rank=4, random_state=0, n_threads=1).fit(X, Y)
    assert np.mean(fitted.predict(X) == Y) > np.mean(whole.predict(X) == Y) - 0.05  # one sweep from there is close


def _labels(Y):
    return mf.Labels.from_y(Y), None, None


def test_ctrl_c_before_the_first_candidate_raises(monkeypatch):
    monkeypatch.setattr(ridge_search.Fold, "scores", lambda *_: ctrl_c())
    with pytest.raises(KeyboardInterrupt):
        MultiLabelMF(rank=4, random_state=0).fit(*labelled())


def test_ctrl_c_in_the_fit_for_the_threshold_keeps_that(monkeypatch):
    X, Y = labelled()
    train, trained = learner.train, []

    def pressed(*arguments, callbacks=(), **options):
        trained.append(1)
        return train(*arguments, callbacks=(at_sweep(2),), **options)

    monkeypatch.setattr(learner, "train", pressed)
    with pytest.warns(InterruptedTraining, match="2 of 10 sweeps"):
        fitted = MultiLabelMF(rank=4, reg=1.0, tol=0.0, random_state=0, n_threads=1).fit(X, Y)
    assert (len(trained), fitted.n_iter_, fitted.status_) == (1, 2, Status.INTERRUPTED)
    assert np.mean(fitted.predict(X) == Y) > 0.8


def test_the_time_limit_of_multilabel_holds_for_the_search(monkeypatch):
    X, Y = labelled()
    scores, calls = ridge_search.Fold.scores, []

    def counted(fold, choice):
        calls.append(choice)
        return scores(fold, choice)

    monkeypatch.setattr(ridge_search.Fold, "scores", counted)
    fitted = MultiLabelMF(rank=4, random_state=0, time_limit=1e-6).fit(X, Y)
    assert (len(calls), fitted.n_iter_, fitted.status_) == (3, 1, Status.TIME_LIMIT)  # one candidate in three folds
    calls.clear()
    MultiLabelMF(rank=4, random_state=0, time_limit=600).fit(X, Y)
    assert len(set(calls)) >= 4
    assert MultiLabelMF(rank=4, reg=1.0, random_state=0, time_limit=1e-6).fit(X, Y).threshold_ == 0.0  # no time for it


def test_the_warning_names_the_first_frame_outside():
    with pytest.warns(InterruptedTraining) as said:
        warn_interrupted("this.")
    assert said[0].filename == __file__


LONG = """
import sys, warnings, numpy as np
from everypair import OneClassMF
matrix = (np.random.default_rng(0).random((400, 300)) < 0.2).astype(float)
def ready(sweep):
    if not {twice}:
        if sweep.iteration == 1: print("ready", flush=True)
        return
    import time
    try: print("ready", flush=True); time.sleep(60)
    finally: print("first", flush=True); time.sleep(60)
model = OneClassMF(rank=16, solver="sg-reform", max_iter=10**9).fit(matrix, callbacks=[ready])  # never converges
print(model.n_iter_ > 0, model.status_, flush=True)
"""


@pytest.mark.parametrize("twice", [False, True])
def test_a_process_that_is_interrupted(twice):
    command = [sys.executable, "-c", LONG.format(twice=twice)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            if twice:
                assert process.stdout.readline() == "first\n"
                process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    if twice:
        assert "KeyboardInterrupt" in errors
        assert process.returncode != 0
        return
    assert out == "True Interrupted; the model is what the completed sweeps have learnt.\n"
    assert "InterruptedTraining: Interrupted: the model is what" in errors
    assert process.returncode == 0
