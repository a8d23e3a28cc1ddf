import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def clients():
    """Clients of clusters of worker processes, by their number; started when first asked for."""
    started = {}

    def of(workers):
        if workers not in started:
            cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
            )
            started[workers] = cluster, distributed.Client(cluster)
        return started[workers][1]

    yield of
    for cluster, client in started.values():
        client.close()
        cluster.close()


@pytest.fixture
def doomed():
    """The client of a cluster of two workers, and a callback that kills one of them after the second sweep."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(cluster.workers.values()))

        def kill(sweep):
            if sweep.iteration == 2:
                victim.process.process.kill()

        yield client, kill
