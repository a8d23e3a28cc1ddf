"""What a person sees while a search runs: how much of the budget is spent, and the best so far."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from everypair.training.clock import Clock
from everypair.tuning.trial import Trial


class TuningProgress:
    """A bar over trials, or over seconds, on standard error if ``verbose``."""

    def __init__(self, trials: int | None, clock: Clock, metric: str, verbose: bool) -> None:
        self.trials, self.clock, self.metric, self.verbose = trials, clock, metric, verbose
        self._bar: Any = None

    def __enter__(self) -> TuningProgress:
        if self.verbose:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"), console=Console(stderr=True),
            )  # fmt: skip
            total = self.trials if self.trials is not None else self.clock.seconds
            self._task = self._bar.add_task("trials" if self.trials is not None else "seconds", total=total, note="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, trials: list[Trial], leader: Trial) -> None:
        """Show a finished trial."""
        if self._bar is not None:
            done = len(trials) - 1 if self.trials is not None else int(self.clock.seconds - self.clock.left())
            note = f"best {self.metric} {leader.means.all:.4f} ± {leader.error:.4f} (trial {leader.number})"
            self._bar.update(self._task, completed=done, note=note)
