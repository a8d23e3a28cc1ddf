"""A service on generated data, started as people start it, and the numbers that it tells; for the scripts here."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
HEAD = "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"


class Service:
    """A service that runs; ``said`` is what it has said on standard error."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path) -> None:
        self.process, self._said = process, said
        end = time.monotonic() + 120
        while "Ctrl-C stops it" not in self.said:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(self.said)
            time.sleep(0.05)
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", self.said)[1])  # type: ignore[index]

    @property
    def said(self) -> str:
        return self._said.read_text()

    def metrics(self) -> dict[str, float]:
        """All counters."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def own_bytes(self) -> dict[int, int]:
        """Memory of each worker that it shares with nobody."""
        found = self.metrics()
        name = 'everypair_worker_own_bytes{pid="'
        return {int(key[len(name) : -2]): int(value) for key, value in found.items() if key.startswith(name)}

    def cpu_seconds(self) -> float:
        """CPU time of the workers so far, where the system tells."""
        ticks = 0
        for pid in self.own_bytes():
            with contextlib.suppress(OSError):
                ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(folder: Path, *arguments: Any) -> Iterator[Service]:
    """``everypair serve`` with these arguments, in a folder."""
    said = folder / f"said-{time.monotonic_ns()}.txt"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    call = [sys.executable, "-m", "everypair", "serve", *map(str, arguments), "--port", "0"]
    with said.open("wb") as file:
        process = subprocess.Popen(call, cwd=folder, stderr=file, env=environment)
    try:
        yield Service(process, said)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def events(users: int, items: int, each: int, seed: int = 0) -> dict[str, Any]:
    """A log of users who each have some of the items, the first ones more often."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(users), each)
    columns = (items * rng.random(len(rows)) ** 2).astype(int)
    pairs = np.unique(np.column_stack([rows, columns]), axis=0)
    return {"user": [f"u{row}" for row in pairs[:, 0]], "item": [f"item {column}" for column in pairs[:, 1]]}


async def answer_of(reader: asyncio.StreamReader, without_body: bool = False) -> tuple[int, bytes, bool]:
    """Status and body of an answer, and whether the connection stays open."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = re.search(rb"content-length: (\d+)", head)
    body = b"" if length is None or without_body else await reader.readexactly(int(length[1]))
    return status, body, b"connection: close" not in head


def asked(path: str, question: Any) -> bytes:
    """The bytes of a request."""
    body = json.dumps(question).encode()
    return HEAD.format(path=path, length=len(body)).encode() + body
