"""MultiLabelMF on a cluster: what one machine learns, from rows in shards."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from everypair import InterruptedTraining, MultiLabelMF
from everypair.data import MultiLabelData, read_multilabel, write_multilabel
from everypair.distribute import Cluster, ShardCheckpoint
from everypair.models.multilabel import ridge_search

random = np.random.default_rng(0)
ROWS, FEATURES, LABELS = 2600, 40, 30
X = sp.random_array((ROWS, FEATURES), density=0.2, rng=random, format="csr")
SCORES = X @ random.standard_normal((FEATURES, 5)) @ random.standard_normal((5, LABELS))
Y = sp.csr_array((np.quantile(SCORES, 0.95) < SCORES).astype(np.int8))


def model(**parameters):
    defaults = {"rank": 6, "random_state": 0, "reg": 0.3, "threshold": 0.4, "max_iter": 6, "dtype": "float64"}
    return MultiLabelMF(**{**defaults, **parameters})


@pytest.mark.parametrize("parameters", [{}, {"loss": "squared"}, {"unlabeled": "missing"}])
def test_the_model_of_one_machine(parameters, clients):
    truth = Y
    if parameters.get("unlabeled") == "missing":  # zeros that are known are written out, others are unknown
        truth = Y.toarray().astype(float)
        truth[random.random(truth.shape) < 0.7] = np.nan
    alone = model(**parameters).fit(X, truth)
    there = model(**parameters).fit(X, truth, client=Cluster(clients(2), shards=(2, 1)))
    assert there.objective_ < alone.objective_ * 1.01
    assert there.history_[-1]["objective"] <= there.history_[0]["objective"]
    agreement = np.corrcoef(there.predict_scores(X[:300]).ravel(), alone.predict_scores(X[:300]).ravel())[0, 1]
    assert agreement > 0.98


def test_defaults_find_ridge_and_threshold_here(clients):
    alone = MultiLabelMF(random_state=0).fit(X, Y)
    there = MultiLabelMF(random_state=0).fit(X, Y, client=clients(2))
    assert there.reg_ == alone.reg_
    assert there.threshold_ == pytest.approx(alone.threshold_)
    assert (there.predict(X) != alone.predict(X)).mean() < 0.01


def test_weights_validation_and_the_same_bits(clients):
    weights = random.uniform(0.5, 2.0, ROWS)
    one, other = (
        model(max_iter=3).fit(
            X, Y, sample_weight=weights, validation=(X[:200], Y[:200]), client=Cluster(clients(n), shards=(2, 1))
        )
        for n in (1, 2)
    )
    assert np.array_equal(one.feature_weights_, other.feature_weights_)
    assert np.array_equal(one.label_factors_, other.label_factors_)
    assert one.history_[-1]["precision@1"] == other.history_[-1]["precision@1"] > 0.5


@pytest.fixture
def folder(tmp_path):
    for number, (start, stop) in enumerate(((0, 700), (700, 701), (701, 2000), (2000, ROWS))):
        write_multilabel(tmp_path / f"part-{number}.txt", MultiLabelData(X[start:stop], Y[start:stop]))
    return tmp_path


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, LABELS)])
def test_rows_in_files_are_those_of_a_matrix(weights, folder, clients):
    cluster = Cluster(clients(2), shards=(2, 1))
    read = model(label_weight=weights, dtype="float32", max_iter=3).fit(folder, client=cluster)
    given = model(label_weight=weights, dtype="float32", max_iter=3).fit(X.astype(np.float32), Y, client=cluster)
    assert read.reg_ == given.reg_
    assert read.negative_weight_ == pytest.approx(given.negative_weight_)
    assert read.objective_ == pytest.approx(given.objective_, rel=1e-4)
    assert read.predict_scores(X[:50]) == pytest.approx(given.predict_scores(X[:50]), abs=0.02)


def test_defaults_on_files(folder, clients):
    read = MultiLabelMF(random_state=0).fit(folder, client=clients(2))
    given = MultiLabelMF(random_state=0).fit(X, Y)
    assert read.reg_ == pytest.approx(given.reg_)
    assert (read.predict(X).toarray() != given.predict(X).toarray()).mean() < 0.01


def test_files_that_cannot_be_used(folder, clients):
    with pytest.raises(ValueError, match="read on a cluster: give client="):
        model().fit(folder)
    with pytest.raises(ValueError, match="sample_weight belongs to a matrix X"):
        model().fit(folder, sample_weight=np.ones(ROWS), client=clients(2))
    with pytest.raises(ValueError, match="kernel=None"):
        model(kernel="rbf").fit(folder, client=clients(2))
    write_multilabel(folder / "part-9.txt", MultiLabelData(X[:3, :-1], Y[:3]))
    with pytest.raises(ValueError, match=r"part-9\.txt has other features than .*part-0\.txt \(39 and 40\)"):
        model().fit(folder, client=clients(2))
    (folder / "part-9.txt").write_text("2 3\nnonsense here\n")
    with pytest.raises(ValueError, match=r"part-9\.txt"):
        model().fit(folder, client=clients(2))


def parquet(path, rows, sparse=False, names=True):
    """Rows of X and Y as a table."""
    features, labels = X[rows].astype(np.float32), Y[rows]
    parts = np.split(features.indices, features.indptr[1:-1]), np.split(features.data, features.indptr[1:-1])
    if sparse:
        columns = dict(zip(("indices", "values"), map(list, parts)))
    else:
        columns = {f"f{number}": column for number, column in enumerate(features.toarray().T)}
    found = np.split(labels.indices, labels.indptr[1:-1])
    columns["labels"] = [[f"l{label:02d}" for label in row] for row in found] if names else found
    pd.DataFrame(columns).to_parquet(path)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_in_parquet_are_those_of_one_machine(sparse, tmp_path, clients):
    cuts = [slice(0, 700), slice(700, 701), slice(701, 2000), slice(2000, ROWS)]
    for number, rows in enumerate(cuts):  # one row of 30 labels has not all of them
        parquet(tmp_path / f"part-{number}.parquet", rows, sparse, names=not sparse)
    cluster = Cluster(clients(2), shards=(2, 1))
    read = model(dtype="float32", max_iter=3).fit(tmp_path, client=cluster)
    used = np.arange(LABELS) if sparse else np.flatnonzero(Y.sum(axis=0))  # a name that no row has is not known
    given = model(dtype="float32", max_iter=3).fit(X.astype(np.float32), Y[:, used], client=cluster)
    assert np.array_equal(read.feature_weights_, given.feature_weights_)
    assert np.array_equal(read.label_factors_, given.label_factors_)
    assert read.n_features_in_ == FEATURES
    here = [read_multilabel(path) for path in sorted(tmp_path.iterdir())]
    if sparse:
        assert read.classes_.tolist() == list(range(LABELS))
        assert not hasattr(read, "feature_names_in_")
    else:
        assert read.classes_.tolist() == [f"l{label:02d}" for label in used]
        assert read.feature_names_in_.tolist() == list(here[0].feature_names)
        frame = pd.DataFrame(here[0].X.toarray(), columns=here[0].feature_names)
        assert read.predict_topk(frame[:2], 3)[0].shape == (2, 3)


def test_columns_of_parquet_are_matched_by_name(tmp_path, clients):
    parquet(tmp_path / "part-0.parquet", slice(0, 1300))
    parquet(tmp_path / "part-1.parquet", slice(1300, ROWS))
    second = pd.read_parquet(tmp_path / "part-1.parquet")
    plain = model(dtype="float32", max_iter=2).fit(tmp_path, client=clients(2))
    second[second.columns[::-1]].assign(noise=1.0).to_parquet(tmp_path / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-0\.parquet has no column 'noise', which .*part-1\.parquet has"):
        model().fit(tmp_path, client=clients(2))
    options = {"features": [f"f{number}" for number in range(FEATURES)]}
    again = model(dtype="float32", max_iter=2).fit(tmp_path, client=Cluster(clients(2), read=options))
    assert np.array_equal(plain.feature_weights_, again.feature_weights_)
    for changed, words in (
        (second.drop(columns="f7"), r"part-1\.parquet has no column 'f7', which .*part-0\.parquet has"),
        (second.drop(columns="labels"), r"part-1\.parquet has no column 'labels'"),
        (second.assign(f7="much"), r"part-1\.parquet: column 'f7' holds (large_)?string"),
        (
            second.assign(labels=[[1]] * len(second)),
            r"part-1\.parquet: labels are whole numbers, but strings in .*part-0",
        ),
        (second.iloc[:0], r"part-1\.parquet"),
    ):
        changed.to_parquet(tmp_path / "part-1.parquet")
        with pytest.raises(ValueError, match=words):
            model().fit(tmp_path, client=clients(2))
    parquet(tmp_path / "part-1.parquet", slice(0, 9), sparse=True)
    with pytest.raises(ValueError, match=r"part-1\.parquet has lists of indices and values, but .*part-0"):
        model().fit(tmp_path, client=clients(2))
    (tmp_path / "part-1.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"part-1\.parquet is damaged"):
        model().fit(tmp_path, client=clients(2))


def test_a_file_without_any_label_is_of_no_kind(tmp_path, clients):
    random = np.random.default_rng(0)
    labels = [[int(one)] for one in random.integers(0, 3, 40)]
    kinds = pa.list_(pa.int64()), pa.list_(pa.string())
    for number, (kind, own) in enumerate(zip(kinds, (labels, [[]] * 40))):
        table = {"f0": random.random(40), "f1": random.random(40), "labels": pa.array(own, kind)}
        pq.write_table(pa.table(table), tmp_path / f"part-{number}.parquet")
    model = MultiLabelMF(rank=2, reg=1.0, threshold=0.3, max_iter=2, negative_loss="squared")
    fitted = model.fit(tmp_path, client=clients(2))
    assert fitted.predict(pd.DataFrame(random.random((2, 2)), columns=["f0", "f1"])).shape == (2, 3)


def test_files_are_checked_like_a_matrix(folder, clients):
    with pytest.raises(ValueError, match="rank=99 is larger than the number of features"):
        model(rank=99).fit(folder, client=clients(2))
    with pytest.raises(ValueError, match="beyond what float32 holds"):
        model(dtype="float32", label_weight=np.full(LABELS, 1e-60)).fit(folder, client=clients(2))
    with pytest.raises(ValueError, match="'min_rating', which is no option of read_multilabel"):
        model().fit(folder, client=Cluster(clients(2), read={"min_rating": 1}))


def test_a_training_goes_on_from_its_checkpoint(clients, tmp_path):
    cluster, keep = Cluster(clients(2), shards=(2, 1)), ShardCheckpoint(tmp_path / "run", every=2)
    whole = model(max_iter=4).fit(X, Y, client=cluster)
    model(max_iter=2).fit(X, Y, client=cluster, callbacks=[keep])
    again = model(max_iter=4).fit(X, Y, client=cluster, callbacks=[keep])
    assert np.array_equal(whole.feature_weights_, again.feature_weights_)
    with pytest.raises(ValueError, match="use Checkpoint here"):
        model().fit(X, Y, callbacks=[keep])


def test_what_is_not_done_there(clients):
    with pytest.raises(ValueError, match='Set negative_loss="squared"'):
        model(negative_loss="same").fit(X, Y, client=clients(2))
    with pytest.raises(ValueError, match='solver must be "auto" or "tron"'):
        model(solver="gradient").fit(X, Y, client=clients(2))
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client"):
        model().fit(X, Y, client=3)
    with pytest.raises(ValueError, match="always come back: leave gather=False out"):
        model().fit(X, Y, client=Cluster(clients(2), gather=False))
    with pytest.raises(ValueError, match="leave them out with a matrix X"):
        model().fit(X, Y, client=Cluster(clients(2), read={"features": ["a"]}))


def test_a_search_that_is_cut_short_is_said_to_have_been_here(clients, monkeypatch):
    scores, calls = ridge_search.Fold.scores, []

    def pressed(fold, choice):
        calls.append(choice)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return scores(fold, choice)

    monkeypatch.setattr(ridge_search.Fold, "scores", pressed)
    with pytest.warns(InterruptedTraining, match="here on at most 20,000 rows, ended early"):
        there = MultiLabelMF(rank=4, random_state=0).fit(X, Y, client=clients(2))
    assert there.n_iter_ == 1
