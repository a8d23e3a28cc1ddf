"""Labels by name: frames and lists of strings, in any order of rows and columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from everypair import MultiLabelMF
from everypair.metrics import multilabel_metrics
from everypair.testing import labelled_rows

X, Y = labelled_rows()
NAMES = ["war", "love", "ärger", "sea", "old", "new"]
LABELS = pd.DataFrame(Y, columns=NAMES)


def model(**params):
    return MultiLabelMF(**{"rank": 3, "reg": 0.1, "max_iter": 5, "random_state": 0, **params})


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas])
def test_columns_of_a_frame_name_the_labels(convert):
    mine, plain = model().fit(X, convert(LABELS)), model().fit(X, Y)
    assert mine.classes_.tolist() == NAMES
    assert mine.n_labels_ == 6
    assert np.array_equal(mine.predict_scores(X), plain.predict_scores(X))
    found, _ = mine.predict_topk(X[[0, 59]], k=2)
    assert [set(row) for row in found.tolist()] == [{"war", "sea"}, {"ärger", "new"}]
    assert isinstance(mine.predict(X), np.ndarray)
    swapped = LABELS[NAMES[::-1]]
    assert mine.score(X, convert(swapped)) == plain.score(X, Y)
    mask = pd.DataFrame(np.random.default_rng(0).random(Y.shape) < 0.7, columns=NAMES)
    missing = [
        model(unlabeled="missing").fit(X, convert(LABELS), mask=one)
        for one in (mask.to_numpy(), convert(mask[NAMES[::-1]]))
    ]
    assert np.array_equal(*(one.predict_scores(X) for one in missing))


def test_validation_is_matched_by_name():
    histories = [
        model(patience=3).fit(X, LABELS, validation=(X[:20], other)).history_
        for other in (Y[:20], LABELS[NAMES[::-1]][:20], [[NAMES[j] for j in row.nonzero()[0]] for row in Y[:20]])
    ]
    assert [[sweep["ndcg@5"] for sweep in history] for history in histories[1:]] == [
        [sweep["ndcg@5"] for sweep in histories[0]]
    ] * 2


def test_what_does_not_match_is_refused():
    mine = model().fit(X, LABELS)
    with pytest.raises(ValueError, match=r"labels of training as its columns: 'new' is missing and 'neu' is new"):
        mine.score(X, LABELS.rename(columns={"new": "neu"}))
    with pytest.raises(ValueError, match="Y is a frame with columns of the same name"):
        model().fit(X, LABELS.set_axis(list("aabcde"), axis=1))
    with pytest.raises(ValueError, match="X is a frame with columns of the same name"):
        model().fit(pd.DataFrame(X, columns=list("aabcde")), Y)
    frame = pd.DataFrame(X, index=np.arange(60) + 5)
    with pytest.raises(ValueError, match=r"same index in another order: use Y\.loc\[X\.index\]"):
        model().fit(frame, LABELS.set_index(frame.index)[::-1])
    model().fit(frame, LABELS)  # other labels of rows: they belong together by position
    with pytest.raises(ValueError, match=r"Y\[1\] has 1 among its labels, which are names: .* make it text"):
        model().fit(X, [["a"], [1]] * 30)
    with pytest.raises(ValueError, match="2-D indicator matrix"):
        model().fit(X, ["a", "b"] * 30)


@pytest.mark.parametrize(
    "text", [["some words"] * 60, [["a", "b"]] * 60, pd.DataFrame({"w": ["a"] * 60}), np.array([["a", "b"]] * 60)]
)
def test_text_is_no_feature(text):
    with pytest.raises(ValueError, match=r"X must hold numbers, but has text .*TfidfVectorizer"):
        model().fit(text, Y)
    with pytest.raises(ValueError, match="Complex data not supported: X must hold real numbers"):
        model().fit(X * 1j, Y)


def as_lists(rows):
    return [[NAMES[j] for j in row.nonzero()[0]] for row in rows]


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_a_series_of_lists_names_labels(series):
    mine, listed = model().fit(X, series(as_lists(Y))), model().fit(X, as_lists(Y))
    assert mine.classes_.tolist() == listed.classes_.tolist() == sorted(NAMES)
    assert np.array_equal(mine.predict_scores(X), listed.predict_scores(X))


def test_what_is_no_name_among_labels_is_named_with_its_row():
    labels = as_lists(Y)
    labels[7] = ["war", None]
    with pytest.raises(ValueError, match=r"Y\[7\] has None among its labels, which are names: leave it out"):
        model().fit(X, labels)
    labels[0], labels[7] = [None], ["war"]
    with pytest.raises(ValueError, match=r"Y\[0\] has None"):
        model().fit(X, labels)


def test_metrics_take_labels_by_name():
    mine = model().fit(X, LABELS)
    scores, some = mine.predict_scores(X), as_lists(Y[:30])
    expected = multilabel_metrics(scores, Y, threshold=mine)
    for truth in (as_lists(Y), LABELS[NAMES[::-1]], pd.Series(as_lists(Y))):
        assert multilabel_metrics(scores, truth, threshold=mine) == expected
        assert multilabel_metrics(scores, truth, labels=mine.classes_, threshold=mine.threshold_) == expected
    ascending = model().fit(X, as_lists(Y)).predict_scores(X)
    order = np.argsort(NAMES)
    assert multilabel_metrics(ascending, as_lists(Y)) == multilabel_metrics(ascending, Y[:, order])
    some[:] = [row if "war" in row else [] for row in some]
    with pytest.raises(ValueError, match=r"scores have 6 columns: say what these are called by labels=model.classes_"):
        multilabel_metrics(scores[:30], some)
    with pytest.raises(ValueError, match="unknown label: 'peace'"):
        multilabel_metrics(scores[:1], [["peace"]], labels=mine.classes_)
