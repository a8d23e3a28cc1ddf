"""What every matrix factorization shares: training by the one loop, fold-in as training's sub-problem, explanation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from everypair.data.pairs import Pairs, as_csr
from everypair.metrics import stream_metrics
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.ranking import check_truth
from everypair.models.base import FactorModel, checked_positions, checked_rows, dense_scores
from everypair.models.explanation import Explanation, explain_pair
from everypair.models.progress import Progress, compile_first
from everypair.parallel import resolve_threads
from everypair.problem.losses import Loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import LEFT, RIGHT, Objective
from everypair.problem.ridge import Ridge
from everypair.problem.rows import RowProblem
from everypair.solvers.fold_in import new_rows, solve_to_optimum
from everypair.solvers.loop import Callback, Outcome, Solver, Status, StopRules, run
from everypair.solvers.newton import Factors

Array = NDArray[Any]
START_SCALE = 0.1  # standard deviation of the random start, times 1/√k


class FactorizationModel(FactorModel):
    """Base of models trained on an :class:`Objective`; a subclass calls :meth:`_train` from its ``fit``."""

    loss_: Loss
    negatives_: Negatives
    ridge_: Ridge
    targets_: Array | None
    rank_: int
    biases_: bool
    history_: list[dict[str, Any]]
    objective_: float | None
    status_: Status
    n_iter_: int

    def _train(
        self,
        objective: Objective,
        make_solver: Callable[[Objective], Solver],
        start: Factors,
        rules: StopRules,
        validate: Callable[[Factors], dict[str, float]] | None,
        callbacks: tuple[Callback, ...],
        verbose: bool,
    ) -> Outcome:
        """Compile, run the loop and keep what it learnt."""
        with Progress(rules.max_iter, verbose) as progress:
            compile_first(make_solver, objective, start.left.shape[1], progress)
            outcome = run(
                make_solver(objective), start, rules, validate=validate, callbacks=(progress.advance, *callbacks)
            )
        self.left_factors_, self.right_factors_ = outcome.state.left, outcome.state.right
        self.history_ = outcome.history
        self.objective_ = outcome.state.objective
        self.status_ = outcome.status
        self.n_iter_ = len(outcome.history)
        return outcome

    def fold_in_users(self, rows: Any, weights: ArrayLike | None = None, values: ArrayLike | None = None) -> Array:
        """Factors (c, k) of new users from their interactions (c × n): the optimum of their training sub-problem.

        ``weights`` are their p_i where ``negative_scheme`` is arrays (its mean by default), ``values`` their rows of Ũ
        where ``negative_value`` is low rank (the mean row by default).
        """
        check_is_fitted(self)
        new = checked_rows(rows, len(self.right_factors_), self.right_factors_.dtype, "rows")
        return self._fold_in(LEFT, new, weights, values)

    def fold_in_items(self, columns: Any, weights: ArrayLike | None = None, values: ArrayLike | None = None) -> Array:
        """Factors (c, k) of new items from their interactions (m × c): the optimum of their training sub-problem."""
        check_is_fitted(self)
        matrix, _ = as_csr(columns, self.right_factors_.dtype, "columns")
        if matrix.shape[0] != len(self.left_factors_):
            raise ValueError(
                f"columns must have one row per training user ({len(self.left_factors_)}), got shape {matrix.shape}: "
                "new items are columns."
            )
        new = checked_rows(matrix.T, len(self.left_factors_), self.right_factors_.dtype, "columns")
        return self._fold_in(RIGHT, new, weights, values)

    def explain(self, user: int, item: int, n: int | None = None) -> Explanation:
        """Split the score of a pair into contributions of the user's stored pairs and a base term.

        The stored pair with item j contributes −r_j vᵀA⁻¹v_j, with A = p VᵀQV + λ I and r_j the slope of its loss, less
        the negative it replaces. The base term is what would be left without stored pairs; it also holds the item's
        bias and what training left unsolved. ``n`` keeps only the largest contributions.
        """
        check_is_fitted(self)
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

    def _fold_in(self, side: int, rows: Any, weights: ArrayLike | None, values: ArrayLike | None) -> Array:
        problem = self._row_problem(side, rows, weights=weights, values=values)
        other = self.right_factors_ if side == LEFT else self.left_factors_
        return solve_to_optimum(problem, other, resolve_threads(self.n_threads))

    def _row_problem(
        self,
        side: int,
        rows: Any,
        targets: Array | None = None,
        weights: ArrayLike | None = None,
        values: ArrayLike | None = None,
    ) -> RowProblem:
        frozen = None if not self.biases_ else self.rank_ + (1 if side == LEFT else 0)
        return new_rows(side, rows, self.loss_, self.negatives_, self.ridge_, frozen, targets, weights, values)

    def _comparable(self, side: int) -> Array:
        factors = super()._comparable(side)
        return np.ascontiguousarray(factors[:, : self.rank_]) if self.biases_ else factors

    def __sklearn_tags__(self) -> Any:
        """Sparse interactions are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def random_start(shape: tuple[int, int], rank: int, biases: bool, random: np.random.Generator, dtype: Any) -> Factors:
    """Zero for the left side, which is solved first, and small random numbers for the right one."""
    columns = rank + (2 if biases else 0)
    left = np.zeros((shape[0], columns), dtype)
    right = random.standard_normal((shape[1], columns)).astype(dtype)
    right *= START_SCALE / np.sqrt(rank)
    if biases:
        left[:, rank + 1] = 1
        right[:, rank] = 1
        right[:, rank + 1] = 0
    return Factors(left, right)


def check_rank(rank: int, pairs: Pairs) -> None:
    """Refuse a rank that is larger than both sides."""
    if rank > max(pairs.shape):
        raise ValueError(
            f"rank={rank} is larger than both sides of interactions {pairs.shape}: at most {max(pairs.shape)} makes "
            "sense."
        )


def make_validator(
    training: Any, validation: Any, patience: int | None, n_threads: int
) -> Callable[[Factors], dict[str, float]] | None:
    """Return the function that measures held-out positives after a sweep, or None where there are none."""
    if validation is None:
        if patience is not None:
            raise ValueError("patience needs validation data: fit(interactions, validation=held_out).")
        return None
    seen, held_out = stored_pattern(training, "interactions"), positive_pattern(validation, "validation")
    check_truth(seen, held_out, "interactions", "validation")

    def validate(state: Factors) -> dict[str, float]:
        def score_rows(rows: Array) -> Array:
            return dense_scores(state.left[rows], state.right, n_threads)

        return stream_metrics(score_rows, seen, held_out, (10,), n_threads=n_threads)

    return validate


def _one_position(value: Any, size: int, kind: str) -> int:
    positions = checked_positions(value, size, kind)
    if positions.size != 1:
        raise ValueError(f"explain takes one {kind}, got {positions.size}.")
    return int(positions[0])
