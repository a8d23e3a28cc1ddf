"""Worker processes on this machine, with settings that suit training."""

from __future__ import annotations

from typing import Any

from everypair.check import integer

KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**28)}


def local_cluster(workers: int, memory_limit: Any = "auto", **options: Any) -> Any:
    """A ``distributed.LocalCluster`` of processes with one thread each, which keep the memory that a task returns.

    By Dask's own settings a worker gives it back to the system at once, and the pages of the next task's arrays are
    made anew: that costs an eighth of a sweep on small data. ``memory_limit`` and other options are LocalCluster's. On
    a cluster of your own, set the environment of its workers before they start (glibc alone reads it)::

        MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=268435456 dask worker --no-nanny tcp://scheduler:8786

    Examples
    --------
    >>> from distributed import Client
    >>> with local_cluster(1) as cluster, Client(cluster) as client:
    ...     len(client.scheduler_info()["workers"])
    1
    """
    import dask
    from distributed import LocalCluster

    workers = integer("workers", workers)
    with dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": size for name, size in KEPT_MEMORY.items()}):
        return LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=memory_limit,
            **{"dashboard_address": ":0", **options},
        )  # fmt: skip
