"""Workers and clients that die: the training ends with the same bits."""

import logging
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster, wait

from everypair import OneClassMF
from everypair.distribute import Cluster, ShardCheckpoint, tasks

PAIRS = sp.random_array((7000, 4500), density=0.001, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
PAIRS.data[:] = 1


def model(**parameters):
    return OneClassMF(**{"rank": 6, "max_iter": 6, "tol": 0.0, "random_state": 3, **parameters})


def test_a_worker_that_is_killed_in_the_second_sweep(doomed, caplog):
    client, kill = doomed
    with caplog.at_level(logging.WARNING, logger="everypair.distribute"):
        there = model().fit(PAIRS, client=Cluster(client, shards=(3, 2)), callbacks=[kill])
    alone = model().fit(PAIRS)
    assert np.array_equal(there.user_factors_, alone.user_factors_)
    assert np.array_equal(there.item_factors_, alone.item_factors_)
    assert any("is gone: what it held is computed again elsewhere" in record.message for record in caplog.records)


def test_a_worker_that_is_killed_with_the_weights_of_features():
    random = np.random.default_rng(1)
    users, items = random.standard_normal((7000, 3)), random.standard_normal((4500, 2))
    ends = []
    for kill in (False, True):
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster,
            Client(cluster) as client,
        ):
            home = {}

            def look(sweep, cluster=cluster, client=client, home=home, kill=kill):
                if kill and sweep.iteration == 2:
                    wait(sweep.state.left_parameters)
                    address = next(iter(client.who_has(sweep.state.left_parameters).values()))[0]
                    home[0] = address
                    next(
                        one for one in cluster.workers.values() if one.worker_address == address
                    ).process.process.kill()

            fitted = model(max_iter=3).fit(
                PAIRS, user_features=users, item_features=items, client=Cluster(client, shards=(3, 2)), callbacks=[look]
            )
            ends.append(fitted)
            assert bool(home) == kill
    assert np.array_equal(ends[0].user_feature_weights_, ends[1].user_feature_weights_)
    assert np.array_equal(ends[0].user_factors_, ends[1].user_factors_)


KILLED = """
import os, sys
import numpy as np, scipy.sparse as sp
from distributed import Client
from everypair import OneClassMF
from everypair.distribute import Cluster, ShardCheckpoint

def end(sweep):
    if sweep.iteration == 4:
        os._exit(9)

if __name__ == "__main__":
    random = np.random.default_rng(0)
    pairs = sp.random_array((7000, 4500), density=0.001, rng=random, format="csr", dtype=np.float32)
    pairs.data[:] = 1
    model = OneClassMF(rank=6, max_iter=6, tol=0.0, random_state=3)
    with Client(sys.argv[1]) as client:
        model.fit(pairs, client=Cluster(client, shards=(3, 2)), callbacks=[ShardCheckpoint(sys.argv[2], every=3), end])
"""


def test_a_client_that_is_killed_after_sweep_three_goes_on(clients, tmp_path):
    client = clients(2)
    address = client.scheduler_info()["address"]
    killed = subprocess.run([sys.executable, "-c", KILLED, address, str(tmp_path / "kept")], timeout=120)
    assert killed.returncode == 9
    keep = ShardCheckpoint(tmp_path / "kept", every=3)
    swept = []
    cluster = Cluster(client, shards=(3, 2))
    there = model().fit(PAIRS, client=cluster, callbacks=[keep, lambda sweep: swept.append(sweep.iteration)])
    assert swept == [4, 5, 6]
    alone = model().fit(PAIRS)
    assert np.array_equal(there.user_factors_, alone.user_factors_)
    assert np.array_equal(there.item_factors_, alone.item_factors_)
    assert len(there.history_) == 6
    with pytest.raises(ValueError, match=r"checkpoint of another training \(parameter rank\)"):
        model(rank=5).fit(PAIRS, client=cluster, callbacks=[keep])
    with pytest.raises(ValueError, match="needs a number as random_state"):
        model(random_state=None).fit(PAIRS, client=cluster, callbacks=[keep])


def test_where_no_worker_is_left_there_is_a_sentence_and_no_hang(monkeypatch):
    monkeypatch.setattr(tasks, "NO_WORKER", 4)
    monkeypatch.setattr(tasks, "LOOK", 1)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster,
        Client(cluster) as client,
    ):

        def leave(sweep):
            if sweep.iteration == 2:
                cluster.scale(0)
                while client.scheduler_info()["workers"]:
                    time.sleep(0.05)

        with pytest.raises(tasks.LostWorker, match="no workers for 4 seconds: start some and fit again"):
            model().fit(PAIRS, client=client, callbacks=[leave])
