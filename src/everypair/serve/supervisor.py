"""The process that people start and stop: it has the socket, starts generations, and watches the files.

    signals → the generation at work        changed files → a new generation beside it → switch, or keep the old one

It loads nothing itself, so that neither a file nor a request can harm it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everypair.serve.generation import AGAIN, generation
from everypair.serve.limits import DRAIN_SECONDS
from everypair.serve.meters import Meters
from everypair.serve.processes import Parent, tell
from everypair.serve.setup import Setup
from everypair.serve.sockets import take_no_more

GENERATIONS = 4  # at once: one at work, one that loads, and those that leave
GLANCE = 0.5  # seconds between two looks at the files
Stamp = tuple[Any, ...]


@dataclass
class Generation:
    """A generation as its parent sees it: which files it has read, where it reports, which meters it writes."""

    pid: int
    stamp: Stamp | None
    reports: int
    rows: range
    started: float
    said: bytes = b""


class Supervisor:
    """Serve until told to stop; ``say`` takes a sentence for people."""

    def __init__(self, setup: Setup, sock: socket.socket, say: Callable[[str], None]) -> None:
        self.setup, self.sock, self.say = setup, sock, say
        height = setup.workers + 1
        self.meters = Meters(1 + GENERATIONS * height)
        self.free = [range(1 + place * height, 1 + (place + 1) * height) for place in range(GENERATIONS)]
        self.all: dict[int, Generation] = {}
        self.at_work: Generation | None = None
        self.loading: Generation | None = None
        self.answered = False  # whether there ever was a generation at work
        self.tried: Stamp | None = None  # the files that were read last
        self.seen: Stamp | None = None  # the files as they were a moment ago
        self.next_try = 0.0

    def run(self, ready: Callable[[list[dict[str, Any]]], None]) -> None:
        """Serve; ``ready`` is told what is served once it is.

        Whatever is wrong with the files is a ``ValueError`` before that, and a sentence afterwards.
        """
        _allow_many_files()
        gc.collect()
        gc.freeze()
        self.ready = ready
        self.parent = Parent()
        self._start(stamp_of(self.setup.files))
        while self.parent.stop is None:
            reports = [] if self.loading is None else [self.loading.reports]
            for _ in self.parent.wait(GLANCE if self.setup.watch or self.at_work is None else 60.0, *reports):
                self._hear()
            for pid, code in self.parent.ended().items():
                self._ended(self.all.pop(pid), code)
            if self.parent.stop is None:
                self._look()
        self._see_off()

    def _look(self) -> None:
        """Read the files again where nothing answers, or where they have changed and change no more."""
        stamp = stamp_of(self.setup.files)
        still, self.seen = stamp == self.seen, stamp
        changed = self.setup.watch and still and stamp is not None and stamp != self.tried
        lost = self.at_work is None and time.monotonic() >= self.next_try
        if (changed or lost) and self.loading is None and self.free:
            self._start(stamp)

    def _start(self, stamp: Stamp | None) -> None:
        """Let a new generation read the files."""
        rows = self.free.pop(0)
        reads, writes = os.pipe()
        pid = self.parent.fork(lambda life: generation(self.setup, self.sock, self.meters, rows, writes, life))
        os.close(writes)
        self.tried = stamp
        self.next_try = time.monotonic() + AGAIN
        self.loading = self.all[pid] = Generation(pid, stamp, reads, rows, time.monotonic())

    def _hear(self) -> None:
        """What the generation that loads has to say: it serves, or why not."""
        one = self.loading
        assert one is not None
        piece = os.read(one.reports, 65536)
        one.said += piece
        if piece and not one.said.endswith(b"\n"):
            return
        os.close(one.reports)
        self.loading = None
        said = json.loads(one.said) if one.said.endswith(b"\n") else {}
        if "serves" in said:
            self._switch(one, said["serves"])
            return
        reason = said.get("refused", "the process that read the files ended.")
        if not self.answered:
            self._see_off()
            raise ValueError(reason)
        self.meters.event("failed_reloads")
        self.say(f"the files are not taken{', the old ones stay' if self.at_work else ''}: {reason}")

    def _switch(self, new: Generation, cards: list[dict[str, Any]]) -> None:
        old, self.at_work = self.at_work, new
        if old is not None:
            tell(old.pid, signal.SIGTERM)
        if not self.answered:
            self.answered = True
            self.ready(cards)
            return
        self.meters.event("reloads")
        self.say(f"now serving {words_of(cards)}, ready after {time.monotonic() - new.started:.1f} s.")

    def _ended(self, one: Generation, code: int) -> None:
        """A process of a generation has ended, told to or not."""
        if one is self.loading:
            self._hear()
        for row in one.rows:
            self.meters.end(row)
        self.free.append(one.rows)
        if one is self.at_work:
            self.at_work = None
            self.say(f"the process that holds the models ended ({code}); another is started.")

    def _see_off(self) -> None:
        """Tell everybody to leave, and wait until they have left."""
        take_no_more(self.sock)
        self.sock.close()
        end, said = time.monotonic() + DRAIN_SECONDS + 5.0, None
        while self.all:
            stop = self.parent.stop or signal.SIGTERM
            if said is not stop:
                said = stop
                for pid in self.all:
                    tell(pid, stop)
            if time.monotonic() > end:
                for pid in self.all:
                    tell(pid, signal.SIGKILL)
            self.parent.wait(0.5)
            for pid in self.parent.ended():
                self.all.pop(pid, None)


def stamp_of(files: Sequence[Path]) -> Stamp | None:
    """What tells one version of files from the next; None while one of them is not there."""
    try:
        found = [os.stat(path) for path in files]
    except OSError:
        return None
    return tuple((one.st_dev, one.st_ino, one.st_mtime_ns, one.st_size) for one in found)


def words_of(cards: Sequence[dict[str, Any]]) -> str:
    """What is served, for people.

    >>> words_of([{"name": "night", "class": "Blend", "version": "0a1b", "size": "3 × 2", "share": 1.0}])
    'night (Blend 0a1b, 3 × 2)'
    """
    parts = []
    for one in cards:
        share = f", {100 * one['share']:g} % of the users" if len(cards) > 1 else ""
        parts.append(f"{one['name']} ({one['class']} {one['version']}, {one['size']}{share})")
    return " and ".join(parts)


def _allow_many_files() -> None:
    """As many open connections as the system lets this process have."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
