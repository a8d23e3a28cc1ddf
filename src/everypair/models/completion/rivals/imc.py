"""IMC: inductive matrix completion with factored weights (Jain & Dhillon; Natarajan & Dhillon)."""

from __future__ import annotations

from typing import ClassVar

from everypair import check
from everypair.models.completion.masked import SpannedModel
from everypair.models.completion.parameters import AUTO, FeatureOptions
from everypair.models.completion.path import Regularisation
from everypair.models.parameters import estimator, number, or_auto, parameter
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.inductive import Inductive, InductiveState


@estimator
class IMC(FeatureOptions, SpannedModel[InductiveState]):
    """Weights of features of a given rank at observed entries: ½ Σ_Ω (a_iᵀ W Hᵀ c_j − y)² + ½ λ (‖W‖² + ‖H‖²).

    The ridge is λ times the nuclear norm of W Hᵀ at its best split, so with enough ``rank`` it is :class:`Maxide`, not
    convex but cheap. ``side_weights_`` is W Hᵀ.

    Examples
    --------
    >>> import numpy as np
    >>> kinds = np.repeat(np.eye(2), 4, axis=0)
    >>> Y = kinds @ np.array([[3.0, 1.0], [0.0, 2.0]]) @ kinds.T
    >>> Y[0, 0] = Y[7, 1] = np.nan
    >>> model = IMC(rank=2, reg=0.01).fit(Y, left_features=kinds, right_features=kinds)
    >>> np.abs(model.predict([0, 7], [0, 1]).round(1)).tolist()
    [3.0, 0.0]
    """

    regularisers: ClassVar[tuple[str, ...]] = ("reg",)

    rank: int = parameter(20, "k; the smaller number of features where that is less.", check.integer)
    reg: float | str = parameter("auto", f"λ, or {AUTO}.", or_auto(number(above=0)))
    max_iter: int = parameter(200)

    def _start(self, problem: MaskedProblem) -> InductiveState:
        return InductiveState.leading(problem, self.rank)

    def _solver(self, problem: MaskedProblem, regularisation: Regularisation) -> Inductive:
        return Inductive(problem, regularisation["reg"])
