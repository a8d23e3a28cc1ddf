"""IMC: inductive matrix completion with factored weights (Jain & Dhillon; Natarajan & Dhillon)."""

from __future__ import annotations

from typing import ClassVar

from everypair.check import integer
from everypair.models.completion.base import Data
from everypair.models.completion.masked import SpannedModel
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.inductive import Inductive, InductiveState


class IMC(SpannedModel):
    """Weights of features of a given rank at observed entries: ½ Σ_Ω (a_iᵀ W Hᵀ c_j − y)² + ½ λ (‖W‖² + ‖H‖²).

    The ridge is λ times the nuclear norm of W Hᵀ at its best split, so with enough ``rank`` it is :class:`Maxide`, not
    convex but cheap. ``side_weights_`` is W Hᵀ.

    Parameters
    ----------
    rank : k; the smaller number of features where that is less.
    reg : λ, or ``"auto"``: chosen at held-out observed entries by a path with warm starts.
    orthonormal, max_iter, tol, patience, time_limit, n_threads, verbose : as in :class:`MLRM`.

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

    def __init__(
        self,
        rank: int = 20,
        reg: float | str = "auto",
        orthonormal: bool = False,
        max_iter: int = 200,
        tol: float = 1e-5,
        patience: int | None = None,
        time_limit: float | None = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.reg = reg
        self.orthonormal = orthonormal
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.verbose = verbose

    def _checked(self, data: Data) -> None:
        super()._checked(data)
        integer("rank", self.rank)

    def _start(self, problem: MaskedProblem) -> InductiveState:
        return InductiveState.leading(problem, self.rank)

    def _solver(self, problem: MaskedProblem, regularisation: dict[str, float]) -> Inductive:
        return Inductive(problem, regularisation["reg"])
