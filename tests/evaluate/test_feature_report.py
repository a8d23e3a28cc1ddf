"""feature_report: what each part of the side information adds, on data where the answer is known."""

import numpy as np
import pytest

from everypair import OneClassMF, Side
from everypair.evaluate import FeatureReport, feature_report, ranking_metrics
from everypair.features import knn_graph


def toy():
    """Three groups of 14 users and 8 items; few events are known, and what group an item belongs to."""
    groups = np.kron(np.eye(3), np.ones((14, 8)))
    random = np.random.default_rng(0)
    known = groups * (random.random(groups.shape) < 0.12)
    answer, noise = np.repeat(np.eye(3), 8, axis=0), random.standard_normal((24, 6))
    return known, groups - known, answer, noise


TRAIN, TEST, ANSWER, NOISE = toy()
MODEL = OneClassMF(rank=3, random_state=0, max_iter=10, n_threads=1)


def test_the_answer_adds_and_noise_does_not():
    report = feature_report(
        MODEL.set_params(items=Side(feature_reg=0.1)), TRAIN, TEST, item_features={"group": ANSWER, "noise": NOISE}
    )
    assert list(report.rows) == ["all", "without item_features[group]", "without item_features[noise]", "none"]
    assert report.gain("item_features[group]") > 0.1
    assert report.gain("item_features[noise]") < 0
    assert report.rows["all"]["ndcg@10"] > report.rows["none"]["ndcg@10"] + 0.05
    lines = str(report).splitlines()
    assert lines[5] == ""  # what follows is by events of the item
    assert lines[0].split() == ["ndcg@10", "±", "adds", "±"]
    adds = [line.split()[-2] for line in lines[2:4]]
    assert [text[0] for text in adds] == ["+", "-"]
    assert float(adds[0]) == pytest.approx(report.gain("item_features[group]"), abs=1e-4)
    none = report.rows["none"]
    assert lines[4].split() == ["none", f"{none['ndcg@10']:.4f}", f"{none.standard_errors['ndcg@10']:.4f}"]


def test_each_row_is_a_fit_of_its_own():
    model = OneClassMF(rank=3, random_state=0, max_iter=10, items=Side(own_vectors=False), n_threads=1)
    of_users = np.repeat(np.eye(3), 14, axis=0)
    graph = knn_graph(of_users, k=3)
    report = feature_report(
        model, TRAIN, TEST, item_features=ANSWER, user_graph=graph, metric="recall@5", callbacks=[lambda sweep: None]
    )
    assert list(report.rows) == ["all", "without item_features", "without user_graph", "none"]
    model.fit(TRAIN, item_features=ANSWER, user_graph=graph)
    assert report.rows["all"] == pytest.approx(ranking_metrics(model, TRAIN, TEST))
    alone = OneClassMF(rank=3, random_state=0, max_iter=10, n_threads=1).fit(TRAIN)
    assert report.rows["none"] == pytest.approx(ranking_metrics(alone, TRAIN, TEST))
    by_hand = report.rows["all"]["recall@5"] - report.rows["without user_graph"]["recall@5"]
    assert report.gain("user_graph") == pytest.approx(by_hand)
    assert model.items == Side(own_vectors=False)  # the caller's model is not touched


def test_the_error_of_a_gain_is_paired():
    report = feature_report(MODEL, TRAIN, TEST, item_features=ANSWER, metric="recall@3")
    fitted, plain = OneClassMF(**MODEL.get_params()).fit(TRAIN, item_features=ANSWER), OneClassMF(**MODEL.get_params())
    gains = []
    plain.fit(TRAIN)
    for user in np.flatnonzero(TEST.sum(axis=1)):
        one, other = (
            ranking_metrics(
                type("One", (), {"score_users": lambda self, users: model.score_users([user])})(),  # noqa: B023
                TRAIN[[user]], TEST[[user]], [3],
            )["recall@3"]
            for model in (fitted, plain)
        )  # fmt: skip
        gains.append(one - other)
    assert report.gain("item_features") == pytest.approx(np.mean(gains))
    assert report.gain_error("item_features") == pytest.approx(np.std(gains, ddof=1) / np.sqrt(len(gains)))
    assert np.isnan(
        feature_report(MODEL, TRAIN, TEST, item_features=ANSWER, metric="coverage@3").gain_error("item_features")
    )


def test_any_length_of_the_list():
    report = feature_report(MODEL, TRAIN, TEST, item_features=ANSWER, metric="recall@3")
    assert set(report.rows["all"]) >= {"recall@3", "ndcg@10", "auc"}
    assert report.gain("item_features") > 0


def test_what_is_refused(monkeypatch):
    def work(*arguments, **options):
        raise AssertionError("work has begun before the input was refused")

    monkeypatch.setattr(OneClassMF, "fit", work)
    with pytest.raises(ValueError, match="no side information to report on: give features or a graph"):
        feature_report(MODEL, TRAIN, TEST)
    for metric in ("accuracy", "ndcg", "auc@10", "ndcg@0", "ndcg@ten"):
        with pytest.raises(ValueError, match=f"metric must be one of precision@k, .* auc, .*got '{metric}'"):
            feature_report(MODEL, TRAIN, TEST, item_features=ANSWER, metric=metric)
    report = FeatureReport("auc", {"all": {"auc": 0.9}, "without user_graph": {"auc": 0.8}, "none": {"auc": 0.8}})
    assert report.gain("user_graph") == pytest.approx(0.1)
    with pytest.raises(ValueError, match="part must be one of user_graph, got 'item_graph'"):
        report.gain("item_graph")
