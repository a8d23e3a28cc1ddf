"""The system of a stage, factorised: exact where the kernel matrix has room, through landmarks where it has not.

    exact        A = (K + λC⁻¹)⁻¹ Y,            K A = Y − λC⁻¹A
    landmarks    W = (FᵀCF + λI)⁻¹ FᵀC Y,       K A ≈ F W,                 K ≈ FFᵀ

Labels that are not known are filled in with what the stage itself says of them, until that changes no more: each round
is the maximisation step of expectation–maximisation, the round before its expectation step, and costs no factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.models.multilabel.kernel_stages import StageRows
from everypair.parallel import blocked_product
from everypair.solvers.kernel_ridge.exact import KernelRidge
from everypair.solvers.kernel_ridge.landmarks import ROWS_AT_ONCE, LandmarkFactor, LandmarkRidge
from everypair.types import Array

ROUNDS = 20
CHANGE = 1e-2  # of a filled label, below which nothing more is expected of a round


class StageSystem(Protocol):
    """What can be solved for any number of columns."""

    def solve(self, Y: Array) -> Array:
        """A, or W."""
        ...

    def fitted(self, Y: Array, solution: Array) -> Array:
        """What the stage says of its own rows, which were not left out."""
        ...

    def left_out(self, Y: Array, solution: Array, start: int) -> Array:
        """What it says of rows from ``start`` on, each left out."""
        ...

    def coefficients(self, solution: Array) -> Array:
        """What kernel values with the rows that are kept are multiplied by."""
        ...


@dataclass(frozen=True)
class ExactSystem:
    """Every row with every row: n² numbers. ``inverse_weights`` are those of rows."""

    ridge: KernelRidge
    ridges: Array

    @classmethod
    def of(cls, rows: StageRows, reg: float, inverse_weights: Array, n_threads: int) -> ExactSystem:
        """Fill and factorise."""
        ridges = np.asarray(inverse_weights.dtype.type(reg) * inverse_weights)
        return cls(KernelRidge.of(lambda i, j: rows[i].kernel(rows[j]), ridges, n_threads), ridges)

    def solve(self, Y: Array) -> Array:
        """A."""
        return self.ridge.coefficients(Y)

    def fitted(self, Y: Array, solution: Array) -> Array:
        """K A."""
        return np.asarray(Y - self.ridges[:, None] * solution)

    def left_out(self, Y: Array, solution: Array, start: int) -> Array:
        """L."""
        return self.ridge.left_out(Y, solution, start)

    def coefficients(self, solution: Array) -> Array:
        """A."""
        return solution


@dataclass(frozen=True)
class LandmarkSystem:
    """Every row with the landmarks: n × m numbers."""

    factor: LandmarkFactor
    ridge: LandmarkRidge

    @classmethod
    def of(
        cls, rows: StageRows, reg: float, inverse_weights: Array, landmarks: int | NDArray[np.int64], n_threads: int
    ) -> LandmarkSystem:
        """Fill and factorise; landmarks are drawn, so many, or given."""

        def values(some: Any, others: Any) -> Array:
            return rows[some].kernel(rows[others])

        diagonal = rows.diagonal().astype(inverse_weights.dtype)
        if isinstance(landmarks, int):
            factor = LandmarkFactor.drawn(values, diagonal, landmarks, np.random.default_rng(0), n_threads)
        else:
            factor = LandmarkFactor.at(values, diagonal, landmarks, n_threads)
        return cls(factor, LandmarkRidge.of(factor.F, reg, 1 / inverse_weights, n_threads))

    def solve(self, Y: Array) -> Array:
        """W."""
        return self.ridge.weights(Y)

    def fitted(self, Y: Array, solution: Array) -> Array:
        """F W."""
        return blocked_product(self.factor.F, solution, ROWS_AT_ONCE, self.ridge.n_threads)

    def left_out(self, Y: Array, solution: Array, start: int) -> Array:
        """L."""
        return self.ridge.left_out(Y, solution)[start:]

    def coefficients(self, solution: Array) -> Array:
        """C⁻ᵀ W."""
        return self.factor.coefficients(solution)


def solved(system: StageSystem, Y: Array, unknown: NDArray[np.bool_] | None) -> tuple[Array, Array]:
    """The solution, and Y with what is not known filled in."""
    solution = system.solve(Y)
    if unknown is None:
        return solution, Y
    for _ in range(ROUNDS):
        filled = np.where(unknown, system.fitted(Y, solution), Y)
        change = float(np.abs(filled - Y).max())
        Y, solution = filled, system.solve(filled)
        if change < CHANGE:
            break
    return solution, Y
