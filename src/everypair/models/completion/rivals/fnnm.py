"""FNNM: feature and nuclear norm minimisation (Yang, Li & Wang)."""

from __future__ import annotations

from everypair import check
from everypair.models.completion.base import Decomposition
from everypair.models.completion.data import CompletionData
from everypair.models.completion.masked import MaskedModel
from everypair.models.completion.parameters import FeatureOptions, NuclearNorm, SingularValues, SparseWeights
from everypair.models.completion.path import Regularisation
from everypair.models.parameters import estimator, number, or_none, parameter
from everypair.problem.completion.masked import MaskedProblem
from everypair.solvers.completion.accelerated import AcceleratedNuclear
from everypair.solvers.completion.feature_nuclear import FeatureNuclear, MaskedState
from everypair.solvers.completion.shrinkage import Shrinkage


@estimator
class FNNM(NuclearNorm, SparseWeights, FeatureOptions, SingularValues, MaskedModel[MaskedState]):
    """Low rank plus side information at observed entries: λ1‖M‖_* + λ2‖N‖₁ + ½‖P_Ω(M + A N Cᵀ − Y)‖².

    The model to take where values are wanted: its loss has a mask. Without features N is absent.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.outer(np.arange(1.0, 7), np.arange(1.0, 6))
    >>> Y[1, 2] = Y[4, 0] = np.nan                       # 6 and 5 are unknown
    >>> model = FNNM(nuclear_reg=0.01, l1_reg=1.0, tol=1e-10, max_iter=5000).fit(Y)
    >>> model.predict([1, 4], [2, 0]).round(1).tolist()
    [6.0, 5.0]
    """

    low_rank_step: float | None = parameter(
        None,
        "μ1, the length of the steps of M; the paper has 0.1 for both, with orthonormal features. ``None``: 1, "
        "the longest for which each step is the best of its model.",
        or_none(number(above=0, below=2)),
    )
    feature_step: float | None = parameter(
        None,
        "μ2, the length of the steps of N. ``None``: 1/(‖AᵀA‖₂‖CᵀC‖₂), the longest likewise.",
        or_none(number(above=0)),
    )

    accelerate: bool = parameter(
        False,
        "steps of both blocks with momentum: the same minimum in fewer iterations. Where little is observed the plain "
        "steps of the paper, ended by ``max_iter`` or ``validation`` before the minimum, may complete better.",
        check.flag,
    )

    def _prepare(self, data: CompletionData) -> MaskedProblem:
        if self.accelerate and (self.low_rank_step, self.feature_step) != (None, None):
            raise ValueError("accelerate=True has steps of its own: leave out low_rank_step and feature_step.")
        problem = super()._prepare(data)
        limit = 2 * problem.side.longest_step
        if self.feature_step is not None and self.feature_step >= limit:
            raise ValueError(
                f"feature_step must be a number between 0 and {limit:.4g} for these features (scale them, or take "
                f"orthonormal=True), got {self.feature_step!r}."
            )
        return problem

    def _start(self, problem: MaskedProblem) -> MaskedState:
        return MaskedState.zero(problem)

    def _solver(self, problem: MaskedProblem, regularisation: Regularisation) -> FeatureNuclear | AcceleratedNuclear:
        if self.accelerate:
            return AcceleratedNuclear(
                problem, regularisation["nuclear_reg"], regularisation["l1_reg"], Shrinkage(self.svd)
            )
        low_rank_step = 1.0 if self.low_rank_step is None else float(self.low_rank_step)
        feature_step = problem.side.longest_step if self.feature_step is None else float(self.feature_step)
        return FeatureNuclear(
            problem, regularisation["nuclear_reg"], regularisation["l1_reg"], low_rank_step, feature_step,
            Shrinkage(self.svd),
        )  # fmt: skip

    def _decomposition(self, problem: MaskedProblem, state: MaskedState) -> Decomposition:
        return Decomposition(state.low_rank, state.weights)
