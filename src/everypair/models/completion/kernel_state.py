"""What KernelCompletion has learnt: the completed matrix, and what it says of rows and columns that come later.

known rows × known columns    F, as it was completed
new rows                      r̄ + c_j + τ_j · k_r(x, ·) A K_c      k: kernel values of new entities with known ones
new columns                   r_i + c̄ + σ_i · K_r A k_c(·, x)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.models.codec import storable
from everypair.models.completion.fitted import FittedMatrix
from everypair.models.completion.kernel_side import KernelSide
from everypair.models.completion.offsets import Offsets
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_matrix
from everypair.parallel import single_threaded_blas
from everypair.solvers.kernel_ridge.products import DenseKernel, IdentityKernel, SideKernel
from everypair.types import Array64


@storable
@dataclass(frozen=True, kw_only=True)
class KernelCompleted(FittedMatrix):
    """The fitted state; ``covariance`` is that of the side without features where it was learnt."""

    completed: Array64
    coefficients: Any
    offsets: Offsets
    left_side: KernelSide | None
    right_side: KernelSide | None
    covariance: Array64 | None
    reg: float
    refinements: tuple[str, ...]
    errors: dict[str, float] | None = field(default=None, metadata=TRAINING_ONLY)

    def check(self) -> None:
        """Refuse parts that do not fit each other."""
        check_array("completed", self.completed, *self.observed.shape)
        check_matrix("coefficients", self.coefficients, self.shape)

    def read(self, side: str, features: Any) -> Array64:
        """Kernel values of new entities with the known ones."""
        known: KernelSide | None = getattr(self, f"{side}_side")
        if known is None:
            return np.asarray(super().read(side, features))
        with single_threaded_blas():
            return known.of_new(features)

    def block(
        self, rows: Any, columns: Any, new_left: Any = None, new_right: Any = None, n_threads: int = 1
    ) -> Array64:
        """Values of rows × columns."""
        if new_left is None and new_right is None:
            return self.completed[rows][:, columns].copy()
        if new_right is None:
            residual = self._right.after(np.asarray(new_left @ self.coefficients), n_threads)
            return self.offsets.values(residual, new_rows=True)[:, columns]
        image = np.asarray(self.coefficients @ new_right.T)
        if new_left is None:
            return self.offsets.values(self._left.times(image, n_threads), new_columns=True)[rows]
        with single_threaded_blas():
            return self.offsets.values(new_left @ image, new_rows=True, new_columns=True)

    def pairs(self, i: NDArray[np.int64], j: NDArray[np.int64], n_threads: int = 1) -> Array64:
        """Values of the entries (i[t], j[t])."""
        return self.completed[i, j]

    @cached_property
    def _left(self) -> SideKernel:
        """K_r."""
        if self.left_side is not None:
            return self.left_side.kernel(1)
        if self.covariance is None or self.right_side is None:
            return IdentityKernel(self.shape[0])
        return DenseKernel(self.covariance)

    @cached_property
    def _right(self) -> SideKernel:
        """K_c."""
        if self.right_side is not None:
            return self.right_side.kernel(1)
        return IdentityKernel(self.shape[1]) if self.covariance is None else DenseKernel(self.covariance)
