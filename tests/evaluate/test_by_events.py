"""Recall by training events of the item: by loops, with ids, and in a feature report."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import ContentItems, OneClassMF, Popularity, read_events
from everypair.evaluate import feature_report, recall_by_events

RANDOM = np.random.default_rng(0)
COUNTS = np.repeat([0.0, 1.0, 4.0, 12.0], 10)  # events of an item, about
LIKES = (RANDOM.random((40, 40)) < (COUNTS + 2) / 40) * 1.0
TRAIN = LIKES * (RANDOM.random(LIKES.shape) < COUNTS / (COUNTS + 2))
TEST = LIKES - TRAIN


@pytest.mark.parametrize("n", [1, 7])
def test_by_loops(n):
    model = Popularity().fit(TRAIN)
    found = {"0": [], "1": [], "2–5": [], "6 or more": []}
    for user in np.flatnonzero(TEST.any(axis=1)):
        best = model.recommend([user], n=n)[0][0]
        for item in np.flatnonzero(TEST[user]):
            events = int(TRAIN[:, item].sum())
            name = str(events) if events < 2 else "2–5" if events < 6 else "6 or more"
            found[name].append(item in best)
    groups = recall_by_events(model, TRAIN, TEST, n=n)
    assert [group.name for group in groups] == [name for name, values in found.items() if values]
    for group in groups:
        values = np.array(found[group.name], float)
        assert group.entries == len(values)
        assert group.recall == pytest.approx(values.mean())
        assert group.error == pytest.approx(values.std(ddof=1) / np.sqrt(len(values)))


def test_events_with_ids_and_tables():
    def events(matrix):
        rows, columns = np.nonzero(matrix)
        return read_events([(f"u{i}", f"v{j}") for i, j in zip(rows, columns)], verbose=False)

    known = np.flatnonzero(TRAIN.any(axis=0))
    named = Popularity().fit(events(TRAIN)).set_output(transform="pandas")
    with pytest.warns(UserWarning, match="were not seen in training"):
        groups = recall_by_events(named, events(TRAIN), events(TEST), n=5)
    assert sum(group.entries for group in groups) == TEST[TRAIN.any(axis=1)][:, known].sum()
    with pytest.raises(ValueError, match="n must be"):
        recall_by_events(named, TRAIN, TEST, n=0)


def test_a_report_says_where_features_pay():
    groups = np.eye(5)[np.arange(40) % 5]
    report = feature_report(OneClassMF(rank=3, max_iter=3, random_state=0), TRAIN, TEST, item_features=groups)
    assert list(report.by_events) == list(report.rows)
    model = OneClassMF(rank=3, max_iter=3, random_state=0).fit(TRAIN, item_features=groups)
    assert report.by_events["all"] == recall_by_events(model, TRAIN, TEST)
    lines = str(report).splitlines()
    title = lines.index("") + 1
    assert lines[title].split()[:6] == ["recall@20", "by", "events", "of", "the", "item"]
    assert [line.split()[0] for line in lines[title + 1 :]] == ["all", "without", "none"]
    assert lines[title + 1].split()[1:] == [f"{group.recall:.4f}" for group in report.by_events["all"]]


def test_content_finds_what_has_no_events():
    kinds = np.arange(60) % 3
    likes = (RANDOM.random((50, 60)) < 0.5) * (np.arange(50)[:, None] % 3 == kinds) * 1.0
    train = likes * (np.arange(60) < 40)
    model = ContentItems().fit(train, item_features=np.eye(3)[kinds])
    fresh = recall_by_events(model, sp.csr_array(train), sp.csr_array(likes - train))
    assert [group.name for group in fresh] == ["0"]
    assert fresh[0].recall > 0.9
