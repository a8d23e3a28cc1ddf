"""FPCA: fixed-point continuation with approximate SVD (Ma, Goldfarb & Chen)."""

from __future__ import annotations

from typing import ClassVar

from everypair.models.completion.base import Data, Estimate
from everypair.models.completion.masked import MaskedModel, checked_step
from everypair.problem.completion.low_rank import LowRank
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.fixed_point import FixedPoint, FixedPointState
from everypair.solvers.completion.shrinkage import Shrinkage


class FPCA(MaskedModel):
    """Low rank at observed entries, no features: μ‖X‖_* + ½‖P_Ω(X − Y)‖², from a large μ down to ``nuclear_reg``.

    With ``step=1`` it is soft-impute. It stops where X moves by less than ``tol``, relative to its norm, at the last μ.

    Parameters
    ----------
    nuclear_reg : the last μ, or ``"auto"``: chosen at held-out observed entries.
    step : τ of the fixed-point steps, in (0, 2).
    continuation : η, the factor from one μ to the next, in (0, 1).
    svd, max_iter, tol, patience, time_limit, n_threads, verbose : as in :class:`MLRM`.

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

    def __init__(
        self,
        nuclear_reg: float | str = "auto",
        step: float = 1.0,
        continuation: float = 0.25,
        svd: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-4,
        patience: int | None = None,
        time_limit: float | None = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.nuclear_reg = nuclear_reg
        self.step = step
        self.continuation = continuation
        self.svd = svd
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.verbose = verbose

    def _checked(self, data: Data) -> None:
        Shrinkage(self.svd)
        checked_step("step", self.step, 2.0, "")
        checked_step("continuation", self.continuation, 1.0, "")

    def _start(self, problem: MaskedProblem) -> FixedPointState:
        return FixedPointState(LowRank.zero(problem.shape))

    def _solver(self, problem: MaskedProblem, regularisation: dict[str, float]) -> FixedPoint:
        reg = regularisation["nuclear_reg"]
        return FixedPoint(problem, reg, self.step, self.continuation, self.tol, Shrinkage(self.svd))

    def _estimate(self, problem: MaskedProblem, state: FixedPointState) -> Estimate:
        return Estimate(state.low_rank, None)
