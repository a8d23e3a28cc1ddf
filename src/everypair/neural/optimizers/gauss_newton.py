"""Gauss-Newton: G s = −∇L solved by conjugate gradients with products (40), then backtracking along s.

paper     CG from zero, unpreconditioned, until ‖r‖ ≤ 0.1 ‖∇L‖ or 30 steps (Algorithms 3 and 4)
ours      at most five steps, from 0.9 times the last direction, preconditioned by diag(v + λ)^¾ with v an average of
          squared gradients; δ starts from 1
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from everypair.neural.objective import Point, TowerObjective
from everypair.neural.optimizers.search import backtrack, first_length
from everypair.neural.optimizers.state import Evaluated, TowerState
from everypair.neural.trees import Both, inner, leafwise, plus, zeros_like

POWER = 0.75  # of the diagonal, as usual in Hessian-free optimisation
REMEMBERED = 0.9  # of the average of squared gradients


class Settings(NamedTuple):
    """Constants of the method: steps and tolerance of CG, share of the last direction to start from, schedule of δ."""

    steps: int = 5
    tol: float = 0.1
    warm: float = 0.9
    diagonal: bool = True
    schedule: str = "unit"


PAPER = Settings(steps=30, warm=0.0, diagonal=False, schedule="last")


class GaussNewton(Evaluated):
    """One Gauss-Newton step per sweep."""

    descends = True

    def __init__(self, objective: TowerObjective, settings: Settings = Settings()) -> None:  # noqa: B008
        super().__init__(objective)
        self.settings = settings

    def fresh(self, theta: Both) -> dict[str, Any]:
        """The last length and direction, and averages of squared gradients."""
        settings = self.settings
        return {
            "length": 1.0,
            "direction": zeros_like(theta) if settings.warm else (),
            "squares": zeros_like(theta) if settings.diagonal else (),
        }

    def step(self, state: TowerState) -> TowerState:
        """One step."""
        settings, point, memory = self.settings, self.at(state), state.memory
        gradient = self.objective.gradient(point)
        squares, scaling = memory["squares"], None
        if settings.diagonal:
            squares, scaling = self._scaling(squares, gradient)
        start = leafwise(lambda d: d.dtype.type(settings.warm) * d, memory["direction"]) if settings.warm else None
        direction = self._solve(point, gradient, scaling, start)
        slope = inner(gradient, direction)
        length = first_length(settings.schedule, memory["length"], state.steps)
        length, point = backtrack(self.objective, point, direction, slope, length)
        memory = {
            "length": length or memory["length"],
            "direction": direction if settings.warm else (),
            "squares": squares,
        }
        return self.moved(point, memory, state.steps + 1)

    def _scaling(self, squares: Both, gradient: Both) -> tuple[Both, Both]:
        squares = leafwise(
            lambda v, g: v.dtype.type(REMEMBERED) * v + v.dtype.type(1 - REMEMBERED) * g * g, squares, gradient
        )
        left, right = (
            leafwise(lambda v, reg=reg: (v + v.dtype.type(reg)) ** v.dtype.type(-POWER), part)
            for part, reg in zip(squares, self.objective.reg)
        )
        return squares, (left, right)

    def _solve(self, point: Point, gradient: Both, scaling: Both | None, start: Both | None) -> Both:
        """Conjugate gradients on G s = −∇L."""

        def scaled(residual: Both) -> Both:
            return residual if scaling is None else leafwise(np.multiply, scaling, residual)

        residual = leafwise(np.negative, gradient)
        first = inner(residual, scaled(residual))
        if start is None:
            step = zeros_like(gradient)
        else:
            step = start
            residual = plus(residual, -1.0, self.objective.product(point, step))
        preconditioned = scaled(residual)
        direction, size = preconditioned, inner(residual, preconditioned)
        for _ in range(self.settings.steps):
            if size <= self.settings.tol**2 * first or size == 0:
                break
            curved = self.objective.product(point, direction)
            length = size / inner(direction, curved)
            step = plus(step, length, direction)
            residual = plus(residual, -length, curved)
            preconditioned = scaled(residual)
            before, size = size, inner(residual, preconditioned)
            direction = plus(preconditioned, size / before, direction)
        return step
