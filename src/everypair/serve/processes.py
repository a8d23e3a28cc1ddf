"""Children of a process: forked, told to leave, noticed when they end, never left behind.

parent                      child
forks, holds a pipe open    sees the pipe end when the parent is gone, however it went
passes signals on           SIGTERM: leave when all is answered; SIGINT: leave as soon as nothing is under way
hears SIGCHLD               ends
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable
from types import FrameType

FORKS = hasattr(os, "fork")
HEARD = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGCHLD") if hasattr(signal, name))
STOPS = (signal.SIGTERM, signal.SIGINT)


class Parent:
    """The side of a process that has children; made before the first is forked."""

    def __init__(self) -> None:
        self.stop: signal.Signals | None = None
        self.life, self._held = os.pipe()  # children see the end of what is held here
        self._woken, self._wakes = os.pipe()
        for end in (self._woken, self._wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        for number in HEARD:
            signal.signal(number, self._hear)

    def fork(self, run: Callable[[int], int]) -> int:
        """Start a child that does ``run(life)``, where ``life`` ends with this process; its number is returned."""
        signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        pid = os.fork()
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
            return pid
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in HEARD:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
            for end in (self._held, self._woken, self._wakes):
                os.close(end)
            code = run(self.life)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def wait(self, seconds: float, *also: int) -> list[int]:
        """Sleep until a signal, until one of ``also`` can be read, or until the time is over; which can be read."""
        ready, _, _ = select.select([self._woken, *also], [], [], seconds)
        if self._woken in ready:
            os.read(self._woken, 4096)
        return [end for end in ready if end != self._woken]

    def ended(self) -> dict[int, int]:
        """Children that have ended since this was asked last, and their exit codes, negative for a signal."""
        found: dict[int, int] = {}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if not pid:
                return found
            found[pid] = os.waitstatus_to_exitcode(status)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if number in STOPS:
            self.stop = signal.Signals(number)


def tell(pid: int, number: int) -> None:
    """Send a signal to a child that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
