"""The search by optuna: its file can be resumed, and one about something else is refused."""

import sys

import numpy as np
import pytest

from everypair import OneClassMF, tune

optuna = pytest.importorskip("optuna")
MATRIX = (np.random.default_rng(0).random((80, 60)) < np.kron(np.eye(2), np.ones((40, 30))) * 0.4 + 0.05).astype(float)
MODEL = OneClassMF(max_iter=8, random_state=0, n_threads=1, negative_weight=0.1)


def numbers(result):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in result.table]


def test_the_same_seed_gives_the_same_search():
    one, two = (tune(MODEL, MATRIX, trials=6, search="optuna") for _ in range(2))
    assert numbers(one) == numbers(two)
    assert np.array_equal(one.model.item_factors_, two.model.item_factors_)
    assert {type(row["rank"]) for row in one.table} == {int}
    assert all(row["weighting"] is None or row["weighting"][0] == "degree" for row in one.table)


def test_a_search_is_resumed_from_its_file(tmp_path):
    file = tmp_path / "search.db"
    first = tune(MODEL, MATRIX, trials=3, storage=file)
    assert file.stat().st_size > 0
    both = tune(MODEL, MATRIX, trials=7, storage=file)
    assert len(both.table) == 8
    assert numbers(both)[:4] == numbers(first)
    again = tune(MODEL, MATRIX, trials=7, storage=f"sqlite:///{file}")
    assert numbers(again) == numbers(both)
    assert (again.gain, again.parameters) == (both.gain, both.parameters)
    assert np.array_equal(again.model.item_factors_, both.model.item_factors_)
    study = optuna.load_study(study_name="everypair", storage=f"sqlite:///{file}")
    assert len(study.trials) == 7
    best = max((row for row in both.table[1:] if row["state"] == "complete"), key=lambda row: row["ndcg@10"])
    assert study.best_value == pytest.approx(best["ndcg@10"])


def test_a_file_about_something_else(tmp_path):
    file = tmp_path / "search.db"
    tune(MODEL, MATRIX, trials=1, storage=file)
    with pytest.raises(ValueError, match=r"tuning of something else, by metric 'ndcg@10' \(now 'recall@5'\)"):
        tune(MODEL, MATRIX, trials=1, storage=file, metric="recall@5")
    other = MATRIX.copy()
    other[0, 0] = 1 - other[0, 0]
    with pytest.raises(ValueError, match="tuning of something else, by entries"):
        tune(MODEL, other, trials=1, storage=file)


def test_failed_candidates_are_written_down(tmp_path):
    space = {"rank": [4, 10**6]}
    found = tune(MODEL, MATRIX, trials=6, space=space, storage=tmp_path / "search.db")
    states = [row["state"] for row in found.table if row["rank"] == 10**6]
    assert states
    assert set(states) == {"failed"}
    again = tune(MODEL, MATRIX, trials=6, space=space, storage=tmp_path / "search.db")
    assert [row["state"] for row in again.table] == [row["state"] for row in found.table]


def test_without_optuna(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r'pip install "everypair\[tune\]"'):
        tune(MODEL, MATRIX, trials=1, storage="x.db")
    assert len(tune(MODEL, MATRIX, trials=1).table) == 2
