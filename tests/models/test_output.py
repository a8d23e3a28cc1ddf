"""Answers as tables of pandas and polars: names stay, ids keep their kind, scorers go on working."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score

from everypair import ItemItem, MultiLabelMF
from everypair.metrics import multilabel_metrics
from everypair.models.completion.rivals import FPCA
from everypair.models.multilabel.rivals import BinaryRelevance

RANDOM = np.random.default_rng(0)
NAMES = [f"film {row}" for row in range(60)]
X = pd.DataFrame(RANDOM.normal(size=(60, 4)), columns=list("abcd"), index=NAMES)
Y = pd.DataFrame((X[["a", "b", "c"]].to_numpy() > 0).astype(int), columns=["war", "love", "crime"], index=NAMES)
STARS = pd.DataFrame(np.outer(np.arange(1.0, 6), np.arange(1.0, 4)), columns=list("xyz"), index=NAMES[:5])


@pytest.fixture(scope="module")
def labels():
    return MultiLabelMF(rank=3, loss="logistic", random_state=0, threshold=0.0).fit(X, Y)


def test_labels_keep_the_names_of_rows_and_labels(labels):
    table = labels.predict(X, output="pandas")
    assert (list(table.columns), list(table.index)) == (["war", "love", "crime"], NAMES)
    assert np.array_equal(table, labels.predict(X))
    assert table.dtypes.unique().tolist() == [np.dtype(int)]
    chances = labels.predict_proba(X[:3], output="pandas")
    assert list(chances.index) == NAMES[:3]
    assert np.array_equal(chances, labels.predict_proba(X[:3]))
    best = labels.predict_topk(X[2:4], k=1, output="pandas")
    assert best["row"].tolist() == NAMES[2:4]
    assert best["label"].tolist() == labels.predict_topk(X[2:4], k=1)[0].ravel().tolist()


def test_frames_without_an_index_have_the_names_of_rows_in_a_column(labels):
    table = labels.predict(X, output="polars")
    assert isinstance(table, pl.DataFrame)
    assert table.columns == ["row", "war", "love", "crime"]
    assert table["row"].to_list() == NAMES
    numbered = labels.predict(pl.from_pandas(X), output="polars")
    assert numbered.columns == ["war", "love", "crime"]
    assert numbered["war"].to_list() == table["war"].to_list()


def test_labels_of_a_sparse_matrix_are_numbered():
    model = BinaryRelevance().fit(X.to_numpy(), Y.to_numpy())
    table = model.predict(X.to_numpy(), output="pandas")
    assert (list(table.columns), list(table.index)) == (["0", "1", "2"], list(range(60)))


def test_metrics_and_searches_take_a_model_that_answers_in_tables(labels):
    plain = multilabel_metrics(labels.predict_scores(X), Y, ks=(1,), threshold=labels)
    tables = MultiLabelMF(rank=3, loss="logistic", random_state=0, threshold=0.0).fit(X, Y)
    tables.set_output(transform="pandas")
    assert multilabel_metrics(tables.predict_scores(X), Y, ks=(1,), threshold=tables) == plain
    assert tables.score(X, Y) == labels.score(X, Y) == accuracy_score(Y, tables.predict(X))
    for scoring in (None, "f1_micro", "roc_auc"):
        found = [cross_val_score(model, X, Y, cv=3, scoring=scoring) for model in (labels, tables)]
        assert np.array_equal(*found)


def test_a_completed_frame_has_the_names_of_the_frame():
    model = FPCA(nuclear_reg=0.01).fit(STARS.mask(STARS == 6.0))
    table = model.complete(output="pandas")
    assert (list(table.index), list(table.columns)) == (list(STARS.index), ["x", "y", "z"])
    assert np.array_equal(table, model.complete())
    assert model.complete(output="polars").columns == ["row", "x", "y", "z"]
    named = model.recommend(["film 1"], n=1, exclude_seen=False, output="pandas")
    assert named.drop(columns="score").values.tolist() == [["film 1", "z", 1]]
    assert model.recommend(n=1, output="pandas")["row"].tolist() == [NAMES[1], NAMES[2]]  # what was not seen
    unnamed = FPCA(nuclear_reg=0.01).fit(STARS.to_numpy()).complete(output="polars")
    assert unnamed.columns == ["0", "1", "2"]


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_ids_that_are_numbers_stay_numbers_among_reasons(form):
    events = {"user": [1, 1, 2, 2, 3], "item": [7, 8, 7, 9, 9]}
    model = ItemItem(reg=1.0).fit(events)
    why, table = model.explain(1, 9), model.explain(1, 9, output=form)
    assert list(table["because"]) == [*why.items.tolist(), None]
    assert list(table["user"]) == [1] * len(table)
    assert sum(table["contribution"]) == pytest.approx(why.score)
    plain = ItemItem(reg=1.0).fit(np.eye(3) + np.eye(3, k=1)).explain(0, 2, output=form)
    assert list(plain["because"])[-1] == -1
