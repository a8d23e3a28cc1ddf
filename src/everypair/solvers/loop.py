"""The one loop that runs every solver: history, stop rules, best-so-far, callbacks, time and interruption."""

from __future__ import annotations

import enum
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from everypair import check
from everypair.solvers.state import Rounded, Solvable, State


class Status(enum.StrEnum):
    """Why training stopped: a sentence.

    >>> print(Status.CONVERGED, Status.CONVERGED == str(Status.CONVERGED))
    Converged: the objective's relative decrease fell below tol. True
    """

    CONVERGED = "Converged: the objective's relative decrease fell below tol."
    SOLVED = "Solved: the conditions of the optimum hold, exactly or to tol."
    MAX_ITER = "Stopped after max_iter sweeps; raise max_iter if the objective should fall further."
    NO_IMPROVEMENT = (
        "Stopped early: the validation metric did not improve for `patience` sweeps; the best sweep is kept."
    )
    TIME_LIMIT = "Stopped at the time limit; the model is as good as the sweeps that fitted into it."
    CALLBACK = "Stopped by a callback."
    INTERRUPTED = "Interrupted; the model is what the completed sweeps have learnt."
    ROSE = (
        "Stopped: the objective rose, which only rounding can do, and the sweep before is kept; raise reg or "
        'feature_reg or use dtype="float64" to go on.'
    )
    NOT_FINITE = (
        "Stopped: the objective is no longer finite and the last finite sweep is kept; rescale extreme weights, raise "
        'reg or use dtype="float64".'
    )


S = TypeVar("S", bound=State)


class Solver(Protocol[S]):
    """What the loop runs: ``step`` takes a state of the solver's own kind to the next one and reports F in it.

    A solver that keeps more from step to step than its state has is a :class:`Remembering` or a :class:`Volatile` one.
    """

    descends: bool  # F never rises but for rounding; a stochastic solver's may rise and fall again, and ``tol`` is moot

    def step(self, state: S) -> S:
        """One sweep."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """A solver that tells what it keeps besides its state, so that a later run can go on with the same bits."""

    def memory(self) -> Any:
        """What it keeps: containers, arrays and numbers."""
        ...

    def recall(self, memory: Any, state: Any) -> None:
        """Go on from such a memory, at the state that it was taken at."""
        ...


class Volatile:
    """Base of a solver that keeps more than its state has and cannot tell it: no checkpoint holds its training."""


@dataclass(frozen=True)
class Sweep:
    """What a callback sees after each sweep; returning ``True`` from the callback stops the training."""

    iteration: int
    objective: float
    seconds: float
    metrics: dict[str, float]
    state: Any = field(repr=False)


NEVER_FINITE = (
    "the objective is not finite from the first sweep on, so that nothing can be learnt: rescale extreme weights, "
    'targets or features, use dtype="float64" or, with a loss of your own, see that its value, slope and curvature are '
    "finite for every score."
)
ROUNDING = 1e-5  # relative rise of the objective that is taken for rounding
Callback = Callable[[Sweep], bool | None]


@dataclass(frozen=True)
class StopRules:
    """When to stop: sweeps, relative decrease, sweeps without a better validation metric, seconds of training."""

    max_iter: int
    tol: float
    patience: int | None = None
    time_limit: float | None = None

    @classmethod
    def checked(cls, max_iter: Any, tol: Any, patience: Any, time_limit: Any) -> StopRules:
        """Refuse rules that make no sense."""
        return cls(
            check.integer("max_iter", max_iter), check.tolerance("tol", tol), check.patience("patience", patience),
            check.seconds("time_limit", time_limit),
        )  # fmt: skip


@dataclass(frozen=True)
class Standing(Generic[S]):
    """Where the loop stands between two sweeps: from here it goes on as if it had never stopped."""

    state: S
    kept: S
    history: list[dict[str, Any]]
    best: float
    stale: int


@dataclass(frozen=True)
class Outcome(Generic[S]):
    """The state that is kept, one dict per sweep, and why the loop stopped."""

    state: S
    history: list[dict[str, Any]]
    status: Status


def checked_callbacks(callbacks: Iterable[Callback]) -> tuple[Callback, ...]:
    """Refuse callbacks that cannot be called."""
    if not isinstance(callbacks, Iterable):
        raise TypeError(f"callbacks must be a list of functions, got {callbacks!r:.60}: write callbacks=[f].")
    checked = tuple(callbacks)
    for callback in checked:
        if not callable(callback):
            raise TypeError(f"callbacks must be functions of a Sweep, got {callback!r}.")
    return checked


def _rose(before: float, now: float, state: State) -> bool:
    rounding = state.rounding if isinstance(state, Rounded) else 0.0
    return now > before + ROUNDING * abs(before) + rounding


def _arrived(state: State) -> bool:
    return isinstance(state, Solvable) and state.solved


def decrease(history: list[dict[str, Any]]) -> float:
    """Relative decrease of the objective in the last sweep."""
    before, now = history[-2]["objective"], history[-1]["objective"]
    return float((before - now) / abs(before)) if before else 0.0


def run(
    solver: Solver[S],
    state: S,
    rules: StopRules,
    *,
    validate: Callable[[S], dict[str, float]] | None = None,
    monitor: str = "ndcg@10",
    callbacks: Iterable[Callback] = (),
    resumed: Standing[S] | None = None,
    keep: Callable[[Standing[S]], None] | None = None,
) -> Outcome[S]:
    """Sweep until a rule stops; the state of the best ``monitor`` is kept with ``patience``, otherwise the last one.

    An objective that is not finite after the first sweep is refused: there is nothing to keep.
    ``history[t]["seconds"]`` is the cumulative time of the sweeps alone, without compilation, validation or callbacks.
    Ctrl-C ends the loop and drops the sweep under way; one that comes while another is handled is raised.
    ``keep`` is told where the loop stands after every sweep that no rule but ``max_iter`` made the last; ``resumed``,
    such a place, is where it goes on from instead of ``state``.
    """
    history: list[dict[str, Any]] = []
    kept, best, stale, seconds = state, -math.inf, 0, 0.0
    if resumed is not None:
        state, kept, history = resumed.state, resumed.kept, list(resumed.history)
        best, stale, seconds = resumed.best, resumed.stale, history[-1]["seconds"]
    callbacks = tuple(callbacks)
    status = Status.MAX_ITER
    try:
        for iteration in range(len(history) + 1, rules.max_iter + 1):
            start = time.perf_counter()
            state = solver.step(state)
            seconds += time.perf_counter() - start
            objective = state.objective
            if objective is None or not math.isfinite(objective):
                if not history:
                    raise ValueError(NEVER_FINITE)
                status = Status.NOT_FINITE
                break
            if solver.descends and history and _rose(history[-1]["objective"], objective, state):
                status = Status.ROSE
                break
            metrics = validate(state) if validate else {}
            entry = {"iteration": iteration, "objective": objective, "seconds": seconds, **metrics}
            history.append(entry)
            if rules.patience is None or not metrics or metrics[monitor] > best:
                kept, best, stale = state, metrics.get(monitor, best), 0
            else:
                stale += 1
            stops = [callback(Sweep(iteration, objective, seconds, metrics, state)) for callback in callbacks]
            if any(stops):
                status = Status.CALLBACK
                break
            if rules.patience is not None and metrics and stale >= rules.patience:
                status = Status.NO_IMPROVEMENT
                break
            if _arrived(state):
                status = Status.SOLVED
                break
            if solver.descends and len(history) > 1 and decrease(history) <= rules.tol:
                status = Status.CONVERGED
                break
            if rules.time_limit is not None and seconds >= rules.time_limit:
                status = Status.TIME_LIMIT
                break
            if keep is not None:
                keep(Standing(state, kept, history, best, stale))
    except KeyboardInterrupt as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            raise
        status = Status.INTERRUPTED
    return Outcome(kept, history, status)
