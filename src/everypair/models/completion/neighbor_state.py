"""What NeighborMF has learnt: factors of both sides, those of entities without a positive taken from their neighbours.

y_ij = low + (high − low) σ(u_i · v_j);   a new entity: the mean of the factors of its nearest with a positive
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.models.codec import storable
from everypair.models.completion.kernel_side import KernelSide
from everypair.models.completion.neighbors import mean_of_nearest
from everypair.models.completion.trained import TrainedMatrix
from everypair.models.state_checks import check_array, check_matrix
from everypair.parallel import blocked_product
from everypair.retrieve.scores import Scores
from everypair.solvers.completion.neighborhood import probability
from everypair.types import Array64

BLOCK_ROWS = 256


@storable
@dataclass(frozen=True, kw_only=True)
class NeighborFactors(TrainedMatrix):
    """The fitted state; ``left_known`` and ``right_known`` are the positions of entities with a positive."""

    left: Array64
    right: Array64
    left_known: NDArray[np.int64]
    right_known: NDArray[np.int64]
    left_side: KernelSide | None
    right_side: KernelSide | None
    neighbors: int
    low: float
    high: float

    def check(self) -> None:
        """Refuse factors that do not fit each other or the observed entries."""
        n, m = self.observed.shape
        check_array("left", self.left, n, None)
        check_array("right", self.right, m, self.left.shape[1])
        check_matrix("observed", self.observed, (n, m))

    def read(self, side: str, features: Any) -> Array64:
        """Factors of new entities."""
        known: KernelSide | None = getattr(self, f"{side}_side")
        if known is None:
            return np.asarray(super().read(side, features))
        factors, positions = getattr(self, side), getattr(self, f"{side}_known")
        return mean_of_nearest(known.of_new(features), factors, positions, self.neighbors)

    def block(
        self, rows: Any, columns: Any, new_left: Any = None, new_right: Any = None, n_threads: int = 1
    ) -> Array64:
        """Values of rows × columns."""
        left = self.left[rows] if new_left is None else new_left
        right = self.right[columns] if new_right is None else new_right
        return self.shown(blocked_product(left, np.ascontiguousarray(right.T), BLOCK_ROWS, n_threads))

    def pairs(self, i: NDArray[np.int64], j: NDArray[np.int64], n_threads: int = 1) -> Array64:
        """Values of the entries (i[t], j[t])."""
        return self.shown(np.einsum("tf,tf->t", self.left[i], self.right[j]))

    def scores(self, rows: Any, new_left: Any = None, n_threads: int = 1) -> Scores:
        """u_i · v_j, which rank as their values do."""
        return Scores.of_factors(self.left[rows] if new_left is None else new_left, self.right)

    def shown(self, values: Array64) -> Array64:
        """Scores as values between low and high."""
        return np.asarray(self.low + (self.high - self.low) * probability(values))
