"""How far long work has come: a bar with the time left on a terminal or in a notebook, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any

SECONDS_BETWEEN_LINES = 5.0
_listeners: ContextVar[tuple[Callable[[str], None], ...]] = ContextVar("listeners", default=())
_names: ContextVar[tuple[str, ...]] = ContextVar("names", default=())


def stage(sentence: str) -> None:
    """Say what long work does now, to whoever listens.

    >>> said = []
    >>> with listening(said.append), part_of("Blend"):
    ...     stage("weights")
    >>> said
    ['Blend: weights']
    """
    for listen in _listeners.get():
        listen(": ".join([*_names.get(), sentence]))


@contextmanager
def part_of(name: str) -> Iterator[None]:
    """What is said inside belongs to this."""
    token = _names.set((*_names.get(), name))
    try:
        yield
    finally:
        _names.reset(token)


@contextmanager
def listening(listen: Callable[[str], None]) -> Iterator[None]:
    """Be told what long work does."""
    token = _listeners.set((*_listeners.get(), listen))
    try:
        yield
    finally:
        _listeners.reset(token)


@contextmanager
def shown_stages(quiet: bool = False) -> Iterator[None]:
    """Show what long work does: in one line that changes on a terminal, in a line every few seconds elsewhere."""
    if quiet:
        yield
        return
    from rich.console import Console

    console = Console(stderr=True)
    begin = last = time.monotonic()
    if console.is_terminal or console.is_jupyter:
        with console.status("") as status, listening(status.update):
            yield
        return

    def say(sentence: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            print(f"{sentence}, after {now - begin:.0f} s", file=sys.stderr, flush=True)

    with listening(say):
        yield


class Progress:
    """A count from 0 to ``total`` on standard error, unless ``quiet``.

    ``at_most``: the end may come before ``total``. ``last_line``: where there is no bar, also say how it ended.

    >>> with Progress(3, "users", quiet=True) as progress:
    ...     progress.reach(3)
    """

    def __init__(
        self, total: float, unit: str, quiet: bool = False, *, at_most: bool = False, last_line: bool = False
    ) -> None:
        self.total, self.unit, self.quiet = total, unit, quiet
        self.at_most, self.last_line = at_most, last_line
        self._bar: Any = None
        self._task: Any = None
        self._last: tuple[float, str] = 0, ""

    def __enter__(self) -> Progress:
        self._start = self._last_line = time.monotonic()
        if not self.quiet:
            from rich.console import Console

            console = Console(stderr=True)
            if console.is_terminal or console.is_jupyter:
                self._draw(console)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self.last_line and not self.quiet and kind is None and self._last[0]:
            self._print(*self._last, ended=True)

    def reach(self, done: float, note: str = "") -> None:
        """Say that so much is done."""
        self._last = done, note
        if self._bar is not None:
            self._bar.update(self._task, completed=done, note=note)
        elif not self.quiet and done < self.total and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self._print(done, note)

    def say(self, sentence: str) -> None:
        """Print a sentence, above the bar where there is one."""
        if self._bar is not None:
            self._bar.console.print(sentence)
        elif not self.quiet or sys.stderr.isatty():
            print(sentence, file=sys.stderr, flush=True)

    def line(self, done: float, seconds: float, note: str = "", ended: bool = False) -> str:
        """What is said where there is no bar.

        >>> Progress(1000, "users").line(250, 10.0)
        '250 of 1,000 users after 10 s, about 30 s left'
        """
        line = f"{done:,} of {self.total:,} {self.unit} after {seconds:.0f} s"
        if not ended:
            left = seconds / done * (self.total - done) if done else 0.0
            line += f", {'at most' if self.at_most else 'about'} {left:.0f} s left"
        return f"{line}; {note}" if note else line

    def _print(self, done: float, note: str, ended: bool = False) -> None:
        print(self.line(done, time.monotonic() - self._start, note, ended), file=sys.stderr, flush=True)

    def _draw(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("at most" if self.at_most else "left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
        )
        self._task = self._bar.add_task(self.unit, total=self.total, note="")
        self._bar.start()
