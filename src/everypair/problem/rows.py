"""The sub-problems of one side's rows while the other side is fixed: independent, one per row.

    f_i(u) = Σ_{j∈Ω_i} [c_ij ℓ(y_ij, u·v_j) − ½ p_i q_j (ỹ_ij − u·v_j)²]
           + ½ Σ_j p_i q_j (ỹ_ij − u·v_j)² + ½ λ_i ‖u − o_i‖²

Left rows, right rows and rows to fold in are all described by one :class:`RowProblem`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.parallel import Chunk, balanced_chunks
from everypair.problem.gram import Gram, gram
from everypair.problem.losses import Loss

Array = NDArray[Any]


@dataclass(frozen=True)
class RowProblem:
    """Stored pairs, weights and ridge of one side's rows, all in the dtype of the factors.

    ``values`` holds ỹ on the stored pairs, or one entry if it is constant; ``own_values`` and ``other_values`` are the
    rows of Ũ and Ṽ of a low-rank ỹ. ``centers`` holds o_i, what a row's features already say (0 by default).
    ``frozen`` is the column of this side that is constant 1 (it carries the other side's bias) and is neither learnt
    nor penalised.
    """

    loss: Loss
    indptr: NDArray[np.int64]
    indices: Array
    weights: Array
    targets: Array
    values: Array
    own_weights: Array
    other_weights: Array
    ridge: Array
    own_values: Array | None = None
    other_values: Array | None = None
    centers: Array | None = None
    frozen: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @cached_property
    def chunks(self) -> list[Chunk]:
        """How the rows are shared out among threads."""
        return balanced_chunks(self.indptr)

    @property
    def imputed(self) -> bool:
        """Whether ỹ differs from pair to pair."""
        return self.own_values is not None

    def free_columns(self, rank: int) -> NDArray[np.bool_]:
        """Mark the columns that are learnt."""
        free = np.ones(rank, bool)
        if self.frozen is not None:
            free[self.frozen] = False
        return free

    def gram_of(self, other: Array, n_threads: int = 1) -> Gram:
        """VᵀQV and VᵀQṼ of the other side, as these rows see it."""
        return gram(other, self.other_weights, self.other_values, n_threads)

    def pulls(self, other: Gram, rows: slice = slice(None)) -> NDArray[np.float64]:
        """Σ_j q_j ỹ_ij v_j for each of ``rows``; a single row where ỹ is constant, since it is the same for all."""
        if self.own_values is None:
            return float(self.values[0]) * other.pull.T
        return np.asarray(self.own_values[rows] @ other.pull.T)


class PairsAt(Protocol):
    """The part of F that is summed over pairs, at some factors."""

    value: float

    def gradient(self) -> Array:
        """R V."""
        ...

    def product(self, direction: Array) -> Array:
        """[t_ij (n_i·v_j)] V."""
        ...

    def column_curvatures(self) -> NDArray[np.float64]:
        """Σ_i t_ij for every row j of V."""
        ...

    def along(self, direction: Array) -> Callable[[float], float]:
        """Value at U + α N."""
        ...


PairsOf = Callable[[RowProblem, Array, Array, int], PairsAt]
