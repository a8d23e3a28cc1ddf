"""What every matrix factorization shares: a fitted objective, fold-in as training's sub-problem, explanation."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from everypair.check import as_csr, integer
from everypair.data.pairs import aligned_targets
from everypair.features.feature_map import FeatureMap
from everypair.features.matrix import Features
from everypair.models.estimator import FittedAttribute
from everypair.models.recommend.base import FactorModel, checked_positions, checked_rows
from everypair.models.recommend.explanation import Explanation, explain_pair
from everypair.models.recommend.naming import asks
from everypair.models.recommend.state import FactorizationState
from everypair.parallel import resolve_threads
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.problem.objective import Objective
from everypair.problem.outside import OUTSIDE
from everypair.problem.rows import RowProblem
from everypair.solvers.fold_in import new_rows, solve_to_optimum
from everypair.solvers.loop import Outcome
from everypair.solvers.state import Factors
from everypair.types import Array


class FactorizationModel(FactorModel):
    """Base of models trained on an :class:`Objective`; their state is a :class:`FactorizationState`."""

    state_: FactorizationState
    loss_ = FittedAttribute()
    negatives_ = FittedAttribute()
    ridge_ = FittedAttribute()
    targets_ = FittedAttribute()
    rank_ = FittedAttribute()
    reg_ = FittedAttribute()
    biases_ = FittedAttribute()
    history_ = FittedAttribute()
    objective_ = FittedAttribute()
    status_ = FittedAttribute()
    n_iter_ = FittedAttribute()
    left_feature_weights_ = FittedAttribute()
    right_feature_weights_ = FittedAttribute()
    feature_reg_ = FittedAttribute()
    feature_maps_ = FittedAttribute()
    own_vectors_ = FittedAttribute()
    graphs_ = FittedAttribute()

    @asks(LEFT)
    def fold_in_users(
        self,
        rows: Any = None,
        weights: ArrayLike | None = None,
        values: ArrayLike | None = None,
        *,
        features: Any = None,
        targets: Any = None,
    ) -> Array:
        """Factors (c, k) of new users from their interactions (c × n), their features, or both.

        From interactions they are the optimum of the training sub-problem; from features alone they are XW. With both,
        features say where a user starts and interactions correct it: the own vector t that minimises the sub-problem of
        u = xW + t (in a model without own vectors it has the ridge such vectors would have).
        ``weights`` are their p_i where ``negative_scheme`` is arrays (its mean by default), ``values`` their rows of Ũ
        where ``negative_value`` is low rank (the mean row by default). ``targets`` (of the rows' pattern) are needed
        where the model was fitted with explicit ones, and override the usual ones everywhere.
        """
        check_is_fitted(self)
        new = None
        if rows is not None:
            new = checked_rows(rows, len(self.right_factors_), self.right_factors_.dtype, "rows")
        return self._new_factors(LEFT, new, features, weights, values, targets)

    @asks(RIGHT)
    def fold_in_items(
        self,
        columns: Any = None,
        weights: ArrayLike | None = None,
        values: ArrayLike | None = None,
        *,
        features: Any = None,
        targets: Any = None,
    ) -> Array:
        """Factors (c, k) of new items from their interactions (m × c), their features, or both; see fold_in_users."""
        check_is_fitted(self)
        new = None
        if columns is not None:
            matrix, _ = as_csr(columns, self.right_factors_.dtype, "columns")
            if matrix.shape[0] != len(self.left_factors_):
                raise ValueError(
                    f"columns must have one row per training user ({len(self.left_factors_)}), got shape "
                    f"{matrix.shape}: new items are columns."
                )
            new = checked_rows(matrix.T, len(self.left_factors_), self.right_factors_.dtype, "columns")
            targets = None if targets is None else as_csr(targets, matrix.dtype, "targets")[0].T
        return self._new_factors(RIGHT, new, features, weights, values, targets)

    @asks(answer="why")
    def explain(self, user: Any, item: Any, n: int | None = None) -> Explanation:
        """Split the score of a pair into contributions of the user's stored pairs and a base term.

        The stored pair with item j contributes −r_j vᵀA⁻¹v_j, with A = p VᵀQV + λ I and r_j the slope of its loss, less
        the negative it replaces. The base term is what would be left without stored pairs; it also holds the item's
        bias and what training left unsolved. ``n`` keeps only the largest contributions.
        """
        check_is_fitted(self)
        state = self.state_
        if state.graphs[LEFT] or not state.own_vectors[LEFT] or state.negative_loss != "squared":
            raise ValueError(
                'explain needs users with own vectors, without a graph and with negative_loss="squared": otherwise a '
                "user's factors do not follow from the user's own pairs."
            )
        row = _one_position(user, len(self.left_factors_), "user")
        column = _one_position(item, len(self.right_factors_), "item")
        if n is not None:
            n = integer("n", n)
        value = state.negatives.value
        counted, targets = self._counted_row(row)
        problem = self._row_problem(
            LEFT,
            counted,
            targets,
            state.negatives.left[[row]],
            value[0][[row]] if isinstance(value, tuple) else None,
        )
        return explain_pair(problem, self.left_factors_[row], self.right_factors_, column, n)

    def _counted_row(self, row: int) -> tuple[Any, Array | None]:
        """The pairs of a training row that the objective counts, and their explicit targets."""
        state = self.state_
        stored = slice(state.interactions.indptr[row], state.interactions.indptr[row + 1])
        return state.interactions[[row]], None if state.targets is None else state.targets[stored]

    def _new_factors(
        self, side: int, rows: Any, features: Any, weights: ArrayLike | None, values: ArrayLike | None, targets: Any
    ) -> Array:
        if rows is None:
            if features is None:
                raise ValueError("give the interactions of new entities, their features, or both.")
            if not (weights is None and values is None and targets is None):
                raise ValueError("weights, values and targets say how interactions count: give those as well.")
            return self._from_features(side, features, None)
        aligned = self._aligned_targets(rows, targets)
        said = None if features is None else self._from_features(side, features, rows.shape[0])
        return self._fold_in(side, rows, weights, values, said, aligned)

    def _aligned_targets(self, rows: Any, targets: Any) -> Array | None:
        """Targets of new rows in their order; a model that learnt from explicit ones needs them."""
        if targets is not None:
            return aligned_targets(targets, rows)
        if self.state_.targets is not None and rows.nnz:
            raise ValueError(
                "this model was fitted with explicit targets: give those of the new interactions as targets=, a matrix "
                "of the same pattern (of ones and the loss's own target of a dislike, if that is what they are)."
            )
        return None

    def _feature_map(self, side: int) -> FeatureMap | None:
        return self.state_.feature_maps[side]

    def _from_features(self, side: int, features: Any, count: int | None) -> Array:
        """XW of new entities."""
        feature_map, weights = self.state_.feature_maps[side], self.state_.feature_weights[side]
        if feature_map is None or weights is None:
            name = ("left", "right")[side]
            raise ValueError(f"this model was fitted without {name}_features, so it cannot read those of new entities.")
        matrix = feature_map(features, count, weights.dtype)
        factors = Features(matrix, weights.dtype).product(weights, resolve_threads(self.n_threads))
        constant = self.state_.layout.constant(side)
        if constant is not None:
            factors[:, constant] = 1
        return factors

    def _described(self, interactions: Any, features: Any, targets: Any) -> tuple[Array, Any]:
        rows = None
        if interactions is not None:
            rows = checked_rows(interactions, len(self.right_factors_), self.right_factors_.dtype)
        left = self.fold_in_users(rows, features=features, targets=targets)
        seen = sp.csr_array((len(left), len(self.right_factors_)), dtype=left.dtype) if rows is None else rows
        return left, seen

    def _fold_in(
        self,
        side: int,
        rows: Any,
        weights: ArrayLike | None,
        values: ArrayLike | None,
        centers: Array | None,
        targets: Array | None,
    ) -> Array:
        problem = self._row_problem(side, rows, targets, weights, values, centers)
        other = self.right_factors_ if side == LEFT else self.left_factors_
        return solve_to_optimum(problem, other, resolve_threads(self.n_threads))

    def _row_problem(
        self,
        side: int,
        rows: Any,
        targets: Array | None = None,
        weights: ArrayLike | None = None,
        values: ArrayLike | None = None,
        centers: Array | None = None,
    ) -> RowProblem:
        state = self.state_
        if state.weighting is not None:
            stored = state.interactions
            degrees = np.bincount(stored.indices, minlength=stored.shape[1]) if side == LEFT else np.diff(stored.indptr)
            rows = state.weighting.weighted_rows(rows, degrees)
        problem = new_rows(
            side, rows, state.loss, state.negatives, state.ridge, state.layout.constant(side), targets, weights, values,
            centers,
        )  # fmt: skip
        return OUTSIDE[state.negative_loss].written_out(problem, rows.shape[1])

    def _comparable(self, side: int) -> Array:
        factors = super()._comparable(side)
        return np.ascontiguousarray(self.state_.layout.vectors(factors))

    def __sklearn_tags__(self) -> Any:
        """Sparse interactions are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def learnt_fields(
    objective: Objective,
    outcome: Outcome[Factors],
    layout: Layout,
    feature_maps: tuple[FeatureMap | None, FeatureMap | None],
) -> dict[str, Any]:
    """Return the fields of a :class:`FactorizationState` that training decides."""
    state, embeddings = outcome.state, objective.embeddings
    return {
        "left_factors": state.left,
        "right_factors": state.right,
        "rank": layout.rank,
        "layout": layout,
        "history": outcome.history,
        "objective": state.objective,
        "status": outcome.status,
        "loss": objective.loss,
        "negatives": objective.negatives,
        "negative_loss": objective.negative_loss,
        "feature_weights": tuple(
            None if embedding.features is None else embedding.feature_part(state.parameters(side)).copy()
            for side, embedding in enumerate(embeddings)
        ),
        "feature_maps": feature_maps,
        "feature_reg": tuple(embedding.feature_reg for embedding in embeddings),
        "own_vectors": tuple(embedding.own for embedding in embeddings),
        "graphs": tuple(embedding.graph is not None for embedding in embeddings),
    }


def check_rank(rank: int, shape: tuple[int, int]) -> None:
    """Refuse a rank that is larger than both sides."""
    if rank > max(shape):
        raise ValueError(
            f"rank={rank} is larger than both sides of interactions {shape}: at most {max(shape)} makes sense."
        )


def _one_position(value: Any, size: int, kind: str) -> int:
    positions = checked_positions(value, size, kind)
    if positions.size != 1:
        raise ValueError(f"explain takes one {kind}, got {positions.size}.")
    return int(positions[0])
