"""Maxide (Xu, Jin & Zhou): the nuclear norm of the weights of side information, by accelerated proximal gradient.

    min λ‖Z‖_* + ½‖P_Ω(A Z Cᵀ − Y)‖²:      Z ← D_{λ/L}(Z − AᵀP_Ω(A Z Cᵀ − Y)C / L),   L = ‖AᵀA‖₂‖CᵀC‖₂

with Nesterov's momentum, restarted where F would rise. With orthonormal features ‖Z‖_* is that of A Z Cᵀ. A step costs
one decomposition of the a × c matrix and O(|Ω| min(a, c)).
"""

from __future__ import annotations

from dataclasses import dataclass

from everypair.parallel import single_threaded_blas
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.nesterov import next_momentum, rises
from everypair.solvers.completion.proximal import shrink_exact
from everypair.types import Array64


@dataclass(frozen=True)
class WeightsState:
    """Z, F there, and what momentum remembers."""

    weights: Array64
    objective: float | None = None
    before: Array64 | None = None
    momentum: float = 1.0

    def fresh(self) -> WeightsState:
        """The same place as a start."""
        return WeightsState(self.weights)


class AcceleratedWeights:
    """Proximal gradient steps on Z with momentum."""

    descends = True

    def __init__(self, problem: MaskedProblem, nuclear_reg: float) -> None:
        self.problem, self.nuclear_reg = problem, nuclear_reg

    def step(self, state: WeightsState) -> WeightsState:
        """One step; a plain one where momentum would raise F."""
        with single_threaded_blas():
            moved = self._step(state, True)
            if rises(state.objective, moved.objective):
                moved = self._step(state, False)
            return moved

    def _step(self, state: WeightsState, accelerate: bool) -> WeightsState:
        Z, momentum = state.weights, 1.0
        # ahead of Z by the momentum
        ahead = Z
        if accelerate and state.before is not None:
            momentum, push = next_momentum(state.momentum)
            ahead = Z + push * (Z - state.before)
        # gradient step and shrinkage from there
        length = self.problem.side.curvature
        slope = self.problem.slope(self.problem.residual(None, ahead))
        shrunk = shrink_exact(ahead - slope / length, self.nuclear_reg / length)
        weights = shrunk.dense()
        # F
        residual = self.problem.residual(None, weights)
        value = self.nuclear_reg * shrunk.nuclear_norm + 0.5 * float(residual @ residual)
        return WeightsState(weights, value, Z, momentum)
