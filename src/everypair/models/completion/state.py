"""What a completion model has learnt: M in factors, N, and the side information both speak of.

    completed matrix = M + A N Cᵀ   (M alone where N only explains it),   new entities: A_new N Cᵀ, A N C_newᵀ

The columns (or rows) that a ranking loss compares have no level of their own: there C (or A) counts less its mean row.
Everything is a product of thin factors; the n × m matrix exists only where it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from everypair.data.ids import Ids
from everypair.data.observed import Observed
from everypair.models.codec import storable
from everypair.models.completion.correction import Correction
from everypair.models.completion.side import CompletionSide
from everypair.models.serve_only import TRAINING_ONLY
from everypair.models.state_checks import check_array, check_matrix
from everypair.solvers.loop import Status
from everypair.types import Array64


@storable
@dataclass(frozen=True)
class Completed:
    """The fitted state; see :class:`~everypair.models.completion.base.CompletionModel` for its attributes."""

    observed: Any
    left_vectors: Array64
    singular_values: Array64
    right_vectors: Array64
    side_weights: Any
    left_side: CompletionSide | None
    right_side: CompletionSide | None
    side_adds: bool
    compared: str | None
    correction: Correction | None = None
    regularisation: dict[str, float] | None = None
    path: list[dict[str, float]] | None = field(default=None, metadata=TRAINING_ONLY)
    history: list[dict[str, Any]] | None = field(default=None, metadata=TRAINING_ONLY)
    objective: float | None = None
    status: Status | None = None
    n_iter: int = 0
    row_ids: Ids | None = None
    column_ids: Ids | None = None

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

    @property
    def levels(self) -> tuple[float, float] | None:
        """The two values of the observed entries, ``None`` where there are more."""
        return Observed.from_matrix(self.observed).levels

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
        """The same with the correction to values, if there is one; clipping is left to the caller."""
        P, Q = self.score_factors(rows, columns, new_left, new_right)
        if self.correction is None:
            return P, Q
        return self.correction.factors(P, Q, rows if new_left is None else None, columns if new_right is None else None)

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
