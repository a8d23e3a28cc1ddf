"""FNNM: feature and nuclear norm minimisation (Yang, Li & Wang)."""

from __future__ import annotations

from everypair.models.completion.base import Data, Estimate
from everypair.models.completion.masked import MaskedModel, checked_step
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.feature_nuclear import FeatureNuclear, MaskedState
from everypair.solvers.completion.shrinkage import Shrinkage


class FNNM(MaskedModel):
    """Low rank plus side information at observed entries: λ1‖M‖_* + λ2‖N‖₁ + ½‖P_Ω(M + A N Cᵀ − Y)‖².

    The model to take where values are wanted: its loss has a mask. Without features N is absent.

    Parameters
    ----------
    nuclear_reg, l1_reg : λ1 and λ2, or ``"auto"``: chosen at held-out observed entries by a path with warm starts.
    low_rank_step, feature_step : μ1 and μ2, the lengths of the two steps; the paper has 0.1 for both, with orthonormal
        features. ``None``: 1 and 1/(‖AᵀA‖₂‖CᵀC‖₂), the longest for which each step is the best of its model.
    orthonormal, svd, max_iter, tol, patience, time_limit, n_threads, verbose : as in :class:`MLRM`.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.outer(np.arange(1.0, 7), np.arange(1.0, 6))
    >>> Y[1, 2] = Y[4, 0] = np.nan                       # 6 and 5 are unknown
    >>> model = FNNM(nuclear_reg=0.01, l1_reg=1.0, tol=1e-10, max_iter=5000).fit(Y)
    >>> model.predict([1, 4], [2, 0]).round(1).tolist()
    [6.0, 5.0]
    """

    def __init__(
        self,
        nuclear_reg: float | str = "auto",
        l1_reg: float | str = "auto",
        low_rank_step: float | None = None,
        feature_step: float | None = None,
        orthonormal: bool = False,
        svd: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-5,
        patience: int | None = None,
        time_limit: float | None = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.nuclear_reg = nuclear_reg
        self.l1_reg = l1_reg
        self.low_rank_step = low_rank_step
        self.feature_step = feature_step
        self.orthonormal = orthonormal
        self.svd = svd
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.verbose = verbose

    def _checked(self, data: Data) -> None:
        super()._checked(data)
        Shrinkage(self.svd)

    def _prepare(self, data: Data) -> MaskedProblem:
        problem = super()._prepare(data)
        self._steps(problem)
        return problem

    def _steps(self, problem: MaskedProblem) -> tuple[float, float]:
        longest = 1.0 if problem.side.absent else 1 / problem.side.curvature
        low_rank = 1.0 if self.low_rank_step is None else self.low_rank_step
        feature = longest if self.feature_step is None else self.feature_step
        hint = " for these features (scale them, or take orthonormal=True)"
        return checked_step("low_rank_step", low_rank, 2.0, ""), checked_step(
            "feature_step", feature, 2 * longest, hint
        )

    def _start(self, problem: MaskedProblem) -> MaskedState:
        return MaskedState.zero(problem)

    def _solver(self, problem: MaskedProblem, regularisation: dict[str, float]) -> FeatureNuclear:
        regs = regularisation["nuclear_reg"], regularisation["l1_reg"]
        return FeatureNuclear(problem, *regs, *self._steps(problem), Shrinkage(self.svd))

    def _estimate(self, problem: MaskedProblem, state: MaskedState) -> Estimate:
        return Estimate(state.low_rank, state.weights)
