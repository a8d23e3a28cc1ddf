"""``--cluster``: training, and lists of everybody, on a Dask cluster: tcp://scheduler:8786, or local:4 processes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from everypair.cli.reading import Reading

PART_ROWS = 2**16  # users of one Parquet file
LOCAL = "local:"


@contextmanager
def connected(where: str) -> Iterator[Any]:
    """A client of the cluster that is named, or of one of worker processes on this machine that ends with it."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as failure:
        raise ImportError("--cluster needs Dask: pip install everypair[cluster].") from failure
    if where.startswith(LOCAL):
        count = where.removeprefix(LOCAL)
        if not count.isdecimal() or int(count) < 1:
            raise ValueError(f"--cluster {where}: say how many worker processes, as in {LOCAL}4.")
        with (
            LocalCluster(
                n_workers=int(count), threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
            ) as cluster,  # a worker's failure is raised here, as one sentence
            Client(cluster) as client,
        ):
            yield client
        return
    if "://" not in where:
        raise ValueError(f"--cluster takes tcp://scheduler:port or {LOCAL}4, got {where!r}.")
    try:
        client = Client(where, timeout="10s")
    except (OSError, TimeoutError, ValueError) as failure:
        raise ValueError(f"no scheduler answers at {where}: is it running, and is this its address?") from failure
    with client:
        yield client


def fit_there(
    model: Any,
    events: Path,
    reading: Reading,
    where: str,
    shards: int | None,
    checkpoint: Path | None,
    quiet: bool,
) -> None:
    """Fit a model on a folder of event files, or on one file, which the workers read."""
    from everypair import OneClassMF
    from everypair.distribute import Cluster, ShardCheckpoint
    from everypair.progress import Progress
    from everypair.training.train import shown_sweeps

    if not isinstance(model, OneClassMF):
        name = type(model).__name__
        raise ValueError(f"{name} is not trained on a cluster: say --model OneClassMF, or leave out --cluster.")
    read = reading.options()
    if (read.pop("min_user_events"), read.pop("min_item_events")) != (1, 1):
        raise ValueError("--min-user-events and --min-item-events are not known file by file: leave out --cluster.")
    read["verbose"] = not quiet
    keep = () if checkpoint is None else (ShardCheckpoint(checkpoint),)
    with Progress(model.max_iter, "sweeps", quiet, at_most=True) as progress, connected(where) as client:
        there = Cluster(client, shards=shards, read=read, gather=True)
        model.fit(events, client=there, callbacks=[shown_sweeps(progress), *keep])


def write_all_lists(path: Path, users: int, filters: dict[str, Any], folder: Path, where: str) -> list[str]:
    """Have workers, which see the model file, write the lists of everybody: a Parquet file for every run of users."""
    from everypair.distribute.output import check_folder
    from everypair.distribute.tasks import Tasks

    check_folder(folder)
    with connected(where) as client:
        tasks = Tasks(client)
        return tasks.get(
            [
                tasks.task(
                    "recommend-all", _write_part, str(path.absolute()), start, min(start + PART_ROWS, users), filters,
                    f"{folder.absolute()}/part-{number:05d}.parquet",
                )
                for number, start in enumerate(range(0, users, PART_ROWS))
            ]
        )  # fmt: skip


def _write_part(path: str, start: int, stop: int, filters: dict[str, Any], part: str) -> str:
    import numpy as np

    from everypair import load
    from everypair.distribute.output import write_lists
    from everypair.distribute.solving.work import worker_threads

    model = load(path, mmap=True).set_params(n_threads=worker_threads())
    users = np.arange(start, stop) if model.user_ids_ is None else model.user_ids_.values[start:stop]
    items, scores = model.recommend(users, **filters)
    write_lists(part, users, items, scores)
    return part
