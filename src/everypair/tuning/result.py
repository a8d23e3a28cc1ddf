"""What a search has found: the model, its parameters, a table of all trials, and whether the defaults are beaten."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from everypair.words import in_columns, in_digits

SHOWN_TRIALS = 20


@dataclass(frozen=True)
class Tuning:
    """The outcome of :func:`everypair.tune`; ``print`` shows the best trials and the verdict.

    ``model`` is fitted on everything, with ``parameters`` where they beat the defaults and as it was given where they
    do not. ``gain`` is what choosing gains on users it was not chosen on, with its ``standard_error``; ``best`` are
    the best parameters of the table, beaten or not. ``table`` has a dict per trial: ``"trial"``, ``"state"``, the
    parameters, the metric, its ``"standard_error"`` over users, ``"gain"`` over the defaults and
    ``"gain_standard_error"`` (both at the trial's best sweep, the luck of the choice included), ``"sweeps"``,
    ``"best_sweep"``, ``"seconds"`` and, where it failed, its ``"problem"``. ``history`` holds the metric after each
    sweep of the defaults and of the best. ``space`` says what was searched.

    >>> row = {"trial": 0, "state": "complete", "ndcg@10": 0.3, "problem": ""}
    >>> Tuning(None, {}, {}, "ndcg@10", 0.3, math.nan, math.nan, [row], {}).verdict
    'Nothing was tried but the defaults, ndcg@10 0.3000: give more budget.'
    """

    model: Any
    parameters: dict[str, Any]
    best: dict[str, Any]
    metric: str
    default: float
    gain: float
    standard_error: float
    table: list[dict[str, Any]]
    space: dict[str, Any]
    interrupted: bool = False
    history: dict[str, list[float]] = field(default_factory=dict, repr=False)

    @property
    def beats_default(self) -> bool:
        """Whether the gain over the defaults is more than its standard error."""
        return self.gain > self.standard_error

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.interrupted:
            return (
                f"Interrupted: {_as_arguments(self.best)} is the best so far, not checked on other users; the model "
                "is that trial's, without the held-out entries."
            )
        if math.isnan(self.gain) and len(self.table) > 1:
            problem = next((f": {row['problem'].rstrip('.')}" for row in self.table if row["problem"]), "")
            return (
                f"Nothing beats the defaults ({self.default:.4f}): none of {len(self.table) - 1} candidates came to "
                f"its end{problem}. The model has the defaults."
            )
        if math.isnan(self.gain):
            return f"Nothing was tried but the defaults, {self.metric} {self.default:.4f}: give more budget."
        size = f"{self.metric} {self.gain:+.4f} ± {self.standard_error:.4f} on users it was not chosen on"
        if self.beats_default:
            return f"{_as_arguments(self.parameters)} beats the defaults ({self.default:.4f}): {size}."
        return (
            f"Nothing beats the defaults ({self.default:.4f}) by more than its standard error: {size}. "
            "The model has the defaults."
        )

    def __str__(self) -> str:
        names = list(self.space)
        head = ["trial", *names, self.metric, "±", "gain", "±", "sweeps", "seconds", ""]
        ranked = sorted(self.table, key=lambda row: (math.isnan(row[self.metric]), -row[self.metric], row["trial"]))
        shown = [row for place, row in enumerate(ranked) if place < SHOWN_TRIALS or row["trial"] == 0]
        lines = [head]
        for row in shown:
            numbers = [row[self.metric], row["standard_error"], row["gain"], row["gain_standard_error"]]
            lines.append([
                str(row["trial"]), *(in_digits(row[name]) for name in names),
                *("" if math.isnan(number) else f"{number:.4f}" for number in numbers),
                "" if row["best_sweep"] is None else f"{row['best_sweep']}/{row['sweeps']}",
                f"{row['seconds']:.1f}", "" if row["state"] == "complete" else row["state"],
            ])  # fmt: skip
        rest = len(ranked) - len(shown)
        return f"{in_columns(lines)}\n{f'… {rest:,} more in the table.' if rest else ''}\n{self.verdict}"


def _as_arguments(parameters: dict[str, Any]) -> str:
    """Parameters as one would write them; the many digits of numbers are cut.

    >>> _as_arguments({"reg": 0.0123456, "weighting": ("degree", 0.25), "loss": "squared"})
    "reg=0.0123, weighting=('degree', 0.25), loss='squared'"
    """
    written = (
        f"{name}={in_digits(value) if isinstance(value, float) else repr(value)}" for name, value in parameters.items()
    )
    return ", ".join(written) or "the defaults"
