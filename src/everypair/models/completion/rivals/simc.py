"""SIMC: sparse interactive model for matrix completion (Lu et al.)."""

from __future__ import annotations

from typing import ClassVar

from everypair import check
from everypair.models.completion.base import Decomposition
from everypair.models.completion.masked import MaskedModel
from everypair.models.completion.parameters import FeatureOptions, NuclearNorm, SparseWeights
from everypair.models.completion.path import Regularisation
from everypair.models.parameters import estimator, parameter
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.interactive import Interactive, InteractiveState


@estimator
class SIMC(NuclearNorm, SparseWeights, FeatureOptions, MaskedModel[InteractiveState]):
    """A low-rank M that equals Y where observed and that features explain: λ1‖M‖_* + λ2‖N‖₁ + ½‖A N Cᵀ − M‖².

    Solved by the alternating direction method. It keeps 6 dense matrices of the size of Y. The completed matrix is M; N
    speaks for new entities.

    Examples
    --------
    >>> import numpy as np
    >>> kinds = np.repeat(np.eye(2), 4, axis=0)          # two kinds of rows and of columns
    >>> Y = kinds @ np.array([[3.0, 1.0], [0.0, 2.0]]) @ kinds.T
    >>> Y[0, 0] = Y[7, 1] = np.nan
    >>> model = SIMC(nuclear_reg=0.01, l1_reg=0.01).fit(Y, left_features=kinds, right_features=kinds)
    >>> model.predict([0, 7], [0, 1]).round(1).tolist()
    [3.0, 0.0]
    """

    needs_features: ClassVar[bool] = True

    tol: float = parameter(1e-4, "stop when both residuals are below this share of the norms.", check.tolerance)

    def _start(self, problem: MaskedProblem) -> InteractiveState:
        return InteractiveState.zero(problem)

    def _solver(self, problem: MaskedProblem, regularisation: Regularisation) -> Interactive:
        return Interactive(problem, regularisation["nuclear_reg"], regularisation["l1_reg"], self.tol)

    def _decomposition(self, problem: MaskedProblem, state: InteractiveState) -> Decomposition:
        return Decomposition(state.low_rank, state.weights, adds=False)
