"""Backtracking: the length δ of a step is halved until L(θ + δs) ≤ L(θ) + η δ ⟨s, ∇L⟩, η = 10⁻⁴ (43).

Two schedules of the first length: ``"unit"`` is 1 each time, ``"last"`` the last accepted one, doubled every fifth
step.
"""

from __future__ import annotations

from everypair.neural.objective import TowerObjective, TowerPoint
from everypair.neural.trees import Both, plus

SUFFICIENT = 1e-4
TRIALS = 45  # gradient descent from δ = 1 ends near 2⁻²⁵
DOUBLED = 5


def first_length(schedule: str, last: float, steps: int) -> float:
    """δ to begin with at step number ``steps``, counted from 0.

    >>> first_length("last", 0.25, 4), first_length("last", 0.25, 5), first_length("unit", 0.25, 5)
    (0.25, 0.5, 1.0)
    """
    if schedule == "unit":
        return 1.0
    return 2 * last if steps and steps % DOUBLED == 0 else last


def backtrack(
    objective: TowerObjective, point: TowerPoint, direction: Both, slope: float, length: float
) -> tuple[float, TowerPoint]:
    """The accepted length and the point there; (0, the same point) where no length decreases L."""
    if slope < 0:
        for _ in range(TRIALS):
            trial = objective.at(plus(point.theta, length, direction))
            if trial.value <= point.value + SUFFICIENT * length * slope:
                return length, trial
            length *= 0.5
    return 0.0, point
