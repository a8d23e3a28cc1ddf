"""Gauss-Newton: G s = −∇L solved by conjugate gradients with products (40), then backtracking along s.

paper     CG from zero, unpreconditioned, until ‖r‖ ≤ 0.1 ‖∇L‖ or 30 steps (Algorithms 3 and 4)
ours      at most five steps, from 0.9 times the last direction, preconditioned by diag(G); δ starts from 1

diag(G) is an average over the steps of z² + λ, where z = Jᵀ H^½ ε with random signs ε has E z² = diag(JᵀHJ): H is the
curvature in factor space, to which all pairs give VᵀQV = LLᵀ for every row, and a stored pair its c ℓ'':

    z = [⟨J_u, √P E_u Lᵀ + [ε √(c ℓ'')]_Ω V⟩;  the same for V]
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np

from everypair.neural.objective import TowerObjective, TowerPoint
from everypair.neural.optimizers.search import backtrack, first_length
from everypair.neural.optimizers.state import Evaluated, TowerState
from everypair.neural.trees import Both, inner, leafwise, plus, zeros_like

REMEMBERED = 0.9  # of the average of z²
FIRST_DRAWS = 10  # of z before the first step: one alone may be near zero where diag(G) is large
SMALL = 1e-8  # in place of a ridge of zero


class Settings(NamedTuple):
    """Constants of the method: steps and tolerance of CG, share of the last direction to start from, schedule of δ."""

    steps: int = 5
    tol: float = 0.1
    warm: float = 0.9
    diagonal: bool = True
    schedule: str = "unit"


PAPER = Settings(steps=30, warm=0.0, diagonal=False, schedule="last")


class NewtonMemory(TypedDict):
    """The last length, and, where they are used, the last direction and the average of z²."""

    length: float
    direction: Both | None
    squares: Both | None


class GaussNewton(Evaluated[NewtonMemory]):
    """One Gauss-Newton step per sweep; random numbers depend on the seed and the step alone."""

    descends = True

    def __init__(self, objective: TowerObjective, settings: Settings = Settings(), seed: int = 0) -> None:  # noqa: B008
        super().__init__(objective)
        self.settings, self.seed = settings, seed

    def fresh(self, theta: Both) -> NewtonMemory:
        """The last length and direction, and the average of z²."""
        settings = self.settings
        return {
            "length": 1.0,
            "direction": zeros_like(theta) if settings.warm else None,
            "squares": zeros_like(theta) if settings.diagonal else None,
        }

    def step(self, state: TowerState[NewtonMemory]) -> TowerState[NewtonMemory]:
        """One step."""
        settings, point, memory = self.settings, self.at(state), state.memory
        gradient = self.objective.gradient(point)
        squares, last, scaling = memory["squares"], memory["direction"], None
        if squares is not None:
            squares, scaling = self._scaling(squares, point, state.steps)
        start = None if last is None else leafwise(lambda d: d.dtype.type(settings.warm) * d, last)
        direction = self._solve(point, gradient, scaling, start)
        slope = inner(gradient, direction)
        length = first_length(settings.schedule, memory["length"], state.steps)
        length, point = backtrack(self.objective, point, direction, slope, length)
        memory = {
            "length": length or memory["length"],
            "direction": direction if settings.warm else None,
            "squares": squares,
        }
        return self.moved(point, memory, state.steps + 1)

    def _scaling(self, squares: Both, point: TowerPoint, steps: int) -> tuple[Both, Both]:
        """The average of z² with this step's, and 1/diag(G)."""
        random, draws = np.random.default_rng([self.seed, steps]), 1 if steps else FIRST_DRAWS
        for number in range(draws):
            share = 1 - REMEMBERED if steps else 1 / (number + 1)
            root = self.objective.curvature_root(point, random)
            squares = leafwise(
                lambda v, z, share=share: v.dtype.type(1 - share) * v + v.dtype.type(share) * z * z, squares, root
            )
        left, right = (
            leafwise(lambda v, reg=reg: 1 / (v + v.dtype.type(reg or SMALL)), part)
            for part, reg in zip(squares, self.objective.reg)
        )
        return squares, (left, right)

    def _solve(self, point: TowerPoint, gradient: Both, scaling: Both | None, start: Both | None) -> Both:
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
