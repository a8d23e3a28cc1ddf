"""Maxide: completion within the span of side information (Xu, Jin & Zhou)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from everypair.models.completion.masked import SpannedModel
from everypair.models.completion.parameters import FeatureOptions, NuclearNorm
from everypair.models.completion.path import Regularisation
from everypair.models.parameters import estimator, parameter
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.maxide import AcceleratedWeights, WeightsState


@estimator
class Maxide(NuclearNorm, FeatureOptions, SpannedModel[WeightsState]):
    """Low-rank weights of features at observed entries: λ‖Z‖_* + ½‖P_Ω(A Z Cᵀ − Y)‖².

    Everything it says lies in the span of the features; ``side_weights_`` is Z. With ``orthonormal``, on by default,
    ‖Z‖_* is the norm of the completed matrix.

    Examples
    --------
    >>> import numpy as np
    >>> kinds = np.repeat(np.eye(2), 4, axis=0)
    >>> Y = kinds @ np.array([[3.0, 1.0], [0.0, 2.0]]) @ kinds.T
    >>> Y[0, 0] = Y[7, 1] = np.nan
    >>> model = Maxide(nuclear_reg=0.01).fit(Y, left_features=kinds, right_features=kinds)
    >>> model.predict([0, 7], [0, 1]).round(1).tolist()
    [3.0, 0.0]
    >>> model.complete(left_features=[[0.5, 0.5]])[0, [0, 7]].round(1).tolist()  # a new row, half of each kind
    [1.5, 1.5]
    """

    regularisers: ClassVar[tuple[str, ...]] = ("nuclear_reg",)

    orthonormal: bool = parameter(True)

    def _start(self, problem: MaskedProblem) -> WeightsState:
        return WeightsState(np.zeros(problem.side.weights_shape))

    def _solver(self, problem: MaskedProblem, regularisation: Regularisation) -> AcceleratedWeights:
        return AcceleratedWeights(problem, regularisation["nuclear_reg"])
