"""The ridge ½ Σ_i λ_i ‖u_i‖² of Table rows, scaled by how much each row weighs.

λ_i = λ · (Σ_{j∈Ω_i} c_ij + p_i Σ_j q_j)^ν     the total weight of the row's own sub-problem, 0 ≤ ν ≤ 1
λ_i = λ · max(1, |Ω_i⁺|)                       with exponent "count"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.check import is_number


@dataclass(frozen=True)
class Ridge:
    """Ridge constants of the (left, right) rows; ``exponent`` is ν, or ``"count"``.

    >>> Ridge.checked(0.1, 0.5).rows(0, total_weight=np.array([4.0, 0.0]), counts=np.array([3, 0]))
    array([0.2, 0. ])
    >>> Ridge.checked((0.1, 0.2), "count").rows(1, total_weight=np.array([4.0, 0.0]), counts=np.array([3, 0]))
    array([0.6, 0.2])
    """

    reg: tuple[float, float]
    exponent: float | str

    @classmethod
    def checked(cls, reg: Any, exponent: Any) -> Ridge:
        """Accept one ridge constant or a (left, right) pair, and ν in [0, 1] or "count"."""
        both = tuple(reg) if isinstance(reg, tuple | list) else (reg, reg)
        if len(both) != 2 or not all(is_number(value) and 0 <= value < np.inf for value in both):
            raise ValueError(f"reg must be a finite number ≥ 0 or a pair of them, one a side, got {reg!r}.")
        if exponent != "count" and not (is_number(exponent) and 0 <= exponent <= 1):
            raise ValueError(f'reg_exponent must be a number in [0, 1] or "count", got {exponent!r}.')
        return cls((float(both[0]), float(both[1])), exponent)

    def rows(self, side: int, total_weight: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
        """λ_i of rows with that total weight and that many positives; side 0 is left, 1 is right."""
        if isinstance(self.exponent, str):
            return self.reg[side] * np.maximum(counts, 1).astype(np.float64)
        return self.reg[side] * np.asarray(total_weight, np.float64) ** self.exponent
