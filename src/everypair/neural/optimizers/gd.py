"""Gradient descent on the exact gradient of every pair, with backtracking.

gd        s = −∇L                                                  (41)
gd-diag   M ← M + (∇L)²,   s = −∇L / √(μ + M)     AdaGrad's scaling  (51)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.search import backtrack, first_length
from everypair.neural.optimizers.state import LastPoint, TowerState, evaluated
from everypair.neural.trees import Both, inner, leafwise, zeros_like

SMALL = 1e-8  # μ
STEPS = 5  # of one sweep


@dataclass(frozen=True, kw_only=True)
class DescentState(TowerState):
    """The last length, and AdaGrad's sums of squares where they scale, besides."""

    length: float = 1.0
    squares: Both | None


class GradientDescent:
    """Steps along the negative gradient, scaled by AdaGrad's diagonal if ``diagonal``."""

    descends = True

    def __init__(self, objective: TowerObjective, diagonal: bool = False, schedule: str = "last") -> None:
        self.objective, self.diagonal, self.schedule, self.last = objective, diagonal, schedule, LastPoint(objective)

    def fresh(self, theta: Both) -> DescentState:
        """Before the first step."""
        return DescentState(theta=theta, squares=zeros_like(theta) if self.diagonal else None)

    def step(self, state: DescentState) -> DescentState:
        """Five steps."""
        for _ in range(STEPS):
            state = self._once(state)
        return state

    def _once(self, state: DescentState) -> DescentState:
        point = self.last.at(state.theta)
        gradient, squares = self.objective.gradient(point), state.squares
        if squares is not None:
            squares, direction = adagrad(squares, gradient)
        else:
            direction = leafwise(np.negative, gradient)
        length = first_length(self.schedule, state.length, state.steps)
        length, point = backtrack(self.objective, point, direction, inner(gradient, direction), length)
        return DescentState(
            **evaluated(self.last.reached(point), state.steps + 1), length=length or state.length, squares=squares
        )


def adagrad(squares: Both, gradient: Both) -> tuple[Both, Both]:
    """The sums M with this gradient's squares, and the direction −∇L/√(μ + M).

    >>> adagrad(np.array([3.0]), np.array([1.0]))
    (array([4.]), array([-0.5]))
    """
    squares = leafwise(lambda M, g: M + g * g, squares, gradient)
    return squares, leafwise(lambda M, g: -g / np.sqrt(M.dtype.type(SMALL) + M), squares, gradient)
