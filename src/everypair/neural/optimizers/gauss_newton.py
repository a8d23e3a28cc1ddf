"""Damped Gauss-Newton over every pair: (G + μI) s = −∇L by few preconditioned CG steps, then backtracking from 1.

The preconditioner is Kronecker-factored and made anew at every step: :mod:`~everypair.neural.optimizers.kronecker`.
μ is Levenberg and Marquardt's: doubled where L fell by less than a quarter of what its model ½⟨s, (G + μI)s⟩ + ⟨s, ∇L⟩
foretold, divided by 1.5 where by more than three quarters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from everypair import check
from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.conjugate_gradients import conjugate_gradients
from everypair.neural.optimizers.kronecker import preconditioner
from everypair.neural.optimizers.search import backtrack
from everypair.neural.optimizers.state import LastPoint, TowerState, evaluated
from everypair.neural.trees import Both, inner, leafwise, plus

LOW, HIGH = 0.25, 0.75  # of what was foretold
GROWTH, SHRINKAGE = 2.0, 1.5
LEAST, MOST = 1e-3, 1e8  # μ


@dataclass(frozen=True)
class GaussNewton:
    """Settings of ``optimizer="gauss-newton"``: CG steps and their tolerance, the first damping μ.

    >>> GaussNewton(cg_steps=8)
    GaussNewton(cg_steps=8, cg_tol=0.1, damping=1.0)
    """

    cg_steps: int = 5
    cg_tol: float = 0.1
    damping: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no number of steps or out of range."""
        check.integer("cg_steps", self.cg_steps)
        check.number("cg_tol", self.cg_tol, least=0, below=1)
        check.number("damping", self.damping, above=0)


@dataclass(frozen=True, kw_only=True)
class DampedState(TowerState):
    """The damping μ of the next step besides."""

    damping: float = 1.0


class DampedGaussNewton:
    """One step per sweep; random numbers depend on the seed and the step alone."""

    descends = True

    def __init__(self, objective: TowerObjective, settings: GaussNewton, seed: int = 0) -> None:
        self.objective, self.settings, self.seed, self.last = objective, settings, seed, LastPoint(objective)

    def fresh(self, theta: Both) -> DampedState:
        """Before the first step."""
        return DampedState(theta=theta, damping=self.settings.damping)

    def step(self, state: DampedState) -> DampedState:
        """One step."""
        objective, settings, damping = self.objective, self.settings, state.damping
        point = self.last.at(state.theta)
        gradient = objective.gradient(point)
        solve = preconditioner(objective, point, np.random.default_rng([self.seed, state.steps]))
        direction, left = conjugate_gradients(
            lambda d: plus(objective.product(point, d), damping, d),
            lambda r: solve(r, damping),
            leafwise(np.negative, gradient),
            settings.cg_steps,
            settings.cg_tol,
        )
        slope = inner(gradient, direction)
        foretold = 0.5 * (slope - inner(left, direction))
        length, reached = backtrack(objective, point, direction, slope, 1.0)
        fell = (reached.value - point.value) / foretold if length == 1 and foretold < 0 else 0.0
        if fell < LOW:
            damping *= GROWTH
        elif fell > HIGH:
            damping /= SHRINKAGE
        damping = min(max(damping, LEAST), MOST)
        return DampedState(**evaluated(self.last.reached(reached), state.steps + 1), damping=damping)
