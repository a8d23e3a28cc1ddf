"""Mistakes in Python: each is a ValueError or a TypeError with one sentence that says what to do; nothing changes."""

import io
import os

import numpy as np
import pandas as pd
import pytest

import everypair
from everypair import Blend, ItemItem, MultiLabelMF, OneClassMF, load, tune
from everypair.data import read_events, split_entries, split_time
from everypair.evaluate import feature_report, ranking_metrics
from everypair.features import edge_graph, table_features
from everypair.plots import report
from everypair.testing.blocks import block_matrix

USERS = [f"ann {i}" for i in range(44)]
ROWS, COLUMNS = block_matrix()[0].nonzero()
ITEMS = [f"film {j}" for j in range(max(COLUMNS) + 1)]
EVENTS = read_events([(USERS[i], ITEMS[j]) for i, j in zip(ROWS, COLUMNS)])
TRAIN, TEST = split_entries(EVENTS, 0.1, random_state=0)
ABOUT = pd.DataFrame({"year": np.arange(len(ITEMS)) / 10, "long": 1.0}, index=ITEMS)
NEW = pd.DataFrame({"year": [0.3], "long": [1.0]}, index=["film x"])


def model(**given):
    return OneClassMF(rank=3, max_iter=3, random_state=0, n_threads=1, **given)


FITTED = model().fit(TRAIN)
DESCRIBED = model().fit(EVENTS, item_features=ABOUT)
BY_POSITION = model().fit(TRAIN.matrix)

MISTAKES = {
    # asking
    "items for users": (lambda: FITTED.recommend(ITEMS[:2]), "'film 0' is one of the items, not of the users"),
    "users for items": (lambda: FITTED.similar_items(USERS[:2]), "'ann 0' is one of the users, not of the items"),
    "swapped pairs": (lambda: FITTED.score_pairs(ITEMS[:2], USERS[:2]), "are the arguments swapped"),
    "swapped explanation": (lambda: FITTED.explain(ITEMS[0], USERS[0]), "are the arguments swapped"),
    "pairs of two lengths": (lambda: FITTED.score_pairs(USERS[:2], ITEMS[:3]), "one length, got 2 and 3"),
    "near miss": (lambda: FITTED.recommend(["ann1"]), "Did you mean 'ann 1'"),
    "list in a list": (lambda: FITTED.recommend([USERS]), "users must be a list or 1-D array of ids"),
    "positions for ids": (lambda: FITTED.recommend([0]), "These users are integers"),
    "ids for positions": (lambda: BY_POSITION.recommend(["ann 0"]), "fitted on a matrix"),
    "a position too far": (lambda: BY_POSITION.recommend([44]), "user 44 is unknown"),
    "n of 0": (lambda: FITTED.recommend(n=0), "n must be at least 1"),
    "n below 0": (lambda: FITTED.recommend(n=-2), "n must be at least 1"),
    "half an item": (lambda: FITTED.recommend(n=2.5), "n must be an integer"),
    "unknown items allowed": (lambda: FITTED.recommend(allow=["film 98", "film 99"]), "unknown items: 'film 98'"),
    "a dict of items for nobody": (
        lambda: FITTED.recommend(["ann 0"], allow={"ann 1": ["film 1"]}),
        "'ann 0' has none",
    ),
    "lists for others": (lambda: FITTED.recommend(["ann 0"], block=[["film 1"], []]), "each of the 1 users, got 2"),
    "a condition without a table": (lambda: FITTED.recommend(where={"kind": "a"}), "needs a table of items"),
    "a limit without a table": (lambda: FITTED.recommend(at_most={"kind": 1}), "needs a table of items"),
    "no diversity of this size": (lambda: FITTED.recommend(diversity=-1), "diversity must be a number from 0"),
    "more of nobody": (lambda: FITTED.recommend(more=[["film 1"]]), "say of which users"),
    "unknown ids skipped": (lambda: FITTED.recommend(unknown="skip"), "one of 'error', 'ignore'"),
    "another form of one answer": (lambda: FITTED.recommend(output="excel"), "one of 'default', 'pandas'"),
    "repeats of another kind": (
        lambda: ranking_metrics(FITTED, EVENTS, EVENTS, repeats=True),
        "repeats must be one of",
    ),
    "the training data as a test": (lambda: ranking_metrics(FITTED, EVENTS, EVENTS), "nothing is held out"),
    "a moment and a random split": (lambda: tune(model(), EVENTS, since=3), "since= belongs to held_out='time'"),
    "short mask": (lambda: FITTED.recommend(allow=[True, False]), "one entry per item"),
    "one list for a list of lists": (lambda: FITTED.recommend(interactions=["film 0"]), r"as in \[\['film 0'\]\]"),
    "unknown item of a new user": (lambda: FITTED.recommend(interactions=[["film 99"]]), "unknown item: 'film 99'"),
    "known and new at once": (lambda: FITTED.recommend(["ann 0"], interactions=[["film 0"]]), "not both"),
    "another form of reasons": (lambda: FITTED.explain("ann 0", "film 1", output="excel"), "output must be one of"),
    "unknown items of somebody new": (lambda: FITTED.recommend(interactions=[["film 99"]]), "unknown='ignore'"),
    "more of somebody known": (
        lambda: FITTED.recommend("ann 0", interactions=[["film 0"]]),
        "more= is what known ones",
    ),
    "a known user again": (
        lambda: FITTED.add_users(ids=["ann 0"], interactions=[["film 0"]]),
        "update takes what known",
    ),
    "another form": (lambda: FITTED.set_output(transform="excel"), "one of 'default', 'pandas'"),
    # fitting
    "a list of pairs of numbers": (lambda: model().fit([(1, 2), (3, 4)]), "of events make everypair.data.read_events"),
    "nothing": (lambda: model().fit(None), "got NoneType"),
    "a model for a matrix": (lambda: model().fit(FITTED), "got OneClassMF"),
    "a typo in a path": (lambda: model().fit("no.csv"), "There is no file no.csv"),
    "validation of strangers": (
        lambda: model().fit(TRAIN, validation=[("xan", "film 0")]),
        "no pair of a user and an item",
    ),
    "validation on what is learnt": (lambda: model().fit(TRAIN, validation=TRAIN), "stored in interactions"),
    "threads below all": (lambda: OneClassMF(rank=3, n_threads=-5).fit(TRAIN), "n_threads must be"),
    "one function for a list": (lambda: model().fit(TRAIN, callbacks=print), r"callbacks=\[f\]"),
    "classes for models": (lambda: Blend(models=[OneClassMF, ItemItem]).fit(TRAIN), "models must hold recommenders"),
    "too few weights": (lambda: Blend(models=[model(), ItemItem()], weights=[1.0]).fit(TRAIN), "2 finite numbers"),
    # features
    "a path for features": (lambda: model().fit(TRAIN, item_features="films.csv"), "table_features"),
    "features of the other side": (lambda: model().fit(EVENTS, user_features=ABOUT), "no id in its index"),
    "features without a row": (lambda: model().fit(EVENTS, item_features=ABOUT[1:]), "1 ids have no row: 'film 0'"),
    "features with a row twice": (
        lambda: model().fit(EVENTS, item_features=pd.concat([ABOUT, ABOUT[:1]])),
        "'film 0' appears more than once",
    ),
    "features that are words": (
        lambda: model().fit(EVENTS, item_features=ABOUT.assign(long="yes")),
        "its column 'long' is String",
    ),
    "features that are missing": (lambda: model().fit(EVENTS, item_features=ABOUT.assign(long=np.nan)), "has NaN"),
    "features without ids": (
        lambda: model().fit(EVENTS, item_features=ABOUT.reset_index(drop=True)),
        "a frame without ids",
    ),
    "a column less": (lambda: DESCRIBED.add_items(features=NEW[["year"]]), "'long' is missing"),
    "a column more": (lambda: DESCRIBED.add_items(features=NEW.assign(age=1.0)), "'age' is new"),
    "a new item without its year": (lambda: DESCRIBED.add_items(features=NEW.assign(year=np.nan)), "has NaN"),
    "a new item of a number": (lambda: DESCRIBED.add_items(features=NEW.set_axis([7])), "These ids are integers"),
    "a known item added": (lambda: DESCRIBED.add_items(features=ABOUT[:1]), "'film 0' is among the ids already"),
    "one name for two": (lambda: DESCRIBED.add_items(ids=["a"], features=np.ones((2, 2))), "1 ids for 2 new items"),
    "features of a model without": (lambda: FITTED.recommend(features=np.ones((1, 2))), "fitted without user_features"),
    "a table about others": (lambda: table_features({"film": ["a"], "year": [1.0]}, EVENTS.item_ids), "none of the 21"),
    "ids that are a list": (lambda: table_features({"film": ["a"]}, ["a"]), "wrap them in Ids"),
    "a friend of nobody": (lambda: edge_graph([("ann 0", "xan")], EVENTS.user_ids), "unknown: 'xan'"),
    "edges for a graph": (
        lambda: model().fit(EVENTS, user_graph=pd.DataFrame({"a": USERS, "b": USERS[::-1]})),
        "edge_graph makes one",
    ),
    # reading, measuring, tuning, files
    "no events": (lambda: read_events([]), "there are no events"),
    "text for a path": (lambda: read_events("user,item\nann,blue\n"), "is no path"),
    "an open file": (lambda: read_events(io.StringIO("user,item\nann,blue\n")), "give the path of the file"),
    "words of two kinds": (lambda: read_events([("ann", 1), (2, 2)]), "all strings or all integers"),
    "rows of two lengths": (lambda: read_events([("ann", 1), ("bob",)]), "row 0 has 2 fields, row 1 has 1"),
    "all events held out": (lambda: split_entries(EVENTS, 1.0), "between 0 and 1"),
    "a split by no time": (lambda: split_time(EVENTS), "needs times"),
    "a classifier measured": (lambda: ranking_metrics(MultiLabelMF(), TRAIN, TEST), "does not rank items for users"),
    "a model measured unfitted": (lambda: ranking_metrics(model(), TRAIN, TEST), "not fitted"),
    "the model last": (lambda: ranking_metrics(TRAIN, TEST, FITTED), "give a fitted recommender"),
    "lists of length 0": (lambda: ranking_metrics(FITTED, TRAIN, TEST, ks=[0]), "positive integer"),
    "no side information": (lambda: feature_report(model(), TRAIN, TEST), "no side information"),
    "events tuned by a model": (lambda: tune(EVENTS, model()), "got Events"),
    "a class tuned": (lambda: tune(OneClassMF, EVENTS), "got the class OneClassMF"),
    "a budget in words": (lambda: tune(model(), EVENTS, budget="5m"), "number of seconds"),
    "a report as PDF": (lambda: report(model(), EVENTS, path="report.pdf"), "must end in .html"),
    "saved before it is fitted": (lambda: model().save("model.ep"), "not fitted yet"),
    "saved as a folder": (lambda: FITTED.save("."), "it is a folder"),
    "saved nowhere": (lambda: FITTED.save("no/such/model.ep"), "does not exist; create it first"),
    "a log loaded": (lambda: load(__file__), "not an EveryPair file"),
    "a folder loaded": (lambda: load("."), "it is a folder"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong, sentence = MISTAKES[mistake]
    with pytest.raises((ValueError, TypeError, OSError), match=sentence) as refused:
        wrong()
    lines = str(refused.value).splitlines()
    assert len(lines) == 1 or lines[0].endswith("problems:")
    assert os.listdir(tmp_path) == []
    assert (len(FITTED.user_ids_), len(DESCRIBED.item_ids_)) == (len(TRAIN.user_ids), len(ITEMS))


def test_tuples_with_names_are_events():
    listed = [(USERS[i], ITEMS[j]) for i, j in zip(ROWS, COLUMNS)]
    by_name = model().fit(listed).recommend(["ann 3"], n=2)[0]
    assert by_name.tolist() == model().fit(EVENTS).recommend(["ann 3"], n=2)[0].tolist()


def test_swapped_train_and_test_are_noticed():
    with pytest.warns(UserWarning, match=r"was fitted on \d+ of the \d+ positives of test.*swapped"):
        ranking_metrics(FITTED, TEST, TRAIN)


def test_columns_and_rows_in_any_order_change_nothing():
    mixed = ABOUT[["long", "year"]].sample(frac=1, random_state=0)
    again = model().fit(EVENTS, item_features=mixed)
    np.testing.assert_array_equal(again.item_factors_, DESCRIBED.item_factors_)


def test_no_users_and_more_items_than_there_are():
    items, scores = FITTED.recommend([], n=3)
    assert items.shape == scores.shape == (0, 3)
    items, scores = FITTED.recommend(["ann 0"], n=len(ITEMS) + 5)
    absent = np.equal(items[0], None)
    assert absent.sum() == TRAIN.matrix[[0]].nnz + 5  # what ann has, and what there is not
    assert np.isneginf(scores[0][absent]).all()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="is a pipe or a device"):
        read_events(tmp_path / "pipe.csv")


def test_a_model_file_is_no_table(tmp_path):
    FITTED.save(tmp_path / "model.ep")
    with pytest.raises(ValueError, match="a model file of EveryPair"):
        read_events(tmp_path / "model.ep")
    (tmp_path / "link.ep").symlink_to(tmp_path / "model.ep")
    assert everypair.load(tmp_path / "link.ep").user_ids_ == FITTED.user_ids_
