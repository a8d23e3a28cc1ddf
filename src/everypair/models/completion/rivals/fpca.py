"""FPCA: fixed-point continuation with approximate SVD (Ma, Goldfarb & Chen)."""

from __future__ import annotations

from typing import ClassVar

from everypair import check
from everypair.models.completion.base import Decomposition
from everypair.models.completion.masked import MaskedModel
from everypair.models.completion.parameters import AUTO, NuclearNorm, SingularValues
from everypair.models.completion.path import Regularisation
from everypair.models.parameters import estimator, number, or_auto, parameter
from everypair.problem.completion.low_rank import LowRank
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.fixed_point import FixedPoint, FixedPointState
from everypair.solvers.completion.shrinkage import Shrinkage


@estimator
class FPCA(NuclearNorm, SingularValues, MaskedModel[FixedPointState]):
    """Low rank at observed entries, no features: μ‖X‖_* + ½‖P_Ω(X − Y)‖², from a large μ down to ``nuclear_reg``.

    With ``step=1`` it is soft-impute.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.outer(np.arange(1.0, 7), np.arange(1.0, 6))
    >>> Y[1, 2] = np.nan
    >>> float(FPCA(nuclear_reg=0.01, tol=1e-7).fit(Y).predict(1, 2)[0].round(1))
    6.0
    """

    regularisers: ClassVar[tuple[str, ...]] = ("nuclear_reg",)
    takes_features: ClassVar[bool] = False

    nuclear_reg: float | str = parameter("auto", f"the last μ, or {AUTO}.", or_auto(number(above=0)))
    step: float = parameter(1.0, "τ of the fixed-point steps, in (0, 2).", number(above=0, below=2))
    continuation: float = parameter(0.25, "η, the factor from one μ to the next, in (0, 1).", number(above=0, below=1))
    tol: float = parameter(
        1e-4, "stop where X moves by less than this share of its norm, at the last μ.", check.tolerance
    )

    def _start(self, problem: MaskedProblem) -> FixedPointState:
        return FixedPointState(LowRank.zero(problem.shape))

    def _solver(self, problem: MaskedProblem, regularisation: Regularisation) -> FixedPoint:
        reg = regularisation["nuclear_reg"]
        return FixedPoint(problem, reg, self.step, self.continuation, self.tol, Shrinkage(self.svd))

    def _decomposition(self, problem: MaskedProblem, state: FixedPointState) -> Decomposition:
        return Decomposition(state.low_rank, None)
