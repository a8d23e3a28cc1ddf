"""One candidate: fitted on the training part, measured after every sweep where it has sweeps.

A candidate stops where it is behind the leader at the same sweep by two of the leader's standard errors, where it has
not improved for a few sweeps, or where time is over. Its best sweep counts; after a warm start, whose first sweeps are
still somebody else's, its last one.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from everypair.data.events import Events
from everypair.metrics.per_row import rows_error
from everypair.models.recommend.attributes import FactorAttributes
from everypair.models.recommend.rivals.ensemble import EnsembleMF
from everypair.parallel import blocked_product
from everypair.solvers.loop import Sweep
from everypair.training.clock import Clock
from everypair.training.interruption import inner_fits, was_interrupted
from everypair.training.validation import SCORED_ROWS
from everypair.tuning.space import with_values
from everypair.tuning.users import HalvedUsers, Means
from everypair.types import Array

PATIENCE = 4  # sweeps without a better mean
FIRST_PRUNED = 3  # sweep from which on a candidate may be stopped for being behind
BEHIND = 2.0  # standard errors


@dataclass
class Trial:
    """What was tried and how it went; ``values`` and ``model`` are there while they are needed."""

    number: int
    parameters: dict[str, Any]
    state: str  # "complete", "pruned" or "failed"
    means: Means
    error: float
    gain: float = math.nan  # over the defaults, user by user,
    gain_error: float = math.nan  # and its standard error
    sweeps: int | None = None
    best_sweep: int | None = None
    seconds: float = 0.0
    problem: str = ""
    curve: list[float] = field(default_factory=list)
    bests: dict[str, Array] = field(default_factory=dict, repr=False)  # users' values at the best sweep by each mean
    final: Array | None = field(default=None, repr=False)  # and at the last one
    model: Any = field(default=None, repr=False)


class SweepWatch:
    """A callback that measures every sweep and says when to stop."""

    def __init__(self, users: HalvedUsers, leader: Trial | None, warm: bool, clock: Clock) -> None:
        self.users, self.leader, self.warm, self.clock = users, leader, warm, clock
        self.curve: list[float] = []
        self.bests: dict[str, tuple[float, int, Array]] = {}
        self.final: Array | None = None
        self.pruned = False

    def see(self, values: Array) -> None:
        """Note the users' values after one more sweep."""
        self.final = values
        means = self.users.means(values)
        self.curve.append(means.all)
        for name, reached in means._asdict().items():
            if self.warm or name not in self.bests or reached > self.bests[name][0]:
                self.bests[name] = (reached, len(self.curve), values)

    def __call__(self, sweep: Sweep) -> bool:
        """Measure a sweep; ``True`` stops the training."""
        left, right = sweep.state.left, sweep.state.right
        self.see(
            self.users.values(lambda rows: blocked_product(left[rows], right.T, SCORED_ROWS, self.users.n_threads))
        )
        best, at, _ = self.bests["all"]
        done = len(self.curve)
        if self.leader is not None:
            ahead = max(self.leader.curve[:done]) - BEHIND * self.leader.error
            self.pruned = done >= FIRST_PRUNED and best < ahead
            return self.pruned or done - at >= PATIENCE or self.clock.left() <= 0
        return self.clock.left() <= 0


def has_sweeps(model: Any) -> bool:
    """Whether a callback of ``model.fit`` sees the very factors that are kept."""
    takes = inspect.signature(model.fit).parameters
    return isinstance(model, FactorAttributes) and not isinstance(model, EnsembleMF) and "callbacks" in takes


def can_start_warm(model: Any) -> bool:
    """Whether ``fit`` takes a ``start``."""
    return "start" in inspect.signature(model.fit).parameters


def run_trial(
    number: int,
    model: Any,
    parameters: dict[str, Any],
    train: Any,
    users: HalvedUsers,
    clock: Clock,
    fit_arguments: dict[str, Any],
    *,
    leader: Trial | None = None,
    start: Any = None,
) -> Trial:
    """Fit a clone of ``model`` with ``parameters`` and measure it.

    Without a ``leader`` it runs to the end of its own stop rules. ``KeyboardInterrupt`` goes on to the caller; a
    ``ValueError`` of these parameters makes a failed trial.
    """
    begin = time.perf_counter()
    candidate = with_values(model, parameters)
    watch = SweepWatch(users, leader, start is not None, clock)
    options = dict(fit_arguments)
    if has_sweeps(model):
        options["callbacks"] = [watch]
    if start is not None:
        options["start"] = start
    try:
        with inner_fits():
            candidate.fit(train, **options)
    except ValueError as problem:
        nowhere = Means(*[math.nan] * 3)
        return Trial(number, parameters, "failed", nowhere, math.nan, problem=str(problem), seconds=_since(begin))
    if was_interrupted(candidate):
        raise KeyboardInterrupt
    if not has_sweeps(model):
        watch.see(users.values(_scorer(candidate, train)))
    _, best_sweep, values = watch.bests["all"]
    means = Means(*(watch.bests[name][0] for name in Means._fields))
    swept = has_sweeps(model)
    return Trial(
        number,
        parameters,
        "pruned" if watch.pruned else "complete",
        means,
        rows_error(values),
        sweeps=len(watch.curve) if swept else None,
        best_sweep=best_sweep if swept else None,
        seconds=_since(begin),
        curve=watch.curve,
        bests={name: watch.bests[name][2] for name in Means._fields},
        final=watch.final,
        model=candidate,
    )


def _scorer(model: Any, train: Any) -> Callable[[Array], Array]:
    """Scores of users by their positions, of a model that speaks the ids of ``train`` where it has some."""
    if isinstance(train, Events):
        return lambda users: np.asarray(model.score_users(users=train.user_ids.names(users)))
    return lambda users: np.asarray(model.score_users(users=users))


def _since(begin: float) -> float:
    return time.perf_counter() - begin
