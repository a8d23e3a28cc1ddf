"""A process that loads the files once and lets workers answer from them: what it holds, they share.

    load → check → warm up → freeze → fork a worker per core on the one socket; who dies is replaced

New files are read by a new generation beside the old one, so that nothing is left of the old one when it goes, and a
file that ends the process that reads it harms nobody.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import threadpoolctl

from everypair.serve.limits import DRAIN_SECONDS
from everypair.serve.loading import load_variant, warm_up
from everypair.serve.meters import Meters
from everypair.serve.processes import Parent, tell
from everypair.serve.request_log import RequestLog
from everypair.serve.service import Service, Variant
from everypair.serve.setup import Setup
from everypair.serve.sockets import BACKLOG
from everypair.serve.worker import work

REFUSED = 2  # exit code where the files cannot be served
AGAIN = 0.5  # seconds between two starts of the same worker, at least
MISTAKES = (ValueError, TypeError, OSError, ImportError, NotImplementedError, MemoryError)


def loaded(setup: Setup, meters: Meters) -> Service:
    """The service of the files, warm."""
    variants = [load_variant(one.path, setup.items, one.name, one.share) for one in setup.models]
    with threadpoolctl.threadpool_limits(1):
        for variant in variants:
            warm_up(variant.answers)
    return Service(variants, setup.gate, meters, RequestLog(setup.log, setup.log_users))


def report(place: int, **said: Any) -> None:
    """Tell the supervisor, in one line."""
    os.write(place, json.dumps(said).encode() + b"\n")


def generation(setup: Setup, sock: socket.socket, meters: Meters, rows: range, place: int, life: int) -> int:
    """The life of a generation; it writes in the first of its rows of the meters, its workers in the others."""
    try:
        service = loaded(setup, meters)
    except MISTAKES as failure:
        report(place, refused=str(failure) or type(failure).__name__)
        return REFUSED
    gc.collect()
    gc.freeze()
    threadpoolctl.threadpool_limits(1)
    sock.listen(BACKLOG)
    meters.use(rows[0])
    workers = Workers(lambda row, parent_life: work(service, sock, row, parent_life), meters, rows[1:])
    report(place, serves=[summary_of(variant) for variant in service.variants])
    os.close(place)
    workers.keep(life)
    sock.close()  # who connects while it is open waits for a worker: the last to close it is one that has looked
    workers.see_off()
    return 0


def summary_of(variant: Variant) -> dict[str, Any]:
    """What a person who has started it wants to see."""
    return {name: variant.card[name] for name in ("name", "class", "version", "size")} | {"share": variant.share}


class Workers:
    """Processes of one kind, one for each row of the meters, replaced when they end."""

    def __init__(self, run: Callable[[int, int], int], meters: Meters, rows: range) -> None:
        self.run, self.meters = run, meters
        self.parent = Parent()
        self.at_work: dict[int, int] = {}  # which process has a row
        self.started = dict.fromkeys(rows, 0.0)
        for row in rows:
            self._start(row)

    def keep(self, life: int) -> None:
        """Replace whoever ends until told to stop, or until the process behind ``life`` is gone."""
        while self.parent.stop is None:
            missing = set(self.started) - set(self.at_work.values())
            wait = min((self.started[row] + AGAIN - time.monotonic() for row in missing), default=60.0)
            if self.parent.wait(max(0.0, wait), life):
                self.parent.stop = signal.SIGTERM
            for row in self._reap():
                self.meters.event("restarts")
                missing.add(row)
            for row in missing if self.parent.stop is None else ():
                if time.monotonic() - self.started[row] >= AGAIN:
                    self._start(row)

    def _start(self, row: int) -> None:
        self.started[row] = time.monotonic()
        self.at_work[self.parent.fork(lambda life: self.run(row, life))] = row

    def _reap(self) -> list[int]:
        ended = [self.at_work.pop(pid) for pid in self.parent.ended() if pid in self.at_work]
        for row in ended:
            self.meters.end(row)
        return ended

    def see_off(self) -> None:
        """Tell everybody to leave, and wait until they have left."""
        end, said = time.monotonic() + DRAIN_SECONDS + 3.0, None
        while self.at_work:
            if said is not self.parent.stop:
                said = self.parent.stop
                for pid in self.at_work:
                    tell(pid, said or signal.SIGTERM)
            if time.monotonic() > end:
                for pid in self.at_work:
                    tell(pid, signal.SIGKILL)
            self.parent.wait(0.5)
            self._reap()
