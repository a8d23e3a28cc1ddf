"""Load on a service: so many connections, each of which asks again as soon as it is answered."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

HEAD = "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"


def request(path: str, question: Any) -> bytes:
    """The bytes of a request."""
    body = json.dumps(question).encode()
    return HEAD.format(path=path, length=len(body)).encode() + body


class Client(asyncio.Protocol):
    """One connection; ``over`` is done when it has had its last answer."""

    def __init__(self, requests: Sequence[bytes], first: int, end: float, over: asyncio.Future[None]) -> None:
        self.requests, self.next, self.end, self.over = requests, first, end, over
        self.seconds: list[float] = []
        self.failed = 0
        self.got = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.next += 1
        self.start = time.perf_counter()
        self.transport.write(self.requests[self.next % len(self.requests)])

    def data_received(self, data: bytes) -> None:
        self.got += data
        head, found, body = self.got.partition(b"\r\n\r\n")
        if not found:
            return
        at = head.index(b"content-length: ") + 16
        if len(body) < int(head[at:].partition(b"\r")[0]):
            return
        now = time.perf_counter()
        self.seconds.append(now - self.start)
        self.failed += not self.got.startswith(b"HTTP/1.1 200")
        self.got = b""
        if now < self.end:
            self.ask()
        else:
            self.transport.close()

    def connection_lost(self, failure: Any) -> None:
        if not self.over.done():
            self.over.set_result(None)


def load(port: int, requests: Sequence[bytes], connections: int, seconds: float) -> dict[str, float]:
    """Ask for so many seconds: answers a second, milliseconds of an answer, how many were none."""

    async def run() -> list[Client]:
        loop = asyncio.get_running_loop()
        end = time.perf_counter() + seconds
        clients = []
        for number in range(connections):
            client = Client(requests, number * len(requests) // connections, end, loop.create_future())
            await loop.create_connection(lambda client=client: client, "127.0.0.1", port)
            clients.append(client)
        await asyncio.gather(*(client.over for client in clients))
        return clients

    start = time.perf_counter()
    clients = asyncio.run(run())
    spent = time.perf_counter() - start
    taken = np.concatenate([client.seconds for client in clients])
    return {
        "requests": len(taken),
        "per_second": len(taken) / spent,
        "p50_ms": 1000 * float(np.quantile(taken, 0.5)),
        "p99_ms": 1000 * float(np.quantile(taken, 0.99)),
        "failed": sum(client.failed for client in clients),
    }
