"""Start a service and stay with it until it is told to stop."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable

from everypair.serve.generation import loaded, summary_of
from everypair.serve.meters import Meters
from everypair.serve.processes import FORKS
from everypair.serve.setup import Setup
from everypair.serve.sockets import BACKLOG, address_of
from everypair.serve.supervisor import Supervisor, words_of


def serve(setup: Setup, sock: socket.socket, say: Callable[[str], None]) -> None:
    """Serve at a socket that is bound; ``say`` takes sentences for people."""
    workers = f"{setup.workers} workers" if setup.workers > 1 else "1 worker"

    def ready(cards: list[dict[str, object]]) -> None:
        say(f"serving {words_of(cards)} at {address_of(sock)} with {workers}; Ctrl-C stops it.")

    if FORKS:
        Supervisor(setup, sock, say).run(ready)
    else:
        alone(setup, sock, ready)
    say("stopped.")


def check(setup: Setup, sock: socket.socket, say: Callable[[str], None]) -> None:
    """Do all that comes before the first answer, and end: kernels are compiled then, and files known to be good."""
    service = loaded(setup, Meters(1))
    say(f"{words_of([summary_of(variant) for variant in service.variants])} can be served.")


def alone(setup: Setup, sock: socket.socket, ready: Callable[[list[dict[str, object]]], None]) -> None:
    """Serve in this process, where a system knows no fork: one worker, the files as they are now."""
    import uvicorn

    from everypair.serve.routes import asgi

    service = loaded(setup, Meters(1))
    config = uvicorn.Config(asgi(service), ws="none", lifespan="off", log_config=None, access_log=False)
    sock.listen(BACKLOG)
    ready([summary_of(variant) for variant in service.variants])
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[sock])
    service.close()
