"""Files of events in, lists and metrics out: as on one machine."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from everypair import OneClassMF
from everypair.data import read_events
from everypair.distribute import Cluster
from everypair.evaluate import ranking_metrics


def model(**parameters):
    return OneClassMF(**{"rank": 4, "max_iter": 3, "tol": 0.0, "random_state": 3, **parameters})


@pytest.fixture(scope="module")
def log():
    random = np.random.default_rng(1)
    users, items = random.zipf(1.3, 30_000) % 5000, random.zipf(1.2, 30_000) % 3000
    return pd.DataFrame({"user": [f"u{one}" for one in users], "item": items, "weight": random.integers(1, 4, 30_000)})


@pytest.fixture(scope="module")
def folder(log, tmp_path_factory):
    path = tmp_path_factory.mktemp("events")
    for number, part in enumerate(np.array_split(np.arange(len(log)), 3)):
        log.iloc[part].to_parquet(path / f"part-{number}.parquet")
    return path


@pytest.fixture(scope="module")
def there(clients, folder):
    return model().fit(folder, client=Cluster(clients(2), shards=(3, 2), gather=False))


@pytest.fixture(scope="module")
def fitted(clients, folder):
    return model().fit(folder, client=Cluster(clients(2), shards=(3, 2)))


def test_the_pairs_of_files_are_those_of_one_table(fitted, log):
    events = read_events(log)
    rows, columns = fitted.user_ids_.index(events.user_ids.values), fitted.item_ids_.index(events.item_ids.values)
    assert sorted(rows.tolist()) == list(range(len(fitted.user_ids_)))
    assert (fitted.interactions_[rows][:, columns] != events.matrix).nnz == 0


def test_factors_are_those_of_one_machine_in_the_same_order(fitted):
    alone = model().fit(fitted.interactions_)
    assert np.array_equal(fitted.user_factors_, alone.user_factors_)
    assert np.array_equal(fitted.item_factors_, alone.item_factors_)


def test_a_dask_frame_gives_the_same_pairs(clients, log, fitted):
    import dask.dataframe as dd

    frame = dd.from_pandas(log, npartitions=3)
    other = model().fit(frame, client=Cluster(clients(2), shards=(3, 2)))
    rows, columns = fitted.user_ids_.index(other.user_ids_.values), fitted.item_ids_.index(other.item_ids_.values)
    assert (fitted.interactions_[rows][:, columns] != other.interactions_).nnz == 0


def test_lists_of_everybody(there, fitted, tmp_path):
    paths = there.state_.recommend_all(tmp_path / "lists", n=5, block=[1, 2])
    assert len(paths) == len(there.state_.factors.left) == 3
    table = pd.read_parquet(tmp_path / "lists")
    items, scores = fitted.recommend(n=5, block=[1, 2])
    assert table["user"].tolist() == np.repeat(fitted.user_ids_.values, 5).tolist()
    assert np.array_equal(table["item"], items.ravel())
    np.testing.assert_allclose(table["score"], scores.ravel(), rtol=1e-5, atol=1e-6)
    assert table["rank"].tolist() == [1, 2, 3, 4, 5] * len(items)
    with pytest.raises(ValueError, match="has Parquet files already"):
        there.state_.recommend_all(tmp_path / "lists")


def test_known_users_of_a_model_that_stays_there(there, fitted):
    asked = [*fitted.user_ids_.values[:2].tolist(), fitted.user_ids_.values[-1]]
    items, scores = there.recommend(asked, n=3)
    expected, values = fitted.recommend(asked, n=3)
    assert np.array_equal(items, expected)
    np.testing.assert_allclose(scores, values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(there.score_users(asked), fitted.score_users(asked), rtol=1e-5, atol=1e-6)
    with pytest.raises(AttributeError, match="is on the cluster: gather"):
        _ = there.user_factors_
    assert not hasattr(there, "interactions_")
    assert [entry["objective"] for entry in there.history_] == [entry["objective"] for entry in fitted.history_]
    for name in ("objective_", "status_", "n_iter_", "rank_", "reg_", "negative_weight_", "biases_", "feature_reg_"):
        assert getattr(there, name) == getattr(fitted, name)
    assert list(there.user_ids_) == list(fitted.user_ids_)
    assert there.user_feature_weights_ is None
    users, items = fitted.interactions_.shape
    assert repr(there.state_).startswith(f"ClusterFactors({users:,} users × {items:,} items in 3 and 2 shards on the")
    with pytest.raises(TypeError, match=r"on the cluster: gather\(\) brings the model here"):
        there.to_parts()
    with pytest.raises(ValueError, match=r"is on the cluster: model.state_.metrics\(test\) ranks there"):
        ranking_metrics(there, fitted.interactions_, fitted.interactions_)
    for refused in (
        lambda: there.recommend(interactions=[[1]]),
        lambda: there.score_pairs(asked[:1], [1]),
        lambda: there.similar_items([1]),
        lambda: there.explain(asked[0], 1),
        lambda: there.add_users(ids=["new"], interactions=[[1]]),
    ):
        with pytest.raises(AttributeError, match=r"is on the cluster: gather\(\) brings the model here"):
            refused()


def test_a_model_comes_here(clients, folder, fitted):
    there = model().fit(folder, client=Cluster(clients(2), shards=(3, 2), gather=False))
    assert np.array_equal(there.gather().user_factors_, fitted.user_factors_)
    assert type(there.state_) is type(fitted.state_)


def test_metrics_and_validation(clients):
    random = np.random.default_rng(2)
    train = sp.random_array((5000, 2500), density=0.004, rng=random, format="csr", dtype=np.float32)
    train.data[:] = 1
    held_out = sp.random_array((5000, 2500), density=0.001, rng=random, format="csr")
    held_out = sp.csr_array(held_out - held_out.multiply(train))
    held_out.eliminate_zeros()
    there = model().fit(train, validation=held_out, client=Cluster(clients(2), shards=(2, 1), gather=False))
    alone = model().fit(train, validation=held_out)
    for name in ("ndcg@10", "recall@10", "auc", "coverage@10"):
        assert there.history_[-1][name] == pytest.approx(alone.history_[-1][name], abs=1e-6)
    metrics, expected = there.state_.metrics(held_out, ks=(5,)), ranking_metrics(alone, train, held_out, ks=(5,))
    assert dict(metrics) == pytest.approx(dict(expected), abs=1e-6)


def test_a_saved_model_is_like_any_other(fitted, tmp_path):
    from everypair import load

    fitted.save(tmp_path / "model.ep")
    again = load(tmp_path / "model.ep")
    assert np.array_equal(again.recommend(n=2)[0], fitted.recommend(n=2)[0])


def test_validation_of_a_training_from_files(clients, log, tmp_path):
    once = log.drop_duplicates(["user", "item"])
    held_out = once.sample(300, random_state=0)
    rest = once.drop(held_out.index)
    held_out = held_out[held_out["user"].isin(rest["user"]) & held_out["item"].isin(rest["item"])]
    rest.to_parquet(tmp_path / "part-0.parquet")
    there = model().fit(tmp_path, validation=held_out, client=Cluster(clients(2), gather=False))
    alone = model().fit(rest, validation=held_out)
    assert there.history_[-1]["ndcg@10"] == pytest.approx(alone.history_[-1]["ndcg@10"], abs=0.05)
    metrics = there.state_.metrics(held_out)
    with pytest.raises(ValueError, match="test must be a matrix where interactions are one, and events with ids"):
        there.state_.metrics(np.eye(3))
    expected = ranking_metrics(there.gather(), rest, held_out)
    assert dict(metrics) == pytest.approx(dict(expected), abs=1e-6)
    with pytest.raises(ValueError, match="events with ids"):
        model().fit(tmp_path, validation=np.eye(3), client=Cluster(clients(2)))
