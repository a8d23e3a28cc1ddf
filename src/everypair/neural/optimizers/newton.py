"""The Newton method of the ESL paper, to the letter: Gauss-Newton steps by unpreconditioned conjugate gradients.

G s = −∇L from s = 0 until ‖r‖ ≤ 0.1 ‖∇L‖ or 30 steps (Algorithms 3 and 4), then backtracking along s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.conjugate_gradients import conjugate_gradients
from everypair.neural.optimizers.search import backtrack, first_length
from everypair.neural.optimizers.state import LastPoint, TowerState, evaluated
from everypair.neural.trees import Both, inner, leafwise

CG_STEPS, CG_TOL = 30, 0.1


@dataclass(frozen=True, kw_only=True)
class NewtonState(TowerState):
    """The last length besides."""

    length: float = 1.0


class PaperNewton:
    """One step per sweep; ``schedule`` is that of the first lengths."""

    descends = True

    def __init__(self, objective: TowerObjective, schedule: str = "last") -> None:
        self.objective, self.schedule, self.last = objective, schedule, LastPoint(objective)

    def fresh(self, theta: Both) -> NewtonState:
        """Before the first step."""
        return NewtonState(theta=theta)

    def step(self, state: NewtonState) -> NewtonState:
        """One step."""
        point = self.last.at(state.theta)
        gradient = self.objective.gradient(point)
        direction, _ = conjugate_gradients(
            lambda d: self.objective.product(point, d), lambda r: r, leafwise(np.negative, gradient), CG_STEPS, CG_TOL
        )
        length = first_length(self.schedule, state.length, state.steps)
        length, point = backtrack(self.objective, point, direction, inner(gradient, direction), length)
        return NewtonState(**evaluated(self.last.reached(point), state.steps + 1), length=length or state.length)
