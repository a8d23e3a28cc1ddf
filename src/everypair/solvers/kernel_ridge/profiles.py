"""How alike rows are by what they hold: exp(−‖c_i − c_j‖² / mean of ‖c_i − c_j‖²), c a row of a completed matrix."""

from __future__ import annotations

from everypair.solvers.kernel_ridge.landmarks import KernelColumns, Rows
from everypair.solvers.kernel_ridge.points import Points
from everypair.solvers.kernel_ridge.products import Matrix


def profile_values(completed: Matrix) -> KernelColumns:
    """The kernel of the rows of a completed matrix.

    >>> import numpy as np
    >>> profile_values(np.array([[0.0], [2.0]]))(slice(None), slice(None)).round(3).tolist()
    [[1.0, 0.135], [0.135, 1.0]]
    """
    rows = Points.of(completed)
    middle = completed.mean(axis=0)
    mean = 2 * (float(rows.squares.mean()) - float(middle @ middle))
    gamma = 1 / mean if mean > 1e-12 * float(rows.squares.mean()) else 0.0

    def values(some: Rows, others: Rows) -> Matrix:
        return rows[some].rbf(rows[others], gamma)

    return values


def mixed(first: KernelColumns, second: KernelColumns, share: float) -> KernelColumns:
    """(1 − share) · first + share · second."""

    def values(some: Rows, others: Rows) -> Matrix:
        out = first(some, others) * (1 - share)
        out += share * second(some, others)
        return out

    return values
