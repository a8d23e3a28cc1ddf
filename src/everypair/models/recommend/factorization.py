"""What every matrix factorization shares: training by the one loop, fold-in as training's sub-problem, explanation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from everypair.check import as_csr
from everypair.data.pairs import Pairs
from everypair.data.weighting import DegreeWeighting
from everypair.features.feature_map import FeatureMap
from everypair.features.matrix import Features
from everypair.models.recommend.base import FactorModel, checked_positions, checked_rows
from everypair.models.recommend.explanation import Explanation, explain_pair
from everypair.parallel import resolve_threads
from everypair.problem.all_pairs import every_row
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import LEFT, RIGHT, Objective
from everypair.problem.ridge import Ridge
from everypair.problem.rows import RowProblem
from everypair.solvers.fold_in import new_rows, solve_to_optimum
from everypair.solvers.loop import Callback, Outcome, Solver, Status, StopRules
from everypair.solvers.state import Factors
from everypair.training.train import train
from everypair.training.warm_up import sweep_on_two_pairs

Array = NDArray[Any]


class FactorizationModel(FactorModel):
    """Base of models trained on an :class:`Objective`; a subclass calls :meth:`_train` from its ``fit``."""

    loss_: Loss
    negatives_: Negatives
    ridge_: Ridge
    targets_: Array | None
    rank_: int
    biases_: bool
    every_pair_: bool = False
    weighting_: DegreeWeighting | None = None
    left_feature_weights_: Array | None
    right_feature_weights_: Array | None
    feature_maps_: tuple[FeatureMap | None, FeatureMap | None] = (None, None)
    feature_reg_: tuple[float | None, ...]
    own_vectors_: tuple[bool, ...]
    graphs_: tuple[bool, ...]
    history_: list[dict[str, Any]]
    objective_: float | None
    status_: Status
    n_iter_: int

    def _train(
        self,
        objective: Objective,
        make_solver: Callable[[Objective], Solver[Factors]],
        start: Factors,
        rules: StopRules,
        validate: Callable[[Factors], dict[str, float]] | None,
        callbacks: tuple[Callback, ...],
        verbose: bool,
    ) -> Outcome[Factors]:
        """Compile, run the loop and keep what it learnt."""
        outcome = train(
            make_solver(objective), start, rules, validate=validate, callbacks=callbacks, verbose=verbose,
            warm_up=sweep_on_two_pairs(make_solver, objective, start.left.shape[1]),
        )  # fmt: skip
        self.left_factors_, self.right_factors_ = outcome.state.left, outcome.state.right
        self.left_feature_weights_, self.right_feature_weights_ = (
            None if embedding.features is None else embedding.feature_part(outcome.state.parameters(side)).copy()
            for side, embedding in enumerate(objective.embeddings)
        )
        self.feature_reg_ = tuple(
            None if known is None or known.features is None else known.feature_reg for known in objective.known
        )
        self.own_vectors_ = tuple(embedding.own for embedding in objective.embeddings)
        self.graphs_ = tuple(embedding.graph is not None for embedding in objective.embeddings)
        self.history_ = outcome.history
        self.objective_ = outcome.state.objective
        self.status_ = outcome.status
        self.n_iter_ = len(outcome.history)
        return outcome

    def fold_in_users(
        self,
        rows: Any = None,
        weights: ArrayLike | None = None,
        values: ArrayLike | None = None,
        *,
        features: Any = None,
    ) -> Array:
        """Factors (c, k) of new users from their interactions (c × n), their features, or both.

        From interactions they are the optimum of the training sub-problem; from features alone they are XW. With both,
        features say where a user starts and interactions correct it: the own vector t that minimises the sub-problem of
        u = xW + t (in a model without own vectors it has the ridge such vectors would have).
        ``weights`` are their p_i where ``negative_scheme`` is arrays (its mean by default), ``values`` their rows of Ũ
        where ``negative_value`` is low rank (the mean row by default).
        """
        check_is_fitted(self)
        new = None
        if rows is not None:
            new = checked_rows(rows, len(self.right_factors_), self.right_factors_.dtype, "rows")
        return self._new_factors(LEFT, new, features, weights, values)

    def fold_in_items(
        self,
        columns: Any = None,
        weights: ArrayLike | None = None,
        values: ArrayLike | None = None,
        *,
        features: Any = None,
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
        return self._new_factors(RIGHT, new, features, weights, values)

    def _new_factors(
        self, side: int, rows: Any, features: Any, weights: ArrayLike | None, values: ArrayLike | None
    ) -> Array:
        if features is None:
            if rows is None:
                raise ValueError("give the interactions of new entities, their features, or both.")
            return self._fold_in(side, rows, weights, values, None)
        if rows is None and not (weights is None and values is None):
            raise ValueError("weights and values say how interactions count: give the interactions as well.")
        said = self._from_features(side, features, None if rows is None else rows.shape[0])
        return said if rows is None else self._fold_in(side, rows, weights, values, said)

    def _from_features(self, side: int, features: Any, count: int | None) -> Array:
        """XW of new entities."""
        feature_map = self.feature_maps_[side]
        if feature_map is None:
            name = ("left", "right")[side]
            raise ValueError(f"this model was fitted without {name}_features, so it cannot read those of new entities.")
        weights = self.left_feature_weights_ if side == LEFT else self.right_feature_weights_
        assert weights is not None
        matrix = feature_map(features, count, weights.dtype)
        factors = Features(matrix, weights.dtype).product(weights, resolve_threads(self.n_threads))
        frozen = self._frozen(side)
        if frozen is not None:
            factors[:, frozen] = 1
        return factors

    def _described(self, interactions: Any, features: Any) -> tuple[Array, Any]:
        if features is None:
            return super()._described(interactions, features)
        rows = None
        if interactions is not None:
            rows = checked_rows(interactions, len(self.right_factors_), self.right_factors_.dtype)
        left = self.fold_in_users(rows, features=features)
        seen = sp.csr_array((len(left), len(self.right_factors_)), dtype=left.dtype) if rows is None else rows
        return left, seen

    def _frozen(self, side: int) -> int | None:
        return None if not self.biases_ else self.rank_ + (1 if side == LEFT else 0)

    def explain(self, user: int, item: int, n: int | None = None) -> Explanation:
        """Split the score of a pair into contributions of the user's stored pairs and a base term.

        The stored pair with item j contributes −r_j vᵀA⁻¹v_j, with A = p VᵀQV + λ I and r_j the slope of its loss, less
        the negative it replaces. The base term is what would be left without stored pairs; it also holds the item's
        bias and what training left unsolved. ``n`` keeps only the largest contributions.
        """
        check_is_fitted(self)
        if self.graphs_[LEFT] or not self.own_vectors_[LEFT] or self.every_pair_:
            raise ValueError(
                'explain needs users with own vectors, without a graph and with negative_loss="squared": otherwise a '
                "user's factors do not follow from the user's own pairs."
            )
        row = _one_position(user, len(self.left_factors_), "user")
        column = _one_position(item, len(self.right_factors_), "item")
        if n is not None and n < 1:
            raise ValueError(f"n must be a positive number of contributions or None for all, got {n!r}.")
        stored = slice(self.interactions_.indptr[row], self.interactions_.indptr[row + 1])
        value = self.negatives_.value
        problem = self._row_problem(
            LEFT,
            self.interactions_[[row]],
            None if self.targets_ is None else self.targets_[stored],
            self.negatives_.left[[row]],
            value[0][[row]] if isinstance(value, tuple) else None,
        )
        return explain_pair(problem, self.left_factors_[row], self.right_factors_, column, n)

    def _fold_in(
        self, side: int, rows: Any, weights: ArrayLike | None, values: ArrayLike | None, centers: Array | None
    ) -> Array:
        problem = self._row_problem(side, rows, weights=weights, values=values, centers=centers)
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
        if self.weighting_ is not None:
            stored = self.interactions_
            degrees = np.bincount(stored.indices, minlength=stored.shape[1]) if side == LEFT else np.diff(stored.indptr)
            rows = self.weighting_.weighted_rows(rows, degrees)
        problem = new_rows(
            side, rows, self.loss_, self.negatives_, self.ridge_, self._frozen(side), targets, weights, values, centers
        )
        return every_row(problem, rows.shape[1]) if self.every_pair_ else problem

    def _comparable(self, side: int) -> Array:
        factors = super()._comparable(side)
        return np.ascontiguousarray(factors[:, : self.rank_]) if self.biases_ else factors

    def __sklearn_tags__(self) -> Any:
        """Sparse interactions are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_rank(rank: int, pairs: Pairs) -> None:
    """Refuse a rank that is larger than both sides."""
    if rank > max(pairs.shape):
        raise ValueError(
            f"rank={rank} is larger than both sides of interactions {pairs.shape}: at most {max(pairs.shape)} makes "
            "sense."
        )


def _one_position(value: Any, size: int, kind: str) -> int:
    positions = checked_positions(value, size, kind)
    if positions.size != 1:
        raise ValueError(f"explain takes one {kind}, got {positions.size}.")
    return int(positions[0])
