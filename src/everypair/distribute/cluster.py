"""How a training runs on a Dask cluster: give ``fit`` a client, or a :class:`Cluster` with options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from everypair.check import integer
from everypair.data.events import Events, read_events
from everypair.data.ids import Ids
from everypair.data.matching import as_events
from everypair.data.pairs import Pairs
from everypair.distribute.reading.event_files import pairs_from_events
from everypair.distribute.sharded_pairs import ShardedPairs, as_it_is, large_tasks, pairs_from_matrix
from everypair.distribute.tasks import Tasks

SUFFIXES = (".parquet", ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".arrow", ".feather", ".npz")
GATHERED_BYTES = 2**30


class PairsHere(NamedTuple):
    """Pairs that the client has, and the ids of both sides where they come from events."""

    pairs: Pairs
    ids: tuple[Ids, Ids] | None


class Cluster:
    """A ``distributed.Client`` and how to use it.

    Parameters
    ----------
    client : a ``distributed.Client``.
    shards : number of shards of either side, or a (left, right) pair; by the data where it is ``None``. It changes no
        bit of the result, but for weights of features.
    read : options of :func:`everypair.data.read_events`, for files and frames of events: columns, min_rating, …; for
        files of labelled rows those of :func:`everypair.data.read_multilabel`.
    gather : whether factors and pairs are brought to this process when training ends, so that the model is like any
        other; ``"auto"``: where they take less than 1 GiB.

    Examples
    --------
    ``OneClassMF().fit("events/", client=Cluster(Client("tcp://scheduler:8786"), shards=(64, 8)))``

    >>> Cluster(None, shards=(64, 8)).shards  # with a client in the place of None
    (64, 8)
    """

    def __init__(
        self,
        client: Any,
        *,
        shards: int | tuple[int | None, int | None] | None = None,
        read: Mapping[str, Any] | None = None,
        gather: bool | str = "auto",
    ) -> None:
        self.client = client
        both = shards if isinstance(shards, tuple | list) else (shards, shards)
        if len(both) != 2:
            raise ValueError(f"shards must be a number or a (left, right) pair, got {shards!r}.")
        left, right = (None if one is None else integer("shards", one) for one in both)
        self.shards = left, right
        self.read = dict(read or {})
        if gather not in (True, False, "auto"):
            raise ValueError(f'gather must be True, False or "auto", got {gather!r}.')
        self.gather = gather

    @classmethod
    def of(cls, client: Any) -> Cluster:
        """Accept a client as well as a cluster, or say what is needed."""
        try:
            from distributed import Client
        except ImportError as failure:
            raise ImportError("training on a cluster needs Dask: pip install everypair[cluster].") from failure
        cluster = client if isinstance(client, cls) else cls(client)
        if not isinstance(cluster.client, Client):
            raise TypeError(
                f"client must be a distributed.Client or a Cluster, got {type(cluster.client).__name__}: "
                'from distributed import Client; client = Client("tcp://…").'
            )
        if cluster.client.status != "running":
            raise ValueError(f"the client is {cluster.client.status}: connect a new one to the scheduler.")
        return cluster

    def tasks(self) -> Tasks:
        """Where tasks are submitted."""
        return Tasks(self.client)

    def read_here(self, source: Any, targets: Any, dtype: Any) -> PairsHere | None:
        """Pairs of a matrix, or of events, that this process has; ``None`` of files and frames that workers read."""
        if isinstance(source, str | os.PathLike) or hasattr(source, "to_delayed"):
            if targets is not None:
                raise ValueError("targets belong to a matrix of interactions: leave them out with files of events.")
            return None
        events = self._events(source)
        if events is None:
            return PairsHere(Pairs.from_matrix(source, targets, dtype), None)
        return PairsHere(Pairs.from_matrix(events.matrix, targets, dtype), (events.user_ids, events.item_ids))

    def read_there(self, tasks: Tasks, source: Any, dtype: Any) -> ShardedPairs:
        """Have workers read the pairs of a folder or file of events, or of a Dask data frame."""
        parts = self._frames(source) if hasattr(source, "to_delayed") else files_of(source)
        return pairs_from_events(tasks, parts, self.read, self.shards, dtype)

    def cut(self, tasks: Tasks, here: PairsHere) -> ShardedPairs:
        """Put pairs that are here on the workers."""
        pairs = pairs_from_matrix(tasks, here.pairs, self.shards)
        if here.ids is None:
            return pairs
        with large_tasks():
            users, items = (tasks.start([tasks.task("ids", as_it_is, ids.values)]) for ids in here.ids)
        return replace(pairs, id_runs=(users, items))

    def _events(self, source: Any) -> Events | None:
        """Events that are here; ``None`` for a matrix."""
        plain = isinstance(source, Events) or sp.issparse(source) or isinstance(source, np.ndarray)
        if plain and self.read:
            raise ValueError("read= are options for files and frames of events: leave them out here.")
        if plain or not self.read:
            events = as_events(source, "interactions", verbose=True)
            if events is None and not plain:
                raise TypeError(
                    "on a cluster interactions are a folder of Parquet or CSV files, a Dask data frame, events or a "
                    f"matrix, got {type(source).__name__}."
                )
            return events
        return read_events(source, **self.read)

    def _frames(self, frame: Any) -> list[Any]:
        """Futures of a Dask data frame's partitions."""
        futures: list[Any] = self.client.compute(frame.to_delayed())
        return futures


def files_of(source: Any, suffixes: tuple[str, ...] = SUFFIXES, kind: str = "Parquet or CSV") -> list[str]:
    """The files of a folder in the order of their names, or the one file; workers must see them under the same path.

    >>> files_of("no/such/folder")
    Traceback (most recent call last):
    ...
    FileNotFoundError: no/such/folder does not exist: give a folder of Parquet or CSV files that all workers see.
    """
    path = Path(source).absolute()  # workers have folders of their own
    if path.is_dir():
        names = sorted(one.name for one in path.iterdir() if one.is_file() and not one.name.startswith((".", "_")))
        files = [str(path / name) for name in names if name.endswith(suffixes)]
        if not files:
            raise ValueError(f"{path} has no files that end with {', '.join(suffixes)}.")
        return files
    if not path.exists():
        raise FileNotFoundError(f"{source} does not exist: give a folder of {kind} files that all workers see.")
    return [str(path)]
