"""What a person sees while a model trains: a progress bar, and a word when kernels are being compiled."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from everypair.solvers.loop import Sweep


class Progress:
    """A bar over sweeps on standard error if ``verbose``, with the objective and the monitored metric by its name."""

    def __init__(self, total: int, verbose: bool, monitor: str) -> None:
        self.total = total
        self.verbose = verbose
        self.monitor = monitor
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self.verbose:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("sweeps", total=self.total, note="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, sentence: str) -> None:
        """Print a sentence if somebody is watching."""
        if self._bar is not None:
            self._bar.console.print(sentence)
        elif sys.stderr.isatty():
            print(sentence, file=sys.stderr)

    def advance(self, sweep: Sweep) -> None:
        """Show a finished sweep: a callback of the training loop."""
        if self._bar is not None:
            metric = f"  {self.monitor} {sweep.metrics[self.monitor]:.4f}" if self.monitor in sweep.metrics else ""
            self._bar.update(self._task, completed=sweep.iteration, note=f"objective {sweep.objective:.6g}{metric}")
