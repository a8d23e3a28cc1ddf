"""Lists of another system: their metrics, beside those of the model that made them; two systems compared."""

import numpy as np
import pandas as pd
import pytest

from everypair import ItemItem, OneClassMF, Popularity, ranking_metrics, read_events, split_entries
from everypair.evaluate import compare
from everypair.testing import block_matrix

EVENTS = [(f"u{i}", f"i{j:02}") for i, j in np.argwhere(block_matrix()[0]).tolist()]
TRAIN, TEST = split_entries(read_events(EVENTS), 0.3)
MODEL = OneClassMF(rank=3, random_state=0).fit(TRAIN)
FRAME = MODEL.recommend(n=8, output="pandas")


def test_lists_have_the_metrics_of_the_model_that_made_them():
    by_model = ranking_metrics(MODEL, TRAIN, TEST, ks=(1, 5, 8))
    shuffled = FRAME.sample(frac=1, random_state=0)
    forms = (FRAME, shuffled, shuffled.drop(columns="rank"), FRAME.drop(columns=["rank", "score"]), dict(FRAME))
    for lists in forms:
        found = ranking_metrics(lists, TRAIN, TEST, ks=(1, 5, 8))
        assert set(found) == {name for name in by_model if "@" in name}
        for name, value in found.items():
            assert value == pytest.approx(by_model[name], abs=1e-12), name
            assert found.standard_errors.get(name) == pytest.approx(by_model.standard_errors.get(name), nan_ok=True)


def test_lists_by_position_and_by_unknown_ids():
    train, test = TRAIN.matrix, TEST.matrix
    model = OneClassMF(rank=3, random_state=0).fit(train)
    by_model, found = (
        ranking_metrics(one, train, test, ks=(5,)) for one in (model, model.recommend(n=5, output="pandas"))
    )
    assert found["ndcg@5"] == pytest.approx(by_model["ndcg@5"], abs=1e-12)
    later = FRAME.assign(rank=FRAME["rank"] + 1)
    strangers = pd.DataFrame({"user": FRAME.user.unique(), "item": "new", "score": 1.0, "rank": 1})
    both = pd.concat([later, strangers])  # an item that nobody knows has the first place
    moved = ranking_metrics(both, TRAIN, TEST, ks=(1, 6))
    assert moved["hit_rate@1"] == 0
    assert moved["recall@6"] == pytest.approx(ranking_metrics(FRAME, TRAIN, TEST, ks=(5,))["recall@5"])
    fewer = FRAME[FRAME.user != FRAME.user.iloc[0]]
    assert ranking_metrics(fewer, TRAIN, TEST)["recall@5"] <= ranking_metrics(FRAME, TRAIN, TEST)["recall@5"]


def test_a_comparison_is_paired():
    floor = Popularity().fit(TRAIN)
    found = compare(floor, MODEL, TRAIN, TEST, "ndcg@5", random_state=1)
    assert found.difference == pytest.approx(found.second - found.first)
    assert found.second == pytest.approx(ranking_metrics(MODEL, TRAIN, TEST, ks=(5,))["ndcg@5"])
    assert found.interval[0] < found.difference < found.interval[1]
    assert found.p_value < 0.05
    assert found == compare(floor, FRAME, TRAIN, TEST, "ndcg@5", random_state=1)
    assert "difference +" in str(found)
    same = compare(MODEL, MODEL, TRAIN, TEST, "ndcg@5")
    assert (same.difference, same.p_value) == (0, 1)
    other = compare(MODEL, floor, TRAIN, TEST, "ndcg@5", random_state=1)
    assert other.interval == pytest.approx((-found.interval[1], -found.interval[0]))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: ranking_metrics(FRAME.rename(columns={"item": "thing"}), TRAIN, TEST), "lists need a column of items"),
        (lambda: compare(FRAME, MODEL, TRAIN, TEST, "auc"), "metrics of their first places alone"),
        (lambda: compare(MODEL, MODEL, TRAIN, TEST, samples=3), "samples must be an integer ≥ 100"),
        (lambda: ranking_metrics(FRAME, TRAIN.matrix, TEST.matrix), "must be positions where train is a matrix"),
    ],
)
def test_mistakes(wrong, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        wrong()


def test_last_nights_model_is_where_tonight_begins():
    """Items are matched by id; new ones begin at random; fewer sweeps to the same objective."""
    day = [*EVENTS, *[(f"u{i}", "new") for i in range(9)], *[("neu", item) for item in ("i01", "i02", "i03")]]
    options = {"rank": 3, "random_state": 0, "tol": 1e-4, "max_iter": 100}
    last = OneClassMF(**options).fit(EVENTS[3:])
    cold, warm = OneClassMF(**options).fit(day), OneClassMF(**options).fit(day, start=last)
    assert warm.history_[0]["objective"] < cold.history_[0]["objective"]
    assert warm.objective_ == pytest.approx(cold.objective_, rel=3e-2)
    with pytest.raises(ValueError, match="start knows none of the 22 items"):
        OneClassMF(rank=3).fit(day, start=OneClassMF(rank=3).fit([("a", "b"), ("b", "c"), ("d", "e"), ("e", "f")]))
    with pytest.raises(ValueError, match="without ids a start needs the same users and items"):
        OneClassMF(rank=3).fit(np.eye(5), start=OneClassMF(rank=3).fit(np.eye(6)))
    assert ItemItem().fit(day).user_ids_ == warm.user_ids_
