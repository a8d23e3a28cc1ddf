"""SIMC: sparse interactive model for matrix completion (Lu et al.)."""

from __future__ import annotations

from typing import ClassVar

from everypair.models.completion.base import Estimate
from everypair.models.completion.masked import MaskedModel
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.interactive import Interactive, InteractiveState


class SIMC(MaskedModel):
    """A low-rank M that equals Y where observed and that features explain: λ1‖M‖_* + λ2‖N‖₁ + ½‖A N Cᵀ − M‖².

    Solved by the alternating direction method until both residuals, relative to the norms, are below ``tol``. It keeps
    6 dense matrices of the size of Y. The completed matrix is M; N speaks for new entities.

    Parameters
    ----------
    nuclear_reg, l1_reg : λ1 and λ2, or ``"auto"``: chosen at held-out observed entries by a path with warm starts.
    orthonormal, max_iter, tol, patience, time_limit, n_threads, verbose : as in :class:`MLRM`.

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

    def __init__(
        self,
        nuclear_reg: float | str = "auto",
        l1_reg: float | str = "auto",
        orthonormal: bool = False,
        max_iter: int = 500,
        tol: float = 1e-4,
        patience: int | None = None,
        time_limit: float | None = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.nuclear_reg = nuclear_reg
        self.l1_reg = l1_reg
        self.orthonormal = orthonormal
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.verbose = verbose

    def _start(self, problem: MaskedProblem) -> InteractiveState:
        return InteractiveState.zero(problem)

    def _solver(self, problem: MaskedProblem, regularisation: dict[str, float]) -> Interactive:
        return Interactive(problem, regularisation["nuclear_reg"], regularisation["l1_reg"], self.tol)

    def _estimate(self, problem: MaskedProblem, state: InteractiveState) -> Estimate:
        return Estimate(state.low_rank, state.weights, adds=False)
