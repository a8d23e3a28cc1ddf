"""The system of a stage, factorised: exact where the kernel matrix has room, through landmarks where it has not.

    exact        A = (K + λC⁻¹)⁻¹ Y,            K A = Y − λC⁻¹A
    landmarks    W = (FᵀCF + λI)⁻¹ FᵀC Y,       K A ≈ F W,                 K ≈ FFᵀ

Labels that are not known are filled in with what the stage itself says of them, where expectation–maximisation ends. As
G(Y) = c(Y − s) is linear and symmetric that is a system of its own, G(Y) = 0 at each label's unknown entries, solved by
conjugate gradients, which cost no factorisation: 20 steps of them get where hundreds of rounds of EM do.
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

    def gap(self, Y: Array, solution: Array) -> Array:
        """c(Y − s), s what the stage says of its own rows, which were not left out; symmetric in Y."""
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
    reg: float

    @classmethod
    def of(cls, rows: StageRows, reg: float, inverse_weights: Array, n_threads: int) -> ExactSystem:
        """Fill and factorise."""
        ridges = np.asarray(inverse_weights.dtype.type(reg) * inverse_weights)
        return cls(KernelRidge.of(lambda i, j: rows[i].kernel(rows[j]), ridges, n_threads), reg)

    def solve(self, Y: Array) -> Array:
        """A."""
        return self.ridge.coefficients(Y)

    def gap(self, Y: Array, solution: Array) -> Array:
        """λA."""
        return np.asarray(solution.dtype.type(self.reg) * solution)

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

    def gap(self, Y: Array, solution: Array) -> Array:
        """C(Y − FW)."""
        fitted = blocked_product(self.factor.F, solution, ROWS_AT_ONCE, self.ridge.n_threads)
        return np.asarray(self.ridge.row_weights[:, None] * (Y - fitted))

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
    residual = np.where(unknown, -system.gap(Y, solution), 0)
    direction, size = residual, np.square(residual).sum(axis=0)
    tiny = np.finfo(Y.dtype).tiny
    for _ in range(ROUNDS):
        applied = np.where(unknown, system.gap(direction, system.solve(direction)), 0)
        step = size / np.maximum((direction * applied).sum(axis=0), tiny)
        change = step * direction
        Y = Y + change
        if float(np.abs(change).max()) < CHANGE:
            break
        residual = residual - step * applied
        before, size = size, np.square(residual).sum(axis=0)
        direction = residual + (size / np.maximum(before, tiny)) * direction
    return system.solve(Y), Y
