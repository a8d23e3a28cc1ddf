"""What a completion model has learnt: M in factors, N, and the side information both speak of.

    completed matrix = M + A N Cᵀ   (M alone where N only explains it),   new entities: A_new N Cᵀ, A N C_newᵀ

The columns (or rows) that a ranking loss compares have no level of their own: there C (or A) counts less its mean row.
Everything is a product of thin factors; the n × m matrix exists only where it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.observed import Observed
from everypair.models.codec import storable
from everypair.models.completion.correction import Correction
from everypair.models.completion.fitted import EVERY
from everypair.models.completion.levels import Levels
from everypair.models.completion.side import CompletionSide
from everypair.models.completion.trained import TrainedMatrix
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_matrix
from everypair.parallel import blocked_product, even_chunks
from everypair.problem.completion.low_rank import entries_of
from everypair.retrieve.scores import Scores
from everypair.types import Array64

BLOCK_ROWS = 256
PAIRS_AT_ONCE = 2**16


@storable
@dataclass(frozen=True, kw_only=True)
class Completed(TrainedMatrix):
    """The fitted state; see :class:`~everypair.models.completion.base.CompletionModel` for its attributes."""

    left_vectors: Array64
    singular_values: Array64
    right_vectors: Array64
    side_weights: Any
    left_side: CompletionSide | None
    right_side: CompletionSide | None
    side_adds: bool
    compared: str | None
    correction: Correction | None = None
    offsets: Levels | None = None
    regularisation: dict[str, float] | None = None
    path: list[dict[str, float]] | None = field(default=None, metadata=TRAINING_ONLY)

    def check(self) -> None:
        """Refuse factors that do not fit each other or the observed entries."""
        check_array("singular_values", self.singular_values, None)
        check_array("left_vectors", self.left_vectors, None, len(self.singular_values))
        check_array("right_vectors", self.right_vectors, None, len(self.singular_values))
        check_matrix("observed", self.observed, self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        return len(self.left_vectors), len(self.right_vectors)

    def read(self, side: str, features: Any) -> Array64:
        """Rows of A or C for new entities."""
        known: CompletionSide | None = getattr(self, f"{side}_side")
        return super().read(side, features) if known is None else np.asarray(known.read(features))

    def block(
        self, rows: Any, columns: Any, new_left: Any = None, new_right: Any = None, n_threads: int = 1
    ) -> Array64:
        """Values of rows × columns."""
        left, right = self.factors(rows, columns, new_left, new_right)
        return self.clip(blocked_product(left, right.T, BLOCK_ROWS, n_threads))

    def pairs(self, i: NDArray[np.int64], j: NDArray[np.int64], n_threads: int = 1) -> Array64:
        """Values of the entries (i[t], j[t]), without forming the matrix."""
        (own_rows, i), (own_columns, j) = np.unique(i, return_inverse=True), np.unique(j, return_inverse=True)
        left, right = self.factors(own_rows, own_columns)
        values = np.empty(len(i))
        for start, stop in even_chunks(len(i), PAIRS_AT_ONCE):
            values[start:stop] = np.einsum("tf,tf->t", left[i[start:stop]], right[j[start:stop]])
        return self.clip(values)

    def entries(self, pattern: Observed, n_threads: int = 1) -> Array64:
        """Values of the entries of ``pattern``, row-major."""
        return self.clip(entries_of(pattern, *self.factors(EVERY, EVERY), n_threads))

    def scores(self, rows: Any, new_left: Any = None, n_threads: int = 1) -> Scores:
        """What ranks the columns of rows."""
        left, right = self.factors(rows, EVERY, new_left)
        if left.shape[1] == 0:
            left, right = np.zeros((len(left), 1)), np.zeros((len(right), 1))
        return Scores.of_factors(left, right)

    def shown(self, values: Array64) -> Array64:
        """Values within the observed range where scores were corrected to values."""
        return self.clip(values)

    def score_factors(
        self, rows: Any, columns: Any, new_left: Any = None, new_right: Any = None
    ) -> tuple[Array64, Array64]:
        """P, Q whose product holds the scores of ``rows`` × ``columns``; new entities are rows of A or C instead."""
        left, right = [], []
        new = new_left is not None or new_right is not None
        if not new:
            left.append(self.left_vectors[rows] * self.singular_values)
            right.append(self.right_vectors[columns])
        if self.side_weights is not None and (new or self.side_adds):
            left.append(self._left_of_side(rows, new_left))
            right.append(self._right_of_side(columns, new_right))
        return np.hstack(left), np.hstack(right)

    def factors(self, rows: Any, columns: Any, new_left: Any = None, new_right: Any = None) -> tuple[Array64, Array64]:
        """The same with levels or the correction to values, if there are any; clipping is left to the caller."""
        P, Q = self.score_factors(rows, columns, new_left, new_right)
        known = rows if new_left is None else None, columns if new_right is None else None
        if self.offsets is not None:
            return self.offsets.factors(P, Q, *known)
        return (P, Q) if self.correction is None else self.correction.factors(P, Q, *known)

    def clip(self, values: Array64) -> Array64:
        """Values within the observed range where scores were corrected to values."""
        return values if self.correction is None else self.correction.clip(values)

    def _left_of_side(self, rows: Any, new: Any) -> Array64:
        N = self.side_weights
        if self.left_side is None:
            own = N[rows].toarray()
            return own - N.mean(axis=0) if self.compared == "rows" else own
        A = self.left_side.matrix[rows] if new is None else new
        if self.compared == "rows":
            A = A - self.left_side.matrix.mean(axis=0)
        return A if self.right_side is None else np.asarray(A @ N)

    def _right_of_side(self, columns: Any, new: Any) -> Array64:
        N = self.side_weights
        if self.right_side is None:
            own = N[:, columns].toarray().T
            return own - N.mean(axis=1) if self.compared == "columns" else own
        C = self.right_side.matrix[columns] if new is None else new
        return C - self.right_side.matrix.mean(axis=0) if self.compared == "columns" else C
