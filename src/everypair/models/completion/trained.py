"""What completion models that learn in sweeps have in common: when they stop, what measures them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from everypair import check
from everypair.data.observed import Observed
from everypair.metrics.completion import entry_metrics
from everypair.models.completion.answering import Completion
from everypair.models.completion.fitted import FittedMatrix
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import Sweeping, estimator, parameter
from everypair.models.serve_only import TRAINING_ONLY
from everypair.solvers.loop import Outcome, Status

State = TypeVar("State")


@dataclass(frozen=True, kw_only=True)
class TrainedMatrix(FittedMatrix):
    """Base of fitted states that a training has led to."""

    history: list[dict[str, Any]] | None = field(default=None, metadata=TRAINING_ONLY)
    objective: float | None = None
    status: Status | None = None
    n_iter: int = 0

    def after(self, outcome: Outcome[Any]) -> Self:
        """The same with what the training says of itself."""
        return replace(
            self, history=outcome.history, objective=outcome.state.objective, status=outcome.status,
            n_iter=len(outcome.history),
        )  # fmt: skip


@estimator
class TrainedCompletion(Sweeping, Completion):
    """Base of completion models that learn in sweeps."""

    tol: float = parameter(1e-5, "stop when the objective changes by less than this share of itself.", check.tolerance)
    patience: int | None = parameter(
        None,
        'stop after so many sweeps without a better ``"auc"`` (two values) or ``"r2"`` at the entries of '
        "``validation``; the best one is kept.",
        check.patience,
    )

    history_ = FittedAttribute()
    objective_ = FittedAttribute()
    status_ = FittedAttribute()
    n_iter_ = FittedAttribute()


def measuring(
    held_out: Observed,
    levels: tuple[float, float] | None,
    fitted: Callable[[State], FittedMatrix],
    n_threads: int,
) -> Callable[[State], dict[str, float]]:
    """What measures a solver's state at held-out entries."""

    def measure(state: State) -> dict[str, float]:
        return entry_metrics(fitted(state).entries(held_out, n_threads), held_out.values, levels)

    return measure
