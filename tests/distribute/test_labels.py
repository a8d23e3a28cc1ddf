"""MultiLabelMF on a cluster: what one machine learns, from rows in shards."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import MultiLabelMF
from everypair.data import MultiLabelData, write_multilabel
from everypair.distribute import Cluster, ShardCheckpoint

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


def test_files_are_checked_like_a_matrix(folder, clients):
    with pytest.raises(ValueError, match="rank=99 is larger than the number of features"):
        model(rank=99).fit(folder, client=clients(2))
    with pytest.raises(ValueError, match="beyond what float32 holds"):
        model(dtype="float32", label_weight=np.full(LABELS, 1e-60)).fit(folder, client=clients(2))
    with pytest.raises(ValueError, match="leave them out with files of labelled rows"):
        model().fit(folder, client=Cluster(clients(2), read={"threshold": 1}))


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
