"""A line of JSON for every request, and for what went wrong inside: ASCII, so that nothing of a request is unescaped.

{"time": "2026-01-31T12:00:00.123Z", "id": "…", "method": "POST", "route": "recommend", "status": 200, "ms": 0.9,
 "variant": "model", "n": 10, "how": "known"}
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any


class RequestLog:
    """Writes to a file, to standard output for ``-``, or faults alone, to standard error; a line is written at once.

    ``users`` says whether ids of users are written too.
    """

    def __init__(self, path: Path | None, users: bool = False) -> None:
        self.users = users
        self.place = None if path is None else 1 if str(path) == "-" else _opened(path)

    def request(
        self,
        request_id: str,
        method: str,
        route: str,
        status: int,
        seconds: float,
        variant: str,
        notes: dict[str, Any] | None,
        fault: BaseException | None,
    ) -> None:
        """Note a request, and the trace of a fault."""
        if fault is not None:
            trace = "".join(traceback.format_exception(fault))
            _write(sys.stderr.fileno(), {"time": _now(), "id": request_id, "route": route, "fault": trace})
        if self.place is None:
            return
        line = {"time": _now(), "id": request_id, "method": method, "route": route, "status": status}
        line |= {"ms": round(1000 * seconds, 3), "variant": variant}
        for name, value in (notes or {}).items():
            if value is not None and (name != "user" or self.users):
                line[name] = value
        _write(self.place, line)


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o640)


def _write(place: int, line: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # a full disk must not end the answers
        os.write(place, json.dumps(line).encode("ascii") + b"\n")


def _now() -> str:
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
