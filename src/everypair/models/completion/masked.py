"""What models that count observed entries only have in common: their problem and its strongest regularisation."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from everypair.models.completion.base import CompletionModel, Decomposition
from everypair.models.completion.data import CompletionData
from everypair.models.completion.fitted import EVERY
from everypair.models.completion.levels import Levels
from everypair.models.completion.path import Iterate, Regularisation, WarmState
from everypair.models.completion.state import Completed
from everypair.models.parameters import estimator, one_of, or_none, parameter
from everypair.parallel import resolve_threads
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.centring import KINDS, Centring
from everypair.problem.completion.low_rank import LowRank, entries_of
from everypair.problem.completion.masked import MaskedProblem
from everypair.types import Array64


class WeightedState(WarmState, Protocol):
    """A state of weights of features alone."""

    @property
    def weights(self) -> Array64:
        """N."""
        ...


Weighted = TypeVar("Weighted", bound=WeightedState)


@estimator
class MaskedModel(CompletionModel[MaskedProblem, Iterate]):
    """Base of models of P_Ω(Y)."""

    offsets: str | None = parameter(
        None,
        '``"rows"``, ``"columns"`` or ``"both"``: each has a level of its own, which nothing penalises. Take '
        '``"both"`` for ratings and other values far from 0.',
        or_none(one_of(*KINDS)),
    )

    needs_features: ClassVar[bool] = False

    def _check(self, data: CompletionData) -> None:
        if self.needs_features and data.left is None and data.right is None:
            raise ValueError(
                f"{type(self).__name__} completes by features: give left_features, right_features or both "
                "(FPCA needs none)."
            )

    def _prepare(self, data: CompletionData) -> MaskedProblem:
        side = Bilinear(data.observed.shape, *data.matrices)
        centring = None if self.offsets is None else Centring(data.observed, self.offsets)
        return MaskedProblem(data.observed, side, resolve_threads(self.n_threads), centring)

    def _completed(self, problem: MaskedProblem, data: CompletionData, state: Iterate) -> Completed:
        """With the offsets that leave the least squares."""
        completed = super()._completed(problem, data, state)
        if problem.centring is None:
            return completed
        scores = entries_of(data.observed, *completed.score_factors(EVERY, EVERY), problem.n_threads)
        rows, columns = problem.centring.offsets(data.observed.values - scores)
        return replace(completed, offsets=Levels.of(data.observed, rows, columns))

    def _strongest(self, problem: MaskedProblem) -> Regularisation:
        nuclear, l1 = problem.strongest()
        return {"nuclear_reg": nuclear, "l1_reg": l1}


@estimator
class SpannedModel(MaskedModel[Weighted]):
    """Base of models of P_Ω(Y) by A Z Cᵀ alone, with one regulariser: what they say lies in the span of features."""

    needs_features: ClassVar[bool] = True

    def _decomposition(self, problem: MaskedProblem, state: Weighted) -> Decomposition:
        return Decomposition(LowRank.zero(problem.shape), state.weights)

    def _strongest(self, problem: MaskedProblem) -> Regularisation:
        """‖AᵀP_Ω(Y)C‖₂, from which on Z is zero."""
        (regulariser,) = self.regularisers
        return {regulariser: float(np.linalg.norm(problem.slope(problem.target), 2))}
