"""The sub-problems of one side's rows while the other side is fixed: independent, one per row.

    f_i(u) = Σ_{j∈Ω_i} [c_ij ℓ(y_ij, u·v_j) − ½ p_i q_j (ỹ_ij − u·v_j)²]
           + ½ Σ_j p_i q_j (ỹ_ij − u·v_j)² + ½ λ_i ‖u − o_i‖²

Left rows, right rows and rows to fold in are all described by one :class:`RowProblem`. *This* side is the one whose
rows they are, the *other* side is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.check import within
from everypair.data.pairs import Compressed
from everypair.kernels.stored_pairs import pair_scores, weight_sums
from everypair.kernels.writable import writable_view
from everypair.parallel import Chunk, balanced_chunks, block_chunks, run_chunks
from everypair.problem.gram import Gram, gram
from everypair.problem.losses import Loss, check_slopes
from everypair.problem.ridge import Ridge
from everypair.types import Array

EVERY_ROW = slice(None)


class OtherWeights(NamedTuple):
    """q of the other side in the factors' dtype, looked at before, and their sum.

    >>> float(OtherWeights.of(np.array([1.0, 2.0]), np.float32).total)
    3.0
    """

    numbers: Array
    total: np.float64

    @classmethod
    def of(cls, weights: Array, dtype: Any) -> OtherWeights:
        """Refuse what is too large for the dtype."""
        numbers = within("the weight of negatives", weights, dtype)
        return cls(numbers, numbers.sum(dtype=np.float64))


@dataclass(frozen=True)
class RowProblem:
    """Stored pairs, weights and ridge of one side's rows, all in the dtype of the factors; made by :meth:`of`.

    ``weights`` and ``targets`` hold a number for each stored pair, or one entry if it is the same for all: read them
    by broadcasting, as ``every_weight`` and ``every_target`` (written out), or in kernels as ``row_weights`` and
    ``row_targets``.
    ``values`` holds ỹ on the stored pairs, or one entry if it is constant; ``this_values`` and ``other_values`` are the
    rows of Ũ and Ṽ of a low-rank ỹ. ``centers`` holds o_i, what a row's features already say (0 by default).
    ``constant`` is the column of this side that is 1 throughout (it carries the other side's bias) and is neither
    learnt nor penalised.
    """

    loss: Loss
    indptr: NDArray[np.int64]
    indices: Array
    weights: Array
    targets: Array
    values: Array
    this_weights: Array
    other_weights: Array
    ridge: Array
    this_values: Array | None = None
    other_values: Array | None = None
    centers: Array | None = None
    constant: int | None = None

    @classmethod
    def of(
        cls,
        side: int,
        stored: Compressed,
        counts: Array,
        targets: Array,
        loss: Loss,
        ridge: Ridge,
        weights: tuple[Array, Array | OtherWeights],
        value: float | tuple[Array, Array],
        *,
        dtype: Any,
        values: Array | None = None,
        centers: Array | None = None,
        constant: int | None = None,
        n_threads: int = 1,
    ) -> RowProblem:
        """Describe the rows of ``side`` that store these pairs, with ``counts`` positives each.

        ``weights`` are p of the rows and q of the other side, ``value`` is ỹ or the rows' part of Ũ and all of Ṽ, each
        *this side first*. ``values`` are ỹ on the stored pairs where they are known already.
        """
        this_weights, others = within("the weight of negatives", weights[0], dtype), weights[1]
        if not isinstance(others, OtherWeights):
            others = OtherWeights.of(others, dtype)
        this_values = other_values = None
        if isinstance(value, tuple):
            this_values, other_values = (np.ascontiguousarray(within("negative_value", part, dtype)) for part in value)
            if values is None:
                values = stored_scores(stored, this_values, other_values, n_threads)
        else:
            values = constant_value(value, np.dtype(dtype))
        total = total_weights(stored, this_weights, others.total)
        return cls(
            loss=loss,
            indptr=stored.indptr,
            indices=writable_view(stored.indices),
            weights=writable_view(stored.weights.astype(dtype, copy=False)),
            targets=writable_view(targets.astype(dtype, copy=False)),
            values=values,
            this_weights=this_weights,
            other_weights=others.numbers,
            ridge=within("reg, scaled by the weight of a row,", ridge.rows(side, total, counts), dtype),
            this_values=this_values,
            other_values=other_values,
            centers=centers,
            constant=constant,
        )

    def slice(self, start: int, stop: int) -> RowProblem:
        """Rows [start, stop) alone, nothing of the pairs copied; at borders of blocks they give the same bits."""
        pairs = slice(int(self.indptr[start]), int(self.indptr[stop]))
        rows = slice(start, stop)

        def own(numbers: Array) -> Array:
            return numbers[pairs] if len(numbers) == self.n_pairs else numbers

        return replace(
            self,
            indptr=self.indptr[start : stop + 1] - self.indptr[start],
            indices=self.indices[pairs],
            weights=own(self.weights),
            targets=own(self.targets),
            values=self.values[pairs] if self.imputed else self.values,
            this_weights=self.this_weights[rows],
            ridge=self.ridge[rows],
            this_values=None if self.this_values is None else self.this_values[rows],
            centers=None if self.centers is None else self.centers[rows],
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def n_pairs(self) -> int:
        """Number of stored pairs."""
        return len(self.indices)

    @cached_property
    def longest(self) -> int:
        """Number of stored pairs of the row that has most."""
        if self.n_rows == 1:
            return self.n_pairs
        return int(np.diff(self.indptr).max(initial=0))

    @property
    def stored_weight(self) -> float:
        """Σ_Ω c."""
        total = float(self.weights.sum(dtype=np.float64))
        return total if len(self.weights) == self.n_pairs else total * self.n_pairs

    @property
    def every_weight(self) -> Array:
        """c of every stored pair."""
        return self._repeated(self.weights, self.n_pairs)

    @property
    def every_target(self) -> Array:
        """y of every stored pair."""
        return self._repeated(self.targets, self.n_pairs)

    @cached_property
    def row_weights(self) -> Array:
        """c for kernels: of every stored pair, or as often as the longest row needs it."""
        return self._repeated(self.weights, self.longest)

    @cached_property
    def row_targets(self) -> Array:
        """y for kernels: of every stored pair, or as often as the longest row needs it."""
        return self._repeated(self.targets, self.longest)

    def _repeated(self, numbers: Array, count: int) -> Array:
        return numbers if len(numbers) == self.n_pairs else np.full(count, numbers[0])

    @cached_property
    def chunks(self) -> list[Chunk]:
        """How the rows are shared out among threads."""
        return block_chunks(self.indptr)

    def run(self, kernel: Any, n_threads: int, *arguments: Any) -> None:
        """Run a kernel of stored pairs over all rows, chunk by chunk."""

        def work(chunk: Chunk, worker: int) -> None:
            kernel(*chunk, self.indptr, self.indices, *arguments)

        run_chunks(work, self.chunks, n_threads)

    @property
    def imputed(self) -> bool:
        """Whether ỹ differs from pair to pair."""
        return self.this_values is not None

    def free_columns(self, columns: int) -> NDArray[np.bool_]:
        """Mark the columns that are learnt."""
        free = np.ones(columns, bool)
        if self.constant is not None:
            free[self.constant] = False
        return free

    def gram_of(self, other: Array, n_threads: int = 1) -> Gram:
        """VᵀQV and VᵀQṼ of the other side, as these rows see it."""
        return gram(other, self.other_weights, self.other_values, n_threads)

    def pulls(self, other: Gram, rows: Any = EVERY_ROW) -> NDArray[np.float64]:
        """Σ_j q_j ỹ_ij v_j for each of ``rows``; a single row where ỹ is constant, since it is the same for all."""
        if self.this_values is None:
            return float(self.values[0]) * other.pull.T
        return np.asarray(self.this_values[rows] @ other.pull.T)


@cache
def constant_value(value: float, dtype: np.dtype[Any]) -> Array:
    """A constant ỹ as the one entry of an array, which is shared: nobody writes to it."""
    return within("negative_value", [value], dtype)


def check_stored_slopes(rows: RowProblem, this: Array, other: Array, n_threads: int = 1) -> None:
    """Refuse a loss of the user's own whose slope is not finite at a stored pair, at O(|Ω|k); others cost nothing."""
    if rows.loss.custom is not None:
        stored = Compressed(rows.indptr, rows.indices, rows.weights)
        check_slopes(rows.loss, rows.targets, stored_scores(stored, this, other, n_threads))


def stored_scores(stored: Compressed, this: Array, other: Array, n_threads: int = 1) -> Array:
    """Scores u_i · v_j of the stored pairs, in their order."""
    out, indices = np.empty(len(stored.indices), this.dtype), writable_view(stored.indices)

    def work(chunk: Chunk, worker: int) -> None:
        pair_scores(*chunk, stored.indptr, indices, this, other, out)

    run_chunks(work, balanced_chunks(stored.indptr), n_threads)
    return out


def total_weights(stored: Compressed, this_weights: Array, others: np.float64) -> NDArray[np.float64]:
    """Σ_{j∈Ω_i} c_ij + p_i Σ_j q_j for every row: the total weight of its sub-problem; ``others`` is the last sum."""
    sums = np.empty(len(stored.indptr) - 1)
    if len(stored.weights) == len(stored.indices):
        weight_sums(stored.indptr, writable_view(stored.weights), sums)
    else:
        np.multiply(np.diff(stored.indptr), stored.weights[0], out=sums)
    return np.asarray(sums + this_weights * others)
