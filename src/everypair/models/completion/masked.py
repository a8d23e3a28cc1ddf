"""What models that count observed entries only have in common: their problem and its strongest regularisation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from everypair.check import is_number
from everypair.models.completion.base import CompletionModel, Data, Estimate
from everypair.parallel import resolve_threads
from everypair.problem.completion.bilinear import Bilinear
from everypair.problem.completion.low_rank import LowRank
from everypair.problem.completion.masked import MaskedProblem


class MaskedModel(CompletionModel):
    """Base of models of P_Ω(Y)."""

    needs_features: ClassVar[bool] = False

    def _checked(self, data: Data) -> None:
        if self.needs_features and data.left is None and data.right is None:
            raise ValueError(
                f"{type(self).__name__} completes by features: give left_features, right_features or both "
                "(FPCA needs none)."
            )

    def _prepare(self, data: Data) -> MaskedProblem:
        side = Bilinear(data.observed.shape, *data.matrices)
        return MaskedProblem(data.observed, side, resolve_threads(self.n_threads))

    def _strongest(self, problem: MaskedProblem) -> dict[str, float]:
        nuclear, l1 = problem.strongest()
        return {"nuclear_reg": nuclear, "l1_reg": l1}


class SpannedModel(MaskedModel):
    """Base of models of P_Ω(Y) by A Z Cᵀ alone, with one regulariser: what they say lies in the span of features."""

    needs_features: ClassVar[bool] = True

    def _estimate(self, problem: MaskedProblem, state: Any) -> Estimate:
        return Estimate(LowRank.zero(problem.shape), state.weights)

    def _strongest(self, problem: MaskedProblem) -> dict[str, float]:
        """‖AᵀP_Ω(Y)C‖₂, from which on Z is zero."""
        (regulariser,) = self.regularisers
        return {regulariser: float(np.linalg.norm(problem.slope(problem.observed.values), 2))}


def checked_step(name: str, value: float, limit: float, hint: str) -> float:
    """Return a step length in (0, limit)."""
    if not is_number(value) or not 0 < value < limit:
        raise ValueError(f"{name} must be a number between 0 and {limit:.4g}{hint}, got {value!r}.")
    return float(value)
