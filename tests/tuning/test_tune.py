"""tune: held-out entries, honest gains, the same search for the same seed, budgets, Ctrl-C."""

import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from everypair import (
    BPR,
    Blend,
    EnsembleMF,
    InterruptedTraining,
    ItemItem,
    MultiLabelMF,
    OneClassMF,
    Popularity,
    SubsampledMF,
    tune,
)
from everypair.data import read_events
from everypair.data.splits import hold_out
from everypair.evaluate import ranking_metrics
from everypair.metrics.per_row import average_rows, rows_error
from everypair.tuning import search, trial
from everypair.tuning.search import crossed_gains
from everypair.tuning.trial import Trial
from everypair.tuning.users import HalvedUsers, Means


def groups(users=120, items=60, seed=0):
    """Four groups that each like a quarter of the items, and noise."""
    random = np.random.default_rng(seed)
    likes = np.kron(np.eye(4), np.ones((users // 4, items // 4))) * 0.45 + 0.05
    return sp.csr_array((random.random(likes.shape) < likes).astype(np.float32))


MATRIX = groups()


def model(**changed):
    return OneClassMF(**{"rank": 8, "random_state": 0, "n_threads": 1, "max_iter": 12} | changed)


@pytest.fixture(scope="module")
def result():
    return tune(model(), MATRIX, trials=12)


def test_the_table_and_what_was_searched(result):
    assert [row["trial"] for row in result.table] == list(range(13))
    assert set(result.space) == {"negative_weight", "reg", "weighting"}  # the rank was given
    usual, fitted = result.table[0], model().fit(hold_out(MATRIX, "random", None, 0)[0])
    assert (usual["reg"], usual["negative_weight"]) == (fitted.reg_[0], fitted.negative_weight_)
    assert usual["gain"] == usual["gain_standard_error"] == 0 or usual["best_sweep"] < usual["sweeps"]
    done = [row for row in result.table if row["state"] == "complete"]
    assert all(0 < row["ndcg@10"] < 1 and 0 < row["standard_error"] < 0.1 for row in done)
    assert len({str({name: row[name] for name in result.space}) for row in result.table}) == 13
    shown = str(result).splitlines()
    assert shown[0].split()[:4] == ["trial", "negative_weight", "reg", "weighting"]
    assert shown[-1] == result.verdict


def test_a_long_table_is_printed_in_part(result, monkeypatch):
    monkeypatch.setattr("everypair.tuning.result.SHOWN_TRIALS", 2)
    shown = str(result).splitlines()
    numbers = [int(line.split()[0]) for line in shown[1:-2]]
    assert 2 <= len(numbers) <= 3
    assert 0 in numbers  # the defaults, wherever they stand
    assert shown[-2] == f"… {13 - len(numbers)} more in the table."


def test_what_the_rest_of_the_budget_is_kept_for():
    """The finalists of the table as it stands, each from a cold start, and the leader's last fit: nothing else."""
    tuner = search.Tuner(model(), None, None, None, {})
    tuner.reference = Trial(0, {}, "complete", Means(0.1, 0.1, 0.1), 0.0, seconds=1.0)
    tuner.trials, tuner.leader = [tuner.reference], tuner.reference
    assert tuner._reserve() == 1.0
    one = Trial(1, {}, "complete", Means(0.5, 0.5, 0.5), 0.0, seconds=3.0)
    behind = Trial(2, {}, "pruned", Means(0.4, 0.4, 0.4), 0.0, seconds=50.0)
    tuner.trials, tuner.leader = [tuner.reference, one, behind], one
    assert tuner._reserve() == 2 * 3.0 + 2 * 3.0


def test_the_reference_is_the_model_as_given_on_the_training_part(result):
    train, test = hold_out(MATRIX, "random", None, 0)
    fitted = model().fit(train)
    assert result.default == pytest.approx(ranking_metrics(fitted, train, test)["ndcg@10"])
    assert result.history["defaults"][-1] == pytest.approx(result.default)


def test_the_same_seed_gives_the_same_search(result):
    again = tune(model(n_threads=2), MATRIX, trials=12)
    for row in result.table + again.table:
        row["seconds"] = 0.0
    assert again.table == result.table
    assert (again.gain, again.standard_error, again.parameters) == (
        result.gain,
        result.standard_error,
        result.parameters,
    )
    assert np.array_equal(again.model.item_factors_, result.model.item_factors_)
    other = tune(model(), MATRIX, trials=12, random_state=1)
    assert other.default != result.default


def test_the_model_is_fitted_on_everything_as_one_would_by_hand():
    bad = model(reg=100.0)
    found = tune(bad, MATRIX, trials=10, space={"reg": (0.001, 1000.0)})
    assert found.beats_default
    assert found.gain > 0.2
    assert found.parameters["reg"] < 20
    assert "beats the defaults" in found.verdict
    by_hand = model(**found.parameters).fit(MATRIX)
    assert np.array_equal(found.model.item_factors_, by_hand.item_factors_)
    assert found.model.interactions_.nnz == MATRIX.nnz
    assert bad.reg == 100.0
    assert not hasattr(bad, "state_")


def test_defaults_that_are_not_beaten_stay():
    pointless = tune(model(), MATRIX, trials=4, space={"reg": (20.0, 60.0)})
    assert not pointless.beats_default
    assert pointless.parameters == {}
    assert "Nothing beats the defaults" in pointless.verdict
    assert np.array_equal(pointless.model.item_factors_, model().fit(MATRIX).item_factors_)
    assert any(row["state"] == "pruned" and row["sweeps"] == trial.FIRST_PRUNED for row in pointless.table)


def candidates(random, count, users, in_first):
    for number in range(count):
        values = random.random(users)
        means = Means(values.mean(), values[in_first].mean(), values[~in_first].mean())
        yield Trial(number, {}, "complete", means, 0.0, bests=dict.fromkeys(Means._fields, values), final=values)


def test_choosing_among_equals_gains_nothing():
    """Twenty candidates of pure noise: the best looks good, judged on the other half of the users it is not."""
    random, naive, honest = np.random.default_rng(0), [], []
    for _ in range(300):
        in_first = random.permutation(100) < 50
        tried = list(candidates(random, 20, 100, in_first))
        gains = crossed_gains(tried, tried[0].final, in_first)
        naive.append(max(one.means.all for one in tried) - tried[0].means.all)
        if gains.any():
            honest.append(gains.mean() / rows_error(gains))
    assert np.mean(naive) > 0.04
    assert abs(np.mean(honest)) < 3 / np.sqrt(300)
    assert 0.8 < np.std(honest) < 1.2  # and the standard error is one


def test_a_gain_is_judged_on_the_other_half_by_hand():
    in_first = np.array([True, True, False, False])
    usual = Trial(0, {}, "complete", Means(0.5, 0.5, 0.5), 0.0, bests=dict.fromkeys(Means._fields, np.full(4, 0.5)))
    one = Trial(1, {}, "complete", Means(0.6, 0.9, 0.3), 0.0, bests={"first": np.array([0.9, 0.9, 0.2, 0.4])})
    two = Trial(2, {}, "complete", Means(0.6, 0.4, 0.8), 0.0, bests={"second": np.array([0.3, 0.5, 0.8, 0.8])})
    gains = crossed_gains([usual, one, two], np.full(4, 0.5), in_first)
    assert gains == pytest.approx([-0.2, 0.0, -0.3, -0.1])


def test_users_are_measured_as_everywhere():
    train, test = hold_out(MATRIX, "random", None, 3)
    fitted = model().fit(train)
    for metric in ("ndcg@10", "recall@5", "auc", "map"):
        held_out = HalvedUsers(train, test, metric, 0, 1)
        values = held_out.values(lambda users: fitted.score_users(users))
        assert average_rows(values) == pytest.approx(ranking_metrics(fitted, train, test)[metric])
        halves = held_out.means(values)
        first = np.count_nonzero(held_out.in_first)
        assert abs(2 * first - len(values)) <= 1
        assert halves.all == pytest.approx((first * halves.first + (len(values) - first) * halves.second) / len(values))


def test_at_most_so_many_users(monkeypatch):
    monkeypatch.setattr("everypair.tuning.users.MOST_USERS", 30)
    train, test = hold_out(MATRIX, "random", None, 3)
    held_out = HalvedUsers(train, test, "ndcg@10", 0, 1)
    users = held_out.held_out.users
    assert len(users) == 30
    assert np.array_equal(held_out.held_out.positives.toarray(), (test[users].toarray() > 0))


@pytest.mark.parametrize(
    ("estimator", "searched"),
    [
        (SubsampledMF(max_iter=6, rank=8), {"ratio", "reg"}),
        (EnsembleMF(n_models=2, max_iter=4, rank=8), {"ratio", "reg"}),
        (BPR(max_iter=5, rank=8), {"learning_rate", "reg"}),
        (ItemItem(), {"reg", "reg_scale", "negative_weight", "user_exponent"}),
        (OneClassMF(max_iter=5, biases=True), {"rank", "reg", "negative_weight", "weighting"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_recommender_can_be_tuned(estimator, searched):
    found = tune(estimator, MATRIX, trials=3)
    assert set(found.space) == searched
    assert len(found.table) == 4
    assert found.model.recommend([0], n=2)[0].shape == (1, 2)
    swept = [row["best_sweep"] is not None for row in found.table]
    assert (
        all(swept)
        if isinstance(estimator, SubsampledMF | BPR | OneClassMF) and not isinstance(estimator, EnsembleMF)
        else not any(swept)
    )


def test_a_blend_has_what_one_names():
    found = tune(
        Blend(models=[model(), ItemItem()]), MATRIX, trials=3, space={"weights": [(1.0, 0.0), (1.0, 0.3), (0.0, 1.0)]}
    )
    assert {row["weights"] for row in found.table} == {(1.0, 0.0), (1.0, 0.3), (0.0, 1.0)}


def test_the_default_blend_is_searched_by_rank_and_weights():
    found = tune(Blend(), MATRIX, trials=2)
    assert list(found.space) == ["rank", "weights"]
    assert found.table[0]["weights"] == (1.0, 0.3) or found.table[-1]["weights"] == (1.0, 0.3)


def test_features_are_passed_on():
    features = np.repeat(np.eye(4), 15, axis=0)
    found = tune(model(), MATRIX, trials=2, item_features=features)
    assert "feature_reg" in found.space
    assert found.model.item_feature_weights_ is not None


def test_events_bring_their_times():
    rows, columns = MATRIX.nonzero()
    when = np.random.default_rng(5).integers(10**6, size=len(rows))
    events = read_events({"user": rows, "item": columns, "time": when}, verbose=False)
    for held_out in ("last", "time"):
        found = tune(model(), events, trials=2, held_out=held_out)
        train, test = hold_out(events.matrix, held_out, events.times, 0)
        assert found.default == pytest.approx(ranking_metrics(model().fit(train), train, test)["ndcg@10"])
    with pytest.raises(ValueError, match="needs the times"):
        tune(model(), MATRIX, trials=2, held_out="last")


def test_a_budget_of_seconds():
    begin = time.perf_counter()
    found = tune(model(), MATRIX, budget=2.0)
    assert time.perf_counter() - begin < 10.0
    assert len(found.table) > 3
    hurried = tune(model(), MATRIX, budget=1e-6)
    assert len(hurried.table) == 1
    assert "Nothing was tried but the defaults" in hurried.verdict
    assert hurried.model.interactions_.nnz == MATRIX.nnz


def test_without_a_budget_there_are_25_trials(monkeypatch):
    monkeypatch.setattr(search, "TRIALS", 2)
    assert len(tune(model(), MATRIX).table) == 3


def test_a_candidate_that_cannot_be_fitted():
    found = tune(model(), MATRIX, trials=3, space={"rank": [8, 4, 10**6], "reg": [0.1]})
    failed = [row for row in found.table if row["state"] == "failed"]
    assert [row["rank"] for row in failed] == [10**6]
    assert np.isnan(failed[0]["ndcg@10"])
    assert "failed" in str(found)
    with pytest.raises(ValueError, match="larger than both sides"):
        tune(model(rank=500), MATRIX, trials=2)


def press_in_trial(monkeypatch, number, times=1):
    run, calls = search.run_trial, []

    def pressed(*arguments, **options):
        calls.append(1)
        if len(calls) == number:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)
        return run(*arguments, **options)

    monkeypatch.setattr(search, "run_trial", pressed)


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    press_in_trial(monkeypatch, 6)
    with pytest.warns(InterruptedTraining, match="best so far"):
        found = tune(model(), MATRIX, trials=30)
    assert len(found.table) == 5
    assert found.interrupted
    assert not found.beats_default
    assert "not checked on other users" in found.verdict
    best = max(found.table, key=lambda row: row["ndcg@10"])
    assert found.best == {name: best[name] for name in found.space}
    assert {name: found.model.get_params()[name] for name in found.best} in (
        found.best, {"negative_weight": "auto", "reg": "auto", "weighting": None}
    )  # fmt: skip
    assert found.model.recommend([0], n=2)[0].shape == (1, 2)


def test_ctrl_c_inside_a_sweep_of_a_trial(monkeypatch):
    watch, calls = trial.SweepWatch.__call__, []

    def pressed(self, sweep):
        calls.append(1)
        if len(calls) == 25:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        return watch(self, sweep)

    monkeypatch.setattr(trial.SweepWatch, "__call__", pressed)
    with pytest.warns(InterruptedTraining, match="best so far") as said:
        found = tune(model(), MATRIX, trials=30)
    assert (len(said), found.interrupted) == (1, True)


def test_ctrl_c_before_the_defaults_are_fitted_raises(monkeypatch):
    press_in_trial(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        tune(model(), MATRIX, trials=3)


def test_ctrl_c_in_the_last_fit_keeps_its_sweeps(monkeypatch):
    fit = OneClassMF.fit

    def pressed(self, interactions, **options):
        if interactions.nnz == MATRIX.nnz:

            def press(sweep):
                if sweep.iteration == 2:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(1)

            options["callbacks"] = [press]
        return fit(self, interactions, **options)

    monkeypatch.setattr(OneClassMF, "fit", pressed)
    with pytest.warns(InterruptedTraining):
        found = tune(model(), MATRIX, trials=2)
    assert found.model.n_iter_ == 2
    assert not np.isnan(found.gain)


def test_progress_is_shown(capsys):
    tune(model(), MATRIX, trials=2, verbose=True)
    shown = capsys.readouterr().err
    assert "trials" in shown
    assert "best ndcg@10" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"budget": -1}, "budget must be a positive number of seconds"),
        ({"trials": 0}, "trials must be"),
        ({"metric": "coverage@10"}, "a metric of all users together"),
        ({"metric": "ndcg"}, "metric must be one of precision@k"),
        ({"held_out": "first"}, "held_out must be one of"),
        ({"search": "grid"}, 'search must be "plain" or "optuna"'),
        ({"search": "plain", "storage": "x.db"}, "leave out search"),
        ({"space": {}}, "space is empty"),
        ({"space": {"depth": [1]}}, "has no parameter 'depth'"),
        ({"space": {"reg": (1, 0.1)}}, "low < high"),
        ({"space": {"reg": 3}}, "must be a tuple"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_arguments(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        tune(model(), MATRIX, **arguments)


def test_what_cannot_be_tuned():
    with pytest.raises(ValueError, match="Popularity has no parameter"):
        tune(Popularity(), MATRIX)
    for wrong in (MultiLabelMF(), OneClassMF, "OneClassMF"):
        with pytest.raises(TypeError, match="unfitted recommender"):
            tune(wrong, MATRIX)
    with pytest.raises(TypeError, match="cannot pass validation"):
        tune(model(), MATRIX, validation=MATRIX)


def test_events_give_a_model_that_speaks_ids_and_features_in_any_order():
    random = np.random.default_rng(0)
    matrix = np.kron(np.eye(3), np.ones((15, 8))) * (random.random((45, 24)) < 0.5)
    rows, columns = np.nonzero(matrix)
    events = pd.DataFrame({"user": [f"u{i}" for i in rows], "item": [f"i{j}" for j in columns]})
    kinds = pd.DataFrame({f"kind {k}": np.arange(24) // 8 == k for k in range(3)}, dtype=float)
    kinds.index = [f"i{j}" for j in range(24)]
    model = OneClassMF(rank=3, random_state=0)
    result = tune(model, events, trials=2, item_features=kinds)
    shuffled = tune(model, events, trials=2, item_features=kinds.sample(frac=1, random_state=0, axis=0))
    assert result.model.recommend(["u0"], n=2)[0][0, 0].startswith("i")
    assert result.table[1]["ndcg@10"] == shuffled.table[1]["ndcg@10"]
    np.testing.assert_array_equal(result.model.item_factors_, shuffled.model.item_factors_)
