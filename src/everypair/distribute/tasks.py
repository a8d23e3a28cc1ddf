"""Tasks on a Dask cluster: named for the dashboard, placed beside their shard, recovered by the scheduler.

A task prefers the worker of its shard and may run on any other, so that a lost worker's tasks, which the scheduler
runs again from the files on, find a place. Placement and number of workers change no bit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

log = logging.getLogger("everypair.distribute")


class LostWorker(RuntimeError):
    """A task was lost with its worker again and again."""


class Tasks:
    """Submits tasks to ``client`` and waits for small results; notices workers that come and go."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.workers = self._alive()
        if not self.workers:
            raise ValueError("the cluster has no workers yet: start some, or call client.wait_for_workers(n) first.")
        self._load = dict.fromkeys(self.workers, 0)

    def place(self, work: Sequence[int]) -> list[str]:
        """Give shards of so much work to workers, the heaviest first, each to the one that has least."""
        places = [""] * len(work)
        for number in sorted(range(len(work)), key=lambda number: (-work[number], number)):
            place = min(self.workers, key=lambda worker: (self._load[worker], worker))
            places[number] = place
            self._load[place] += int(work[number])
        return places

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any, place: str | None = None) -> Any:
        """Run ``function`` on the cluster; futures among the arguments are replaced by what they hold there."""
        where = {} if place is None else {"workers": [place], "allow_other_workers": True}
        return self.client.submit(function, *arguments, key=f"{name}-{uuid4().hex}", **where)

    def get(self, futures: Any) -> Any:
        """Wait for small results and return them."""
        from distributed import KilledWorker

        try:
            return self.client.gather(futures)
        except KilledWorker as failure:
            raise LostWorker(
                f"the worker {failure.last_worker.address} was lost while it ran {failure.task!r}, as others before: "
                "most often for want of memory. Give workers more of it, cut the data into more shards with "
                "Cluster(client, shards=…), or add workers."
            ) from failure
        finally:
            self.notice()

    def notice(self) -> None:
        """Say which workers have gone since the last look."""
        alive = self._alive()
        for worker in self.workers:
            if worker not in alive:
                log.warning("the worker %s is gone: what it held is computed again elsewhere.", worker)
        for worker in alive:
            self._load.setdefault(worker, 0)
        self.workers = alive

    def _alive(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])
