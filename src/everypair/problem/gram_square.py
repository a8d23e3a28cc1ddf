"""The square over all pairs, from both sides' Gram matrices alone, at O(k²):

½ Σ_{all} p_i q_j (ỹ − s)² = ½⟨UᵀPU, VᵀQV⟩ − ⟨ŨᵀPU, ṼᵀQV⟩ + ½⟨ŨᵀPŨ, ṼᵀQṼ⟩
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from everypair.check import within
from everypair.parallel import block_sums
from everypair.problem.gram import Gram, gram
from everypair.problem.negatives import Negatives

ROUNDING = 16  # units of it by which sums may be off


@dataclass(frozen=True)
class GramSquare:
    """½ Σ_{all} p_i q_j (ỹ − s)² as a function of both sides' Gram matrices, and what rounding does to F.

    ``value`` is a constant ỹ, ``None`` where it is low rank; ``square_of_values`` is Σ_{all} p_i q_j ỹ²,
    ``stored_weight`` the sum of the stored pairs' weights.
    """

    value: float | None
    square_of_values: float
    stored_weight: float
    unit: float

    @classmethod
    def of(cls, negatives: Negatives, stored_weight: float, dtype: Any) -> GramSquare:
        """The square of these negatives, in the precision of the factors."""
        p, q = (within("the weight of negatives", part, dtype) for part in (negatives.left, negatives.right))
        unit = float(np.finfo(dtype).eps)
        if isinstance(negatives.value, tuple):
            left, right = (np.ascontiguousarray(within("negative_value", part, dtype)) for part in negatives.value)
            return cls(None, float(np.sum(gram(left, p).matrix * gram(right, q).matrix)), stored_weight, unit)
        value = float(within("negative_value", [negatives.value], dtype)[0])
        return cls(value, value**2 * block_sums(p) * block_sums(q), stored_weight, unit)

    def __call__(self, left: Gram, right: Gram) -> float:
        """½ Σ_{all} p_i q_j (ỹ − s)²."""
        cross = float(np.sum(left.pull * right.pull))
        if self.value is not None:
            cross *= self.value
        return 0.5 * float(np.sum(left.matrix * right.matrix)) - cross + 0.5 * self.square_of_values

    def rounding(self, left: Gram, right: Gram) -> float:
        """How far rounding may take F, which at a good fit is a difference of large terms.

        A score is off by a few units of rounding times ‖u‖ ‖v‖, which all pairs feel by Σ p_i q_j |ỹ − s| ‖u‖ ‖v‖, at
        most √(Σ p_i q_j (ỹ − s)²) √T with T = tr(UᵀPU) tr(VᵀQV); ⟨UᵀPU, VᵀQV⟩, in float64, by T; a stored pair by its
        weight.
        """
        sizes = float(np.trace(left.matrix) * np.trace(right.matrix))
        scores = self.stored_weight + float(np.sqrt(2 * max(self(left, right), 0.0) * sizes))
        return ROUNDING * (self.unit * scores + float(np.finfo(np.float64).eps) * sizes)
