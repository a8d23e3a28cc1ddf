"""Gradient descent on the exact gradient of every pair, with backtracking.

gd        s = −∇L                                                  (41)
gd-diag   M ← M + (∇L)²,   s = −∇L / √(μ + M)     AdaGrad's scaling  (51)
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.search import backtrack, first_length
from everypair.neural.optimizers.state import Evaluated, TowerState
from everypair.neural.trees import Both, inner, leafwise, zeros_like

SMALL = 1e-8  # μ
STEPS = 5  # of one sweep


class DescentMemory(TypedDict):
    """The last length, and AdaGrad's sums of squares where they scale."""

    length: float
    squares: Both | None


class GradientDescent(Evaluated[DescentMemory]):
    """Steps along the negative gradient, scaled by AdaGrad's diagonal if ``diagonal``."""

    descends = True

    def __init__(self, objective: TowerObjective, diagonal: bool = False, schedule: str = "last") -> None:
        super().__init__(objective)
        self.diagonal, self.schedule = diagonal, schedule

    def fresh(self, theta: Both) -> DescentMemory:
        """The last length and the sums of squares."""
        return {"length": 1.0, "squares": zeros_like(theta) if self.diagonal else None}

    def step(self, state: TowerState[DescentMemory]) -> TowerState[DescentMemory]:
        """Five steps."""
        for _ in range(STEPS):
            state = self._once(state)
        return state

    def _once(self, state: TowerState[DescentMemory]) -> TowerState[DescentMemory]:
        point, memory = self.at(state), state.memory
        gradient = self.objective.gradient(point)
        squares = memory["squares"]
        if squares is not None:
            squares, direction = adagrad(squares, gradient)
        else:
            direction = leafwise(np.negative, gradient)
        length = first_length(self.schedule, memory["length"], state.steps)
        length, point = backtrack(self.objective, point, direction, inner(gradient, direction), length)
        memory = {"length": length or memory["length"], "squares": squares}
        return self.moved(point, memory, state.steps + 1)


def adagrad(squares: Both, gradient: Both) -> tuple[Both, Both]:
    """The sums M with this gradient's squares, and the direction −∇L/√(μ + M).

    >>> adagrad(np.array([3.0]), np.array([1.0]))
    (array([4.]), array([-0.5]))
    """
    squares = leafwise(lambda M, g: M + g * g, squares, gradient)
    return squares, leafwise(lambda M, g: -g / np.sqrt(M.dtype.type(SMALL) + M), squares, gradient)
