"""How far a command has come: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """A count from 0 to ``total`` on standard error.

    >>> with Progress(3, "users", quiet=True) as progress:
    ...     progress.reach(3)
    """

    def __init__(self, total: int, unit: str, quiet: bool = False, at_most: bool = False) -> None:
        self.total, self.unit, self.quiet = total, unit, quiet
        self.at_most = at_most  # the end may come earlier
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        self._start = self._said = time.monotonic()
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
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
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task(self.unit, total=self.total, note="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def reach(self, done: int, note: str = "") -> None:
        """Say that so much is done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, note=note)
        elif not self.quiet and done < self.total and time.monotonic() - self._said >= SECONDS_BETWEEN_LINES:
            self._said = time.monotonic()
            print(self.line(done, self._said - self._start, note), file=sys.stderr, flush=True)

    def line(self, done: int, seconds: float, note: str = "") -> str:
        """What is said where there is no terminal.

        >>> Progress(1000, "users").line(250, 10.0)
        '250 of 1,000 users after 10 s, about 30 s left'
        """
        left = seconds / done * (self.total - done) if done else 0.0
        about = "at most" if self.at_most else "about"
        said = f"{done:,} of {self.total:,} {self.unit} after {seconds:.0f} s, {about} {left:.0f} s left"
        return f"{said}; {note}" if note else said

    def sweep(self, sweep: Any) -> None:
        """Show a finished sweep: a callback of the training loop."""
        self.reach(sweep.iteration, f"objective {sweep.objective:.6g}")
