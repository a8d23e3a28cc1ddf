"""OneClassMF: matrix factorization over every pair, the observed ones and all the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from everypair.data.pairs import Pairs, as_csr
from everypair.metrics import stream_metrics
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.ranking import check_truth
from everypair.models.base import FactorModel, checked_positions, checked_rows, dense_scores
from everypair.models.progress import Progress, compile_first
from everypair.parallel import resolve_threads
from everypair.problem.losses import Loss, get_loss
from everypair.problem.negatives import Negatives, Scheme, Value, check_scheme
from everypair.problem.objective import LEFT, RIGHT, Objective
from everypair.problem.ridge import Ridge
from everypair.problem.rows import RowProblem
from everypair.solvers.fold_in import new_rows, solve_to_optimum
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import Callback, Status, StopRules, run
from everypair.solvers.newton import Factors, RowNewton

Array = NDArray[Any]
AUTO_NEGATIVE_WEIGHT = {"squared": 8.0, "logistic": 2.5, "squared_hinge": 2.5}  # times the density |Ω⁺|/(m n)
START_SCALE = 0.1  # standard deviation of the random start, times 1/√k


class Explanation(NamedTuple):
    """Why a user has a score for an item: ``base`` + Σ ``contributions`` = ``score``, largest contribution first."""

    score: float
    base: float
    items: NDArray[np.int64]
    contributions: Array


class OneClassMF(FactorModel):
    """Factorize a matrix of positives so that every pair counts: F = Σ_Ω c ℓ(y, s) + ½ Σ_{∉Ω} p_i q_j (ỹ − s)² + ridge.

    Parameters
    ----------
    rank : number of factors k.
    loss : on stored pairs: ``"logistic"``, ``"squared"``, ``"squared_hinge"`` or a
        :class:`~everypair.problem.losses.Loss`.
    negative_weight : mean weight p_i q_j of a pair that is not stored; ``"auto"`` is a multiple of the density.
    negative_scheme : shape of those weights: ``"constant"``, ``"left-count"``, ``"right-rarity"``,
        ``("popularity", β)`` or arrays ``(p, q)``.
    negative_value : the score ỹ they are pulled to: a number, matrices ``(Ũ, Ṽ)`` with ỹ = Ũ Ṽᵀ, or ``"auto"``: −1,
        and 0 for the squared loss.
    reg, reg_exponent : ridge λ (or a (left, right) pair) and the power ν of a row's total weight that scales it, or
        ``"count"`` for λ·max(1, |Ω_i⁺|).
    biases : learn a bias for every user and every item.
    max_iter, tol, patience, time_limit : stop after so many sweeps, at a relative decrease of the objective below
        ``tol``, after ``patience`` sweeps without a better validation nDCG@10, or after so many seconds of training.
    cg_steps : conjugate-gradient steps of a row in each half-sweep.
    random_state : seed of the start; the same seed gives the same bits on any number of threads.
    n_threads : threads to use, all cores by default.
    dtype : ``"float32"`` or ``"float64"``.
    verbose : show progress.

    Attributes
    ----------
    left_factors_, right_factors_ : U (m × k) and V (n × k); with ``biases`` two more columns each, [W, b, 1] and
        [H, 1, b̄].
    history_ : one dict per sweep: ``"objective"``, cumulative ``"seconds"`` and validation metrics.
    objective_, status_ : the last objective and a sentence on why training stopped.
    negative_weight_ : the mean negative weight that was used.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((6, 5)))  # two groups of users, two of items
    >>> blocks[0, 0] = 0                              # one event was not observed
    >>> model = OneClassMF(rank=2, random_state=0).fit(blocks)
    >>> items, scores = model.recommend([0], n=1)
    >>> int(items[0, 0])
    0
    """

    def __init__(
        self,
        rank: int = 64,
        loss: str | Loss = "logistic",
        negative_weight: float | str = "auto",
        negative_scheme: Scheme = "constant",
        negative_value: Value | str = "auto",
        reg: float | tuple[float, float] = 0.3,
        reg_exponent: float | str = 0.5,
        biases: bool = False,
        max_iter: int = 16,
        tol: float = 1e-4,
        cg_steps: int = 2,
        patience: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        dtype: str = "float32",
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.loss = loss
        self.negative_weight = negative_weight
        self.negative_scheme = negative_scheme
        self.negative_value = negative_value
        self.reg = reg
        self.reg_exponent = reg_exponent
        self.biases = biases
        self.max_iter = max_iter
        self.tol = tol
        self.cg_steps = cg_steps
        self.patience = patience
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_threads = n_threads
        self.dtype = dtype
        self.verbose = verbose

    def fit(
        self,
        interactions: Any,
        *,
        targets: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Learn both sides' factors from a matrix of interactions (users × items).

        A positive stored value is the weight of a positive, a negative value −w a dislike of weight w; ``targets`` (of
        the same pattern) overrides their targets. ``validation``, held-out positives of the same users, is measured
        after each sweep and stops the training if ``patience`` is set. A callback gets a
        :class:`~everypair.solvers.loop.Sweep` and stops the training by returning ``True``. Ctrl-C keeps what was
        learnt.
        """
        rules, steps, threads = self._checked_parameters()
        pairs = Pairs.from_matrix(interactions, targets, np.dtype(self.dtype))
        if self.rank > max(pairs.shape):
            raise ValueError(
                f"rank={self.rank} is larger than both sides of interactions {pairs.shape}: at most "
                f"{max(pairs.shape)} makes sense."
            )
        loss = get_loss(self.loss)
        weight = self._mean_negative_weight(loss, pairs)
        negatives = Negatives.from_scheme(pairs, weight, self.negative_scheme, self._value(loss))
        ridge = Ridge.checked(self.reg, self.reg_exponent)
        objective = Objective(
            pairs,
            loss,
            negatives,
            ridge,
            rank=self.rank,
            biases=self.biases,
            dtype=self.dtype,
            n_threads=threads,
        )
        training = pairs.to_csr()
        validate = self._validator(training, validation, threads)
        with Progress(self.max_iter, self.verbose) as progress:
            compile_first(lambda tiny: RowNewton(tiny, steps), objective, self._columns, progress)
            outcome = run(
                RowNewton(objective, steps, threads),
                Factors(*self._start(pairs.shape)),
                rules,
                validate=validate,
                callbacks=(progress.advance, *callbacks),
            )
        self.left_factors_, self.right_factors_ = outcome.state.left, outcome.state.right
        self.interactions_, self.targets_ = training, pairs.targets
        self.negatives_, self.ridge_ = negatives, ridge
        self.history_ = outcome.history
        self.objective_ = outcome.state.objective
        self.status_ = outcome.status
        self.n_iter_ = len(outcome.history)
        self.negative_weight_ = weight
        return self

    @property
    def _columns(self) -> int:
        return self.rank + (2 if self.biases else 0)

    def _checked_parameters(self) -> tuple[StopRules, RowSteps, int]:
        for name, least in (("rank", 1), ("max_iter", 1), ("cg_steps", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"{name} must be an integer ≥ {least}, got {value!r}.")
        if not (isinstance(self.tol, int | float) and self.tol >= 0):
            raise ValueError(f"tol must be a number ≥ 0, got {self.tol!r}.")
        if self.patience is not None and (not isinstance(self.patience, int) or self.patience < 1):
            raise ValueError(f"patience must be a positive integer or None, got {self.patience!r}.")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(f"time_limit must be a positive number of seconds or None, got {self.time_limit!r}.")
        if str(self.dtype) not in ("float32", "float64"):
            raise ValueError(f'dtype must be "float32" or "float64", got {self.dtype!r}.')
        check_scheme(self.negative_scheme)
        rules = StopRules(int(self.max_iter), float(self.tol), self.patience, self.time_limit)
        return rules, RowSteps(cg=int(self.cg_steps)), resolve_threads(self.n_threads)

    def _mean_negative_weight(self, loss: Loss, pairs: Pairs) -> float:
        if isinstance(self.negative_weight, str):
            if self.negative_weight != "auto":
                raise ValueError(f'negative_weight must be a number ≥ 0 or "auto", got {self.negative_weight!r}.')
            density = pairs.n_positives / (pairs.shape[0] * pairs.shape[1])
            return AUTO_NEGATIVE_WEIGHT.get(loss.name, AUTO_NEGATIVE_WEIGHT["logistic"]) * density
        return float(self.negative_weight)

    def _value(self, loss: Loss) -> Value:
        if isinstance(self.negative_value, str):
            if self.negative_value != "auto":
                raise ValueError(f'negative_value must be a number, (Ũ, Ṽ) or "auto", got {self.negative_value!r}.')
            return loss.negative_value
        return self.negative_value

    def _start(self, shape: tuple[int, int]) -> tuple[Array, Array]:
        """Zero for the left side, which is solved first, and small random numbers for the right one."""
        random = np.random.default_rng(self.random_state)
        left = np.zeros((shape[0], self._columns), self.dtype)
        right = random.standard_normal((shape[1], self._columns), np.float64).astype(self.dtype)
        right *= START_SCALE / np.sqrt(self.rank)
        if self.biases:
            left[:, self.rank + 1] = 1
            right[:, self.rank] = 1
            right[:, self.rank + 1] = 0
        return left, right

    def _validator(self, training: Any, validation: Any, threads: int) -> Any:
        if validation is None:
            if self.patience is not None:
                raise ValueError("patience needs validation data: fit(interactions, validation=held_out).")
            return None
        seen, held_out = stored_pattern(training, "interactions"), positive_pattern(validation, "validation")
        check_truth(seen, held_out, "interactions", "validation")

        def validate(state: Factors) -> dict[str, float]:
            return stream_metrics(
                lambda rows: dense_scores(state.left[rows], state.right, threads),
                seen,
                held_out,
                (10,),
                n_threads=threads,
            )

        return validate

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
        frozen = None if not self.biases else self.rank + (1 if side == LEFT else 0)
        return new_rows(side, rows, get_loss(self.loss), self.negatives_, self.ridge_, frozen, targets, weights, values)

    def _comparable(self, side: int) -> Array:
        factors = super()._comparable(side)
        return np.ascontiguousarray(factors[:, : self.rank]) if self.biases else factors

    def explain(self, user: int, item: int, n: int | None = None) -> Explanation:
        """Split the score of a pair into contributions of the user's stored pairs and a base term.

        At the optimum of the user's sub-problem u = A⁻¹(p Σ_j q_j ỹ_j v_j − Σ_Ω r_j v_j) with A = p VᵀQV + λ I, so the
        stored pair (i, j) contributes −r_j vᵀA⁻¹v_j to the score uᵀv, for every loss. The base term is what would be
        left without stored pairs; it also holds the item's bias and what training left unsolved. ``n`` keeps only the
        largest contributions.
        """
        check_is_fitted(self)
        row = int(checked_positions(user, len(self.left_factors_), "user")[0])
        column = int(checked_positions(item, len(self.right_factors_), "item")[0])
        if n is not None and n < 1:
            raise ValueError(f"n must be a positive number of contributions or None for all, got {n!r}.")
        items, shares = self._contributions(row, column)
        score = float(self.score_pairs([row], [column])[0])
        order = np.argsort(-np.abs(shares), kind="stable")[:n]
        return Explanation(score, score - float(shares.sum()), items[order], shares[order])

    def _contributions(self, row: int, column: int) -> tuple[NDArray[np.int64], Array]:
        stored = slice(self.interactions_.indptr[row], self.interactions_.indptr[row + 1])
        problem = self._row_problem(
            LEFT,
            self.interactions_[[row]],
            None if self.targets_ is None else self.targets_[stored],
            self.negatives_.left[[row]],
            None if not isinstance(self.negatives_.value, tuple) else self.negatives_.value[0][[row]],
        )
        factors = self.right_factors_.astype(np.float64)
        items = problem.indices.astype(np.int64)
        p, q = float(problem.own_weights[0]), problem.other_weights[items].astype(np.float64)
        scores = factors[items] @ self.left_factors_[row]
        slopes = problem.weights * problem.loss.slope(problem.targets, scores) - p * q * (scores - problem.values)
        free = problem.free_columns(factors.shape[1])
        system = p * problem.gram_of(self.right_factors_).matrix[np.ix_(free, free)] + float(problem.ridge[0]) * np.eye(
            free.sum()
        )
        influence = np.linalg.lstsq(system, factors[column, free], rcond=None)[0]
        return items, -slopes * (factors[items][:, free] @ influence)

    def __sklearn_tags__(self) -> Any:
        """Sparse interactions are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


__all__ = ["Explanation", "OneClassMF", "Status"]
