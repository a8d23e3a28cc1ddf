"""Seconds of single sweeps, by a callback that every library here can be given."""

from __future__ import annotations

import time
from typing import Any


class SweepClock:
    """CPU and wall seconds between two calls; the first call ends the set-up and the first sweep, and starts it."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.wall: list[float] = []
        self._before: tuple[float, float] | None = None

    def __call__(self, *_: Any) -> None:
        now = time.process_time(), time.perf_counter()
        if self._before is not None:
            self.cpu.append(now[0] - self._before[0])
            self.wall.append(now[1] - self._before[1])
        self._before = time.process_time(), time.perf_counter()
