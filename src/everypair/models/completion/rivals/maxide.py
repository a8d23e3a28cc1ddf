"""Maxide: completion within the span of side information (Xu, Jin & Zhou)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from everypair.models.completion.masked import SpannedModel
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.maxide import AcceleratedWeights, WeightsState


class Maxide(SpannedModel):
    """Low-rank weights of features at observed entries: λ‖Z‖_* + ½‖P_Ω(A Z Cᵀ − Y)‖².

    Everything it says lies in the span of the features; ``side_weights_`` is Z.

    Parameters
    ----------
    nuclear_reg : λ, or ``"auto"``: chosen at held-out observed entries by a path with warm starts.
    orthonormal : as in :class:`MLRM`, but on by default: then ‖Z‖_* is the norm of the completed matrix.
    max_iter, tol, patience, time_limit, n_threads, verbose : as in :class:`MLRM`.

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

    def __init__(
        self,
        nuclear_reg: float | str = "auto",
        orthonormal: bool = True,
        max_iter: int = 500,
        tol: float = 1e-5,
        patience: int | None = None,
        time_limit: float | None = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.nuclear_reg = nuclear_reg
        self.orthonormal = orthonormal
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.verbose = verbose

    def _start(self, problem: MaskedProblem) -> WeightsState:
        return WeightsState(np.zeros(problem.side.weights_shape))

    def _solver(self, problem: MaskedProblem, regularisation: dict[str, float]) -> AcceleratedWeights:
        return AcceleratedWeights(problem, regularisation["nuclear_reg"])
