"""Counters of a service, in memory that its processes share: a row of numbers for each, added up when somebody looks.

Every worker writes in its own row, so that nothing has to be locked; a row stays when its worker ends, and the next one
goes on counting in it. /metrics is Prometheus' text format.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

ROUTES = ("recommend", "similar", "score", "batch", "predict", "items", "model", "metrics", "page", "health", "other")
STATUSES = (200, 400, 401, 403, 404, 405, 408, 413, 415, 422, 431, 499, 500, 503)
VARIANTS = 2
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)
EVENTS = {
    "folded_in": "subjects that were folded in from items or features",
    "popular": "answers to users who are not known",
    "unknown_users": "questions about users who are not known, answered or not",
    "ignored_items": "items of requests that the model does not know",
    "questions": "questions inside batch requests",
    "restarts": "workers that ended without being told to, and were replaced",
    "reloads": "times that changed files were taken",
    "failed_reloads": "times that changed files could not be read, and the old ones stayed",
}
_N_REQUESTS = len(ROUTES) * len(STATUSES) * VARIANTS
_N_SECONDS = len(ROUTES) * (len(SECONDS) + 2)
_N_SIZES = len(SIZES) + 2
_WIDTH = _N_REQUESTS + _N_SECONDS + _N_SIZES + len(EVENTS) + 2


class Meters:
    """``rows`` rows; :meth:`use` chooses the one that this process writes in.

    >>> meters = Meters(2)
    >>> meters.use(1)
    >>> meters.request("recommend", 200, 0, 0.004)
    >>> int(meters.requests().sum()), meters.pids()
    (1, [])
    """

    def __init__(self, rows: int) -> None:
        self.all = np.frombuffer(mmap.mmap(-1, rows * _WIDTH * 8), np.float64).reshape(rows, _WIDTH)
        self.use(0)

    def use(self, row: int) -> None:
        """Write in a row from now on."""
        first = self.all[row]
        self._requests = first[:_N_REQUESTS].reshape(len(ROUTES), len(STATUSES), VARIANTS)
        self._seconds = first[_N_REQUESTS : _N_REQUESTS + _N_SECONDS].reshape(len(ROUTES), -1)
        self._sizes = first[_N_REQUESTS + _N_SECONDS :][:_N_SIZES]
        self._events = first[_N_REQUESTS + _N_SECONDS + _N_SIZES :][: len(EVENTS)]
        self._connections, self._pid = first[-2:-1], first[-1:]

    def begin(self) -> None:
        """This process is at work."""
        self._pid[0] = os.getpid()

    def end(self, row: int) -> None:
        """Nobody writes in a row any more."""
        self.all[row, -2:] = 0

    def connected(self, count: float) -> None:
        """This process has so many connections; infinitely many, if it takes no more."""
        self._connections[0] = count

    def least_connections(self) -> float:
        """How many the process at work has that has fewest."""
        return float(self.all[self.all[:, -1] > 0, -2].min(initial=np.inf))

    def request(self, route: str, status: int, variant: int, seconds: float) -> None:
        """Count a request."""
        place = ROUTES.index(route)
        self._requests[place, STATUSES.index(status) if status in STATUSES else 0, variant] += 1
        row = self._seconds[place]
        row[bisect_left(SECONDS, seconds)] += 1
        row[-1] += seconds

    def batch(self, size: int) -> None:
        """Count a batch."""
        self._sizes[bisect_left(SIZES, size)] += 1
        self._sizes[-1] += size

    def event(self, name: str, count: int = 1) -> None:
        """Count something else."""
        self._events[_PLACES[name]] += count

    def requests(self) -> Any:
        """Requests by route, status and variant, of all processes."""
        return self.all[:, :_N_REQUESTS].sum(axis=0).reshape(len(ROUTES), len(STATUSES), VARIANTS)

    def pids(self) -> list[int]:
        """The processes at work."""
        return [int(pid) for pid in self.all[:, -1] if pid]

    def text(self, variants: Sequence[dict[str, Any]], extra: Iterable[str] = ()) -> str:
        """All of it as Prometheus reads it; ``variants`` have a name, a version, a class and when they were loaded."""
        total = self.all.sum(axis=0)
        lines = _head("everypair_requests_total", "counter", "requests by route, status and variant of the model")
        requests = total[:_N_REQUESTS].reshape(len(ROUTES), len(STATUSES), VARIANTS)
        for route, status, variant in np.argwhere(requests).tolist():
            name = variants[variant]["name"] if variant < len(variants) else ""
            labels = _labels(route=ROUTES[route], status=STATUSES[status], variant=name)
            lines.append(f"everypair_requests_total{labels} {requests[route, status, variant]:.0f}")
        lines += _head("everypair_request_seconds", "histogram", "from the first byte of a request to its answer")
        for name, row in zip(ROUTES, total[_N_REQUESTS : _N_REQUESTS + _N_SECONDS].reshape(len(ROUTES), -1)):
            if row[:-1].any():
                lines += _histogram("everypair_request_seconds", SECONDS, row, {"route": name})
        lines += _head("everypair_batch_size", "histogram", "questions that were answered together")
        lines += _histogram("everypair_batch_size", SIZES, total[_N_REQUESTS + _N_SECONDS :][:_N_SIZES], {})
        for (name, words), count in zip(EVENTS.items(), total[_N_REQUESTS + _N_SECONDS + _N_SIZES :]):
            lines += [*_head(f"everypair_{name}_total", "counter", words), f"everypair_{name}_total {count:.0f}"]
        lines += _head("everypair_model_info", "gauge", "the models that are served")
        for one in variants:
            labels = _labels(variant=one["name"], version=one["version"], model=one["class"])
            lines.append(f"everypair_model_info{labels} 1")
        lines += _head("everypair_model_loaded_seconds", "gauge", "when a model was loaded, in seconds since 1970")
        lines += [
            f"everypair_model_loaded_seconds{_labels(variant=one['name'])} {one['loaded']:.3f}" for one in variants
        ]
        lines += _head("everypair_worker_own_bytes", "gauge", "memory of a worker that it shares with nobody")
        lines += [
            f"everypair_worker_own_bytes{_labels(pid=pid)} {own}" for pid in self.pids() if (own := own_bytes(pid))
        ]
        return "\n".join([*lines, *extra, ""])


_PLACES = {name: place for place, name in enumerate(EVENTS)}


def own_bytes(pid: int) -> int | None:
    """Memory of a process that no other has, neither by a file nor by a fork, where the system tells."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            lines = [line.split() for line in file]
    except OSError:
        return None
    return 1024 * sum(int(line[1]) for line in lines if line[0].startswith("Private_"))


def _head(name: str, kind: str, words: str) -> list[str]:
    return [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]


def _labels(**labels: Any) -> str:
    """Labels in braces.

    >>> _labels(route="a", variant='b"')
    '{route="a",variant="b\\\\""}'
    """
    if not labels:
        return ""
    shown = (str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for value in labels.values())
    return "{" + ",".join(f'{name}="{value}"' for name, value in zip(labels, shown)) + "}"


def _histogram(name: str, bounds: Sequence[float], row: Any, labels: dict[str, str]) -> list[str]:
    """A row of counts, one beyond the last bound, and the sum behind them."""
    counts = np.cumsum(row[:-1])
    lines = [f"{name}_bucket{_labels(**labels, le=f'{bound:g}')} {count:.0f}" for bound, count in zip(bounds, counts)]
    lines.append(f"{name}_bucket{_labels(**labels, le='+Inf')} {counts[-1]:.0f}")
    return [*lines, f"{name}_sum{_labels(**labels)} {row[-1]:.6g}", f"{name}_count{_labels(**labels)} {counts[-1]:.0f}"]
