"""What a person sees while a search runs: how much of the budget is spent, and the best so far."""

from __future__ import annotations

import math
from types import TracebackType

from everypair.progress import Progress
from everypair.training.clock import Clock
from everypair.tuning.trial import Trial


class TuningProgress:
    """A count of trials, or of the seconds of a budget, on standard error if ``verbose``."""

    def __init__(self, trials: int | None, clock: Clock, metric: str, verbose: bool) -> None:
        self.clock, self.metric, self.by_trials = clock, metric, trials is not None
        total = math.ceil(clock.seconds) if trials is None else trials
        unit = "trials" if self.by_trials else "seconds"
        at_most = self.by_trials and not math.isinf(clock.seconds)
        self._note = ""
        self.progress = Progress(total, unit, not verbose, at_most=at_most, last_line=True)

    def __enter__(self) -> TuningProgress:
        self.progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.by_trials and self._note:
            self.progress.reach(self._spent(), self._note)
        self.progress.__exit__(kind, error, trace)

    def show(self, trials: list[Trial], leader: Trial, stage: str = "") -> None:
        """Show what is finished, and what comes after the search by its ``stage``."""
        best = f"best {self.metric} {leader.means.all:.4f} ± {leader.error:.4f} (trial {leader.number})"
        self._note = f"{best}; {stage}" if stage else best
        self.progress.reach(len(trials) - 1 if self.by_trials else self._spent(), self._note)

    def _spent(self) -> int:
        return round(self.clock.seconds - self.clock.left())
