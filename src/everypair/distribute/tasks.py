"""Tasks on a Dask cluster: named for the dashboard, placed beside their shard, recovered by the scheduler.

A task prefers the worker of its shard and may run on any other, so that a lost worker's tasks, which the scheduler
runs again from the files on, find a place. Placement and number of workers change no bit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from everypair.distribute.settle import run_settled

log = logging.getLogger("everypair.distribute")
FIRST_WORKER = 10  # seconds
NO_WORKER = 60  # seconds without any, after which none is waited for
LOOK = 5  # seconds between two looks whether there is one


class LostWorker(RuntimeError):
    """A task was lost with its worker again and again, or no worker is left."""


@dataclass(frozen=True, eq=False)
class Planned:
    """A task that is not started yet: a function and its arguments, the worker that it prefers, and whether it lets
    others go first."""

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    place: str | None
    late: bool

    @property
    def annotations(self) -> dict[str, Any]:
        """What the scheduler has to know of it."""
        placed = {} if self.place is None else {"workers": [self.place], "allow_other_workers": True}
        return placed | ({"priority": -1} if self.late else {})


def _named(argument: Any, needed: list[Planned]) -> Any:
    """An argument with keys in the place of tasks, which are added to those that are needed."""
    if isinstance(argument, Planned):
        needed.append(argument)
        return argument.key
    if isinstance(argument, list):
        return [_named(part, needed) for part in argument]
    if type(argument) is tuple:
        return tuple(_named(part, needed) for part in argument)
    return argument


class Tasks:
    """Tasks for ``client``: made, started a whole graph at a time, waited for. Notices workers that come and go."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.workers = self._alive() or self._first_alive()
        self._load = dict.fromkeys(self.workers, 0)

    def place(self, work: Sequence[int]) -> list[str]:
        """Give shards of so much work to workers, the heaviest first, each to the one that has least."""
        places = [""] * len(work)
        for number in sorted(range(len(work)), key=lambda number: (-work[number], number)):
            place = min(self.workers, key=lambda worker: (self._load[worker], worker))
            places[number] = place
            self._load[place] += int(work[number])
        return places

    def task(
        self, name: str, function: Callable[..., Any], *arguments: Any, place: str | None = None, late: bool = False
    ) -> Planned:
        """A task that is not started yet; tasks and futures among its arguments are replaced by what they give."""
        return Planned(f"{name}-{uuid4().hex}", function, arguments, place, late)

    def start(self, tasks: Sequence[Any]) -> list[Any]:
        """Start tasks, all that they need in one graph, and return futures of their results, which stay there."""
        from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

        if not tasks:
            return []
        layers: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        seen, waiting = set(), list(tasks)
        while waiting:
            task = waiting.pop()
            if task.key not in seen:
                seen.add(task.key)
                arguments = [_named(argument, waiting) for argument in task.arguments]
                layer, _ = layers.setdefault(f"{task.place}-{task.late}-{tasks[0].key}", ({}, task.annotations))
                layer[task.key] = (run_settled, task.function, *arguments)
        graph = HighLevelGraph(
            {name: MaterializedLayer(*layer) for name, layer in layers.items()}, {name: set() for name in layers}
        )
        futures: list[Any] = self.client.get(graph, [task.key for task in tasks], sync=False)
        return futures

    def get(self, tasks: Sequence[Any]) -> list[Any]:
        """Run tasks and return their results, which are small."""
        return self.wait(self.start(tasks))

    def wait(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for futures and return their results."""
        from distributed import KilledWorker

        self._stay_while_there_are_workers(futures)
        try:
            return list(self.client.gather(list(futures)))
        except KilledWorker as failure:
            raise LostWorker(
                f"the worker {failure.last_worker.address} was lost while it ran {failure.task!r}, as others before: "
                "most often for want of memory. Give workers more of it, cut the data into more shards with "
                "Cluster(client, shards=…), or add workers."
            ) from failure

    def notice(self) -> None:
        """Say which workers have gone since the last look."""
        alive = self._alive()
        for worker in self.workers:
            if worker not in alive:
                log.warning("the worker %s is gone: what it held is computed again elsewhere.", worker)
        for worker in alive:
            self._load.setdefault(worker, 0)
        self.workers = alive

    def _first_alive(self) -> list[str]:
        """Wait for a worker that is on its way, as where the last one was lost a moment ago."""
        try:
            self.client.wait_for_workers(1, timeout=FIRST_WORKER)
        except TimeoutError:
            raise ValueError(
                f"the cluster has no workers, {FIRST_WORKER} seconds were waited for one: start some first."
            ) from None
        return self._alive()

    def _stay_while_there_are_workers(self, futures: Sequence[Any]) -> None:
        """Wait until the futures are done, or until no worker has been there for long: then nothing would ever be."""
        from distributed import CancelledError, wait

        alone = 0
        while alone < NO_WORKER:
            try:
                wait(list(futures), timeout=LOOK)
                return
            except TimeoutError:
                alone = 0 if self._alive() else alone + LOOK
            except CancelledError:  # gathering says why
                return
        raise LostWorker(
            f"the cluster has had no workers for {NO_WORKER} seconds: start some and fit again; with a ShardCheckpoint "
            "the training goes on from where it stood."
        )

    def _alive(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])
