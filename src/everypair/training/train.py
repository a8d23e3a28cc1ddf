"""The one training path of every estimator that iterates: kernels compiled and announced, then the loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from everypair.solvers.loop import Callback, Outcome, Solver, Status, StopRules, run
from everypair.solvers.state import State
from everypair.training.interruption import warn_interrupted
from everypair.training.progress import Progress

S = TypeVar("S", bound=State)
COMPILING = "compiling kernels, first run only …"
PATIENCE_SECONDS = 1.0  # loading compiled kernels from disk takes less


def train(
    solver: Solver[S],
    start: S,
    rules: StopRules,
    *,
    warm_up: Callable[[], object] | None = None,
    validate: Callable[[S], dict[str, float]] | None = None,
    monitor: str = "ndcg@10",
    callbacks: tuple[Callback, ...] = (),
    verbose: bool = False,
) -> Outcome[S]:
    """Run ``solver`` from ``start`` until a rule stops it, and show how it goes.

    ``warm_up`` takes the solver's steps on next to nothing, so that compilation is over (and announced) before the
    clock starts. ``validate`` measures a state after every sweep; ``monitor`` names the metric that ``patience``
    watches and the progress bar shows. A warm start is a ``start`` that was learnt before. Ctrl-C keeps the sweeps that
    are done and warns; before the first of them it raises ``KeyboardInterrupt``.
    """
    with Progress(rules.max_iter, verbose, monitor) as progress:
        if warm_up is not None:
            _announced(warm_up, progress)
        outcome = run(
            solver, start, rules, validate=validate, monitor=monitor, callbacks=(progress.advance, *callbacks)
        )
    if outcome.status is Status.INTERRUPTED:
        if not outcome.history:
            raise KeyboardInterrupt
        warn_interrupted(f"the model is what {len(outcome.history)} of {rules.max_iter} sweeps have learnt.")
    return outcome


def _announced(warm_up: Callable[[], object], progress: Progress) -> None:
    announcement = threading.Timer(PATIENCE_SECONDS, progress.say, [COMPILING])
    announcement.daemon = True
    announcement.start()
    try:
        warm_up()
    finally:
        announcement.cancel()
