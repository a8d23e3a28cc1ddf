"""One process that answers: an event loop on the socket that all workers share, until it is told to leave.

A worker takes one connection at a time, and waits a moment first where it has more of them than another worker: long
connections are spread evenly. Leaving loses nothing: it takes what has connected already, closes its own copy of the
socket, answers with "connection: close", and ends once nobody is connected. SIGTERM leaves quiet connections some
seconds to send what may be on its way, SIGINT does not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import numpy as np
from uvicorn.config import Config
from uvicorn.server import ServerState

from everypair.serve.connections import protocol_of
from everypair.serve.limits import CONNECTIONS, DRAIN_SECONDS, IDLE_SECONDS, QUIET_SECONDS
from everypair.serve.routes import asgi
from everypair.serve.service import Service

TURN = 0.005  # seconds that a worker with many connections leaves to the others
HURRY = 0.5  # seconds that a quiet connection has after SIGINT
GLANCE = 0.05  # seconds between two looks at what is left when leaving


class Worker:
    """A service at work; ``life`` can be read when the process that started it is gone."""

    def __init__(self, service: Service, sock: socket.socket, life: int | None = None) -> None:
        self.service, self.sock, self.life = service, sock, life
        self.state = ServerState()
        service.alone = lambda: len(self.state.tasks) == 1
        self.patience = QUIET_SECONDS  # how long a quiet connection may stay, once told to leave

    def run(self) -> None:
        """Answer until told to leave."""
        logging.getLogger("uvicorn.error").disabled = True  # what it says of strange requests is in the meters
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.told = asyncio.Event()
        protocol: Any = protocol_of(lambda status: self.service.meters.request("other", status, 0, 0.0))
        config = Config(
            asgi(self.service),
            http=protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=int(IDLE_SECONDS),
        )
        config.load()
        self.connect: Callable[[], Any] = lambda: protocol(config=config, server_state=self.state, app_state={})
        self.loop.add_signal_handler(signal.SIGTERM, self.leave, QUIET_SECONDS)
        self.loop.add_signal_handler(signal.SIGINT, self.leave, HURRY)
        if self.life is not None:
            self.loop.add_reader(self.life, self._orphaned)
        self._look_after()
        self.loop.add_reader(self.sock, self._accept)
        self.service.meters.begin()
        await self.told.wait()
        await self._drain()
        self.service.close()

    def leave(self, patience: float) -> None:
        """Take nothing more, and end when what is there is answered."""
        if not self.told.is_set():
            self.service.draining = True
            self.service.meters.connected(np.inf)
            self.loop.remove_reader(self.sock)
            self.told.set()
        self.patience = min(self.patience, patience)

    def _orphaned(self) -> None:
        assert self.life is not None
        self.loop.remove_reader(self.life)
        self.leave(QUIET_SECONDS)

    def _accept(self) -> None:
        """Somebody connects: at once, or after the workers that have fewer connections had their turn."""
        own = len(self.state.connections)
        if own >= CONNECTIONS or own > self.service.meters.least_connections():
            self.loop.remove_reader(self.sock)
            self.loop.call_later(TURN, self._accept_again)
        else:
            self._take()

    def _accept_again(self) -> None:
        if not self.told.is_set():
            if len(self.state.connections) < CONNECTIONS:
                self._take()
            self.loop.add_reader(self.sock, self._accept)

    def _take(self) -> bool:
        """Take one connection, if one waits."""
        try:
            connection, _ = self.sock.accept()
        except OSError:  # another worker was faster, whoever came has gone, or there are too many open files
            return False
        connection.setblocking(False)
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self.loop.create_task(self._adopt(connection))
        self.state.tasks.add(task)
        task.add_done_callback(self.state.tasks.discard)
        return True

    async def _adopt(self, connection: socket.socket) -> None:
        try:
            await self.loop.connect_accepted_socket(self.connect, connection)
        except OSError:
            connection.close()
        self._count()

    def _count(self) -> None:
        if not self.told.is_set():
            self.service.meters.connected(len(self.state.connections))

    def _look_after(self) -> None:
        """About every second: the date in headers, and an end for what takes too long."""
        self.state.default_headers = [(b"date", formatdate(time.time(), usegmt=True).encode())]
        now = self.loop.time()
        for connection in list(self.state.connections):
            connection.look_after(now)  # type: ignore[union-attr]
        self._count()
        self.loop.call_later(1.0, self._look_after)

    async def _drain(self) -> None:
        """See everybody off who has connected, to the last moment in which somebody could."""
        end = self.loop.time() + DRAIN_SECONDS
        await asyncio.sleep(0)  # the event loop lets go of the socket
        while self._take():
            pass
        os.close(self.sock.detach())
        while self.state.connections or self.state.tasks:
            now = self.loop.time()
            for connection in list(self.state.connections):
                if now > end:
                    connection.transport.abort()
                elif connection.is_idle and now - connection.touched > self.patience:  # type: ignore[union-attr]
                    connection.transport.close()
            if now > end + 1.0:
                return
            await asyncio.sleep(GLANCE)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def work(service: Service, sock: socket.socket, row: int, life: int) -> int:
    """The life of a worker process; what it counts goes into a row of the meters."""
    service.meters.use(row)
    Worker(service, sock, life).run()
    return 0
