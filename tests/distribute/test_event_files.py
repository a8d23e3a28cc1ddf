"""Files of events on a cluster: the pairs, the model and the bits of one table on one machine."""

import numpy as np
import pandas as pd
import pytest

from everypair import OneClassMF, Side
from everypair.data import read_events
from everypair.distribute import Cluster
from everypair.distribute.reading import event_files, id_numbers
from everypair.distribute.tasks import Tasks
from everypair.features import table_features

SIZE = 12_000
random = np.random.default_rng(4)
LOG = pd.DataFrame(
    {
        "user": [f"u{one}" for one in random.zipf(1.3, SIZE) % 2500],
        "item": random.zipf(1.2, SIZE) % 1200 - 40,
        "rating": random.integers(1, 6, SIZE),
        "time": random.integers(0, 500, SIZE),
    }
)
LOG.loc[LOG["item"] % 7 == 0, "rating"] = 1  # items that nobody likes, and which a threshold leaves out


def model(**parameters):
    return OneClassMF(**{"rank": 4, "max_iter": 3, "tol": 0.0, "random_state": 3, **parameters})


def written(path, log, files=5):
    for number, part in enumerate(np.array_split(np.arange(len(log)), files)):
        log.iloc[part].to_parquet(path / f"part-{number}.parquet")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("events"), LOG)


@pytest.mark.parametrize(
    "read",
    [
        {"min_rating": 4},  # the last by time
        {"min_rating": 4, "time": None, "dislike_weight": 0.1},  # the last of the last file
        {"min_rating": 4, "duplicates": "max", "dislike_weight": 0.1},
        {"weight": "rating", "duplicates": "sum"},
        {"duplicates": "count"},
    ],
)
def test_events_are_joined_as_in_one_table(read, folder, clients):
    there = model(max_iter=1).fit(folder, client=Cluster(clients(2), read=read))
    events = read_events(LOG, verbose=False, **read)
    assert np.array_equal(there.user_ids_.values, events.user_ids.values)
    assert np.array_equal(there.item_ids_.values, events.item_ids.values)
    assert (there.interactions_ != events.matrix).nnz == 0


def test_weights_of_zero_and_dislikes_of_several_files(clients, tmp_path):
    log = pd.DataFrame({
        "user": ["a", "a", "b", "b", "c", "c", "d"], "item": ["x", "y", "x", "y", "x", "z", "x"],
        "weight": [0.0, 1.0, 2.0, -1.0, 1.0, 3.0, 1.0],
    })  # fmt: skip
    again = log.assign(weight=[-1.0, 2.0, -2.0, 0.0, 0.0, -3.0, 1.0])
    log.to_parquet(tmp_path / "part-0.parquet")
    again.to_parquet(tmp_path / "part-1.parquet")
    for how in ("sum", "max", "last"):
        read = {"weight": "weight", "duplicates": how}
        there = model(rank=1, max_iter=1).fit(tmp_path, client=Cluster(clients(2), read=read))
        events = read_events(pd.concat([log, again]), **read)
        assert list(there.user_ids_) == list(events.user_ids)
        assert list(there.item_ids_) == list(events.item_ids)
        assert (there.interactions_ != events.matrix).nnz == 0


@pytest.mark.parametrize("parameters", [{}, {"weighting": ("degree", 0.25), "negative_scheme": ("item-count", 0.5)}])
def test_the_bits_of_one_machine(parameters, folder, clients):
    read = {"min_rating": 4}
    there = model(**parameters).fit(folder, client=Cluster(clients(2), shards=(2, 1), read=read))
    alone = model(**parameters).fit(read_events(LOG, verbose=False, **read))
    assert np.array_equal(there.user_factors_, alone.user_factors_)
    assert np.array_equal(there.item_factors_, alone.item_factors_)
    assert (there.interactions_ != alone.interactions_).nnz == 0
    assert there.state_.weighting == alone.state_.weighting
    asked = alone.user_ids_.values[:3]
    assert np.array_equal(there.recommend(asked, n=4)[0], alone.recommend(asked, n=4)[0])


def test_events_in_memory(clients):
    parameters = {"weighting": ("degree", 0.25), "max_iter": 2}
    events = read_events(LOG, min_rating=4, verbose=False)
    alone = model(**parameters).fit(events)
    for source, read in ((events, {}), (LOG, {"min_rating": 4, "verbose": False})):
        there = model(**parameters).fit(source, client=Cluster(clients(2), read=read, gather=False))
        assert list(there.item_ids_) == list(alone.item_ids_)
        assert there.recommend(["u1"], n=3)[0].tolist() == alone.recommend(["u1"], n=3)[0].tolist()
        assert np.array_equal(there.gather().user_factors_, alone.user_factors_)
        assert there.state_.weighting == alone.state_.weighting
        assert there.recommend(["u1"], n=3)[0].tolist() == alone.recommend(["u1"], n=3)[0].tolist()


def test_weights_of_negatives_in_the_order_of_ids(folder, clients):
    events = read_events(LOG, verbose=False)
    arrays = tuple(np.linspace(1, 2, size) for size in events.matrix.shape)
    there = model(negative_scheme=arrays).fit(folder, client=clients(2))
    assert np.array_equal(there.user_factors_, model(negative_scheme=arrays).fit(events).user_factors_)


def test_features_by_id(folder, clients):
    """A shuffled frame of users, a table of items: the objective of one machine, answers for new users."""
    events = read_events(LOG, verbose=False)
    users, items = events.user_ids, events.item_ids
    table = pd.DataFrame(
        {"user": users.values, "age": np.linspace(-1, 1, len(users)), "old": np.arange(len(users)) % 2}
    )
    films = pd.DataFrame({"item": items.values, "kind": [f"k{one % 5}" for one in items.values]})
    kinds = table_features(films, items, kinds={"kind": "category"})
    given = {"user_features": table.sample(frac=1, random_state=0), "item_features": kinds}
    parameters = {"max_iter": 3, "loss": "squared", "items": Side(own_vectors=False)}
    there = model(**parameters).fit(folder, **given, client=Cluster(clients(2), shards=(2, 1)))
    alone = model(**parameters).fit(events, **given)
    matrix = model(**parameters).fit(
        events.matrix, user_features=table[["age", "old"]].to_numpy(float), item_features=kinds.matrix,
        client=Cluster(clients(2), shards=(2, 1)),
    )  # fmt: skip
    assert np.array_equal(there.user_factors_, matrix.user_factors_)  # the same rows meet the same features
    assert np.array_equal(there.user_feature_weights_, matrix.user_feature_weights_)
    assert there.objective_ == pytest.approx(alone.objective_, rel=0.02)
    new = pd.DataFrame({"old": [1], "age": [0.5]}, index=["somebody"])
    assert there.recommend(features=new, n=3)[0].shape == (1, 3)


def test_many_files_are_few_tasks(clients, tmp_path, monkeypatch):
    """The same pairs, whatever the groups of files and the runs of ids; tasks grow with the files, not their square."""
    folder = written(tmp_path, LOG, 60)
    counted = []
    task = Tasks.task
    monkeypatch.setattr(Tasks, "task", lambda *given, **options: counted.append(given[1]) or task(*given, **options))
    cluster = Cluster(clients(2), read={"min_rating": 4})
    pairs = cluster.read_there(cluster.tasks(), folder, np.float32)
    assert len(counted) < 1000
    monkeypatch.setattr(event_files, "GROUP_EVENTS", 500)
    monkeypatch.setattr(id_numbers, "SAMPLES", 10)
    others = cluster.read_there(cluster.tasks(), folder, np.float32)
    assert others.shape == pairs.shape == read_events(LOG, min_rating=4, verbose=False).matrix.shape
    assert all(np.array_equal(one, other) for one, other in zip(pairs.stored, others.stored))


def test_a_worker_that_is_killed_is_made_good_from_the_files_on(folder, doomed):
    client, kill = doomed
    read, parameters = {"min_rating": 4}, {"weighting": ("degree", 0.25), "max_iter": 4}
    there = model(**parameters).fit(folder, client=Cluster(client, shards=(2, 1), read=read), callbacks=[kill])
    alone = model(**parameters).fit(read_events(LOG, verbose=False, **read))
    assert np.array_equal(there.user_factors_, alone.user_factors_)
    assert (there.interactions_ != alone.interactions_).nnz == 0
