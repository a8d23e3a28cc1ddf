"""What every completion model offers: fit on observed entries, complete, predict, recommend, new rows and columns.

A subclass tells what is minimised and how (``_prepare``, ``_start``, ``_solver``, ``_estimate``, ``_strongest``); data,
checks, the choice of the regularisation, training and everything after it live here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from everypair import check
from everypair.data.ids import Ids, named_filter
from everypair.data.named_matrix import NamedMatrix, named_matrix
from everypair.data.observed import Observed
from everypair.features.named_columns import aligned_rows
from everypair.metrics.completion import entry_metrics
from everypair.models.completion.correction import Correction
from everypair.models.completion.data import CompletionData, check_like, checked_validation
from everypair.models.completion.path import Iterate, PathPoint, Regularisation, search
from everypair.models.completion.side import CompletionSide
from everypair.models.completion.state import Completed
from everypair.models.estimator import Estimator, FittedAttribute
from everypair.models.parameters import Sweeping, checked, estimator, parameter, stop_rules
from everypair.parallel import blocked_product, even_chunks, resolve_threads, single_threaded_blas
from everypair.problem.completion.low_rank import LowRank, entries_of, load_kernels
from everypair.retrieve import top_k
from everypair.solvers.loop import Callback, Solver, StopRules, checked_callbacks
from everypair.training.train import train
from everypair.types import Array64

BLOCK_ROWS = 256
PAIRS_AT_ONCE = 2**16
EVERY = slice(None)


Problem = TypeVar("Problem")


@dataclass(frozen=True)
class Decomposition:
    """What a solver's state says about the matrix: M, N, and whether A N Cᵀ is added to M or only explains it."""

    low_rank: LowRank
    weights: Array64 | None
    adds: bool = True


@estimator
class CompletionModel(Sweeping, Estimator, Generic[Problem, Iterate]):
    """Base of the models of :mod:`everypair.models.completion`: of a problem and of where its solver stands.

    Attributes after ``fit``
    ------------------------
    singular_values_, left_vectors_, right_vectors_ : the low-rank part M = left · diag(values) · rightᵀ.
    rank_ : its rank.
    side_weights_ : N as a csr array, ``None`` without features; ``side_terms_`` lists its nonzeros by feature names.
    regularisation_, path_ : the values used, and every point that ``"auto"`` tried with its held-out quality.
    history_, objective_, status_, n_iter_ : one dict per iteration, the last value, why training stopped.
    row_ids_, column_ids_ : names of rows and columns where Y was a data frame, else ``None``.
    """

    max_iter: int = parameter(500)
    tol: float = parameter(1e-5, "stop when the objective falls by less than this share of itself.", check.tolerance)
    patience: int | None = parameter(
        None,
        'stop after so many iterations without a better ``"auc"`` or ``"r2"`` at the entries of ``validation``; '
        "the best one is kept.",
        check.patience,
    )

    fitted_class: ClassVar[type] = Completed
    regularisers: ClassVar[tuple[str, ...]] = ("nuclear_reg", "l1_reg")
    takes_features: ClassVar[bool] = True

    singular_values_ = FittedAttribute()
    left_vectors_ = FittedAttribute()
    right_vectors_ = FittedAttribute()
    side_weights_ = FittedAttribute()
    regularisation_ = FittedAttribute()
    path_ = FittedAttribute()
    history_ = FittedAttribute()
    objective_ = FittedAttribute()
    status_ = FittedAttribute()
    n_iter_ = FittedAttribute()
    row_ids_ = FittedAttribute()
    column_ids_ = FittedAttribute()

    def _check(self, data: CompletionData) -> None:
        """Refuse data that this model cannot learn from."""

    def _prepare(self, data: CompletionData) -> Problem:
        """Return the problem: everything that does not depend on the regularisation."""
        raise NotImplementedError

    def _start(self, problem: Problem) -> Iterate:
        """Return the state to start from."""
        raise NotImplementedError

    def _solver(self, problem: Problem, regularisation: Regularisation) -> Solver[Iterate]:
        """Return what takes a state to the next one."""
        raise NotImplementedError

    def _decomposition(self, problem: Problem, state: Iterate) -> Decomposition:
        """Return what a state says about the matrix."""
        raise NotImplementedError

    def _strongest(self, problem: Problem) -> Regularisation:
        """Return the regularisation from which on everything is zero."""
        raise NotImplementedError

    def _correction(self, observed: Observed) -> str | None:
        """How scores become values."""
        return None

    def fit(
        self,
        Y: Any,
        mask: Any = None,
        *,
        left_features: Any = None,
        right_features: Any = None,
        validation: Any = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Complete Y (rows × columns) from its observed entries.

        Parameters
        ----------
        Y : dense, NaN where unknown or with a ``mask``; or sparse, where stored entries are observed, zeros included.
            In a data frame rows are named by the index and columns by their names: ``predict`` and ``recommend`` take
            these, and frames of features, mask or validation are matched by name.
        mask : True where an entry of Y is observed.
        left_features, right_features : one row per row (column) of Y, sparse, dense, a data frame or a dict of groups.
        validation : held-out entries in the forms of Y, measured after every iteration: ``"auc"`` and ``"aupr"`` where
            Y has two values, else ``"mae"``, ``"rmse"`` and ``"r2"``; ``patience`` watches ``"auc"`` or ``"r2"``.
        callbacks : functions of a :class:`~everypair.solvers.loop.Sweep`; one that returns True ends the training.
        """
        parameters, callbacks = checked(self), checked_callbacks(callbacks)
        rules = stop_rules(parameters)
        wanted = {name: getattr(parameters, name) for name in self.regularisers}
        named = named_matrix(Y, "Y")
        if named is not None:
            Y, mask, validation = named.values, named.like(mask, "mask"), named.like(validation, "validation")
            left_features, right_features = (
                None if features is None else aligned_rows(features, ids, side, name)
                for side, (features, ids, name) in enumerate(
                    ((left_features, named.rows, "left_features"), (right_features, named.columns, "right_features"))
                )
            )
        observed = Observed.from_matrix(Y, mask)
        data = self._data(observed, left_features, right_features)
        self._check(data)
        held_out = checked_validation(validation, observed, rules.patience)
        with single_threaded_blas():
            learnt = self._learn(data, wanted, rules, held_out, callbacks)
        self.state_ = learnt if named is None else replace(learnt, row_ids=named.rows, column_ids=named.columns)
        return self

    def _learn(
        self,
        data: CompletionData,
        wanted: dict[str, float | None],
        rules: StopRules,
        held_out: Observed | None,
        callbacks: tuple[Callback, ...],
    ) -> Completed:
        """Choose what is automatic, train, and return the fitted state."""
        problem = self._prepare(data)
        start, path = self._start(problem), None
        regularisation = {name: value for name, value in wanted.items() if value is not None}
        automatic = [name for name, value in wanted.items() if value is None]
        if automatic:
            chosen, path, best = self._choose(data, problem, automatic, regularisation, rules)
            regularisation |= chosen
            start = start if best is None else best.fresh()
        outcome = train(
            self._solver(problem, regularisation), start, rules, callbacks=callbacks, verbose=self.verbose,
            warm_up=load_kernels, validate=None if held_out is None else self._measure(problem, data, held_out),
            monitor="r2" if data.observed.levels is None else "auc", identity=(self, data, held_out),
        )  # fmt: skip
        return replace(
            self._completed(problem, data, outcome.state), regularisation=regularisation, path=path,
            history=outcome.history, objective=outcome.state.objective, status=outcome.status,
            n_iter=len(outcome.history),
        )  # fmt: skip

    def complete(self, left_features: Any = None, right_features: Any = None) -> Array64:
        """Return the completed matrix, dense: rows × columns numbers.

        With ``left_features`` its rows are new ones, with ``right_features`` its columns: entities that ``fit`` did not
        see, known by what the training features' weights N say about them.
        """
        left, right = self._factors(left_features, right_features)
        return self._fitted().clip(blocked_product(left, right.T, BLOCK_ROWS, resolve_threads(self.n_threads)))

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> Array64:
        """Return the values of the entries (rows[t], columns[t]), by name or position, without forming the matrix."""
        state = self._fitted()
        n, m = state.shape
        i, j = _positions(rows, n, "rows", state.row_ids), _positions(columns, m, "columns", state.column_ids)
        if i.shape != j.shape:
            raise ValueError(f"rows and columns must have one length, got {i.size} and {j.size}.")
        (own_rows, i), (own_columns, j) = np.unique(i, return_inverse=True), np.unique(j, return_inverse=True)
        left, right = state.factors(own_rows, own_columns)
        values = np.empty(len(i))
        for start, stop in even_chunks(len(i), PAIRS_AT_ONCE):
            values[start:stop] = np.einsum("tf,tf->t", left[i[start:stop]], right[j[start:stop]])
        return state.clip(values)

    def score(self, Y: Any, mask: Any = None) -> float:
        """Return how good the completed matrix is at the known entries of Y: AUC or r².

        It is AUC where the training entries had two values, else r², which ``patience`` watches too. Y and its mask are
        those of :meth:`fit`: a matrix of the same shape with other entries, or a frame whose rows and columns are
        matched by name. A search of scikit-learn splits rows, and a row of which nothing was seen is not completed:
        give it all rows, ``cv=[(rows, rows)]``, and ``scoring=lambda model, *_: model.score(held_out)``.

        >>> from everypair.models.completion.rivals import FPCA
        >>> Y = np.outer(np.arange(1.0, 7), np.arange(1.0, 6))
        >>> shown = np.random.default_rng(0).random(Y.shape) < 0.7
        >>> round(FPCA(nuclear_reg=0.01).fit(Y, shown).score(Y, ~shown), 2)
        0.94
        """
        state = self._fitted()
        if state.row_ids is not None and state.column_ids is not None:
            named = NamedMatrix(state.singular_values, state.row_ids, state.column_ids)
            Y, mask = named.like(Y, "Y"), named.like(mask, "mask")
        held_out, levels = Observed.from_matrix(Y, mask), state.levels
        check_like(held_out, state.shape, levels, "Y", "the training matrix")
        left, right = state.factors(EVERY, EVERY)
        values = state.clip(entries_of(held_out, left, right, resolve_threads(self.n_threads)))
        return entry_metrics(values, held_out.values, levels)["r2" if levels is None else "auc"]

    def recommend(
        self,
        rows: ArrayLike | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        allow: Any = None,
        block: Any = None,
        *,
        features: Any = None,
    ) -> tuple[NDArray[Any], Array64]:
        """Return the ``n`` columns with the greatest values in each row, and the values, both (rows, n).

        ``rows``: names or positions (all by default), or describe new rows by their ``features``. ``exclude_seen``
        hides observed entries; ``allow`` and ``block`` are those of :func:`everypair.retrieve.top_k`. Equal values rank
        by ascending column; where fewer than ``n`` columns remain the rest is −1 (None among names) with −inf.
        """
        state, seen = self._fitted(), None
        if features is not None:
            if rows is not None:
                raise ValueError("give either rows (known ones) or the features of new ones, not both.")
            left, right = self._factors(features, None)
        else:
            chosen = np.arange(state.shape[0])
            if rows is not None:
                chosen = _positions(rows, state.shape[0], "rows", state.row_ids)
            left, right = state.factors(chosen, EVERY)
            seen = state.observed[chosen] if exclude_seen else None
        if left.shape[1] == 0:
            left, right = np.zeros((len(left), 1)), np.zeros((len(right), 1))
        ids = state.column_ids
        if ids is not None:
            allow, block = named_filter(allow, ids, "column"), named_filter(block, ids, "column")
        columns, values = top_k(left, right, n, exclude=seen, allow=allow, block=block, n_threads=self.n_threads)
        return columns if ids is None else ids.names(columns), np.where(columns < 0, values, state.clip(values))

    @property
    def rank_(self) -> int:
        """Rank of M."""
        return len(self.singular_values_)

    @property
    def side_terms_(self) -> list[tuple[str, str, float]]:
        """The nonzeros of N as (left feature, right feature, weight), the heaviest first."""
        N = self.side_weights_
        if N is None:
            return []
        coo = sp.coo_array(N)
        order = np.argsort(-np.abs(coo.data), kind="stable")
        left, right = self.state_.left_side, self.state_.right_side
        return [
            (
                f"row {coo.row[t]}" if left is None else left.names[coo.row[t]],
                f"column {coo.col[t]}" if right is None else right.names[coo.col[t]],
                float(coo.data[t]),
            )
            for t in order
        ]

    def _fitted(self) -> Completed:
        state: Completed = super()._fitted()
        return state

    def _factors(self, left_features: Any, right_features: Any) -> tuple[Array64, Array64]:
        state = self._fitted()
        new = [
            None if features is None else self._new(side, features)
            for side, features in (("left", left_features), ("right", right_features))
        ]
        left, right = state.factors(EVERY, EVERY, *new)
        return left, right

    def _new(self, name: str, features: Any) -> Array64:
        side = getattr(self.state_, f"{name}_side")
        if side is None:
            raise ValueError(f"this model was fitted without {name}_features, so it cannot read those of new entities.")
        return np.asarray(side.read(features))

    def _data(self, observed: Observed, left_features: Any, right_features: Any) -> CompletionData:
        """What is learnt from: entries, and features as they are used."""
        if not self.takes_features:
            if left_features is not None or right_features is not None:
                raise ValueError(
                    f"{type(self).__name__} has no place for features: leave them out, or use MLRM or FNNM."
                )
            return CompletionData(observed, None, None)
        orthonormal = self.get_params()["orthonormal"]
        left, right = (
            None if features is None else CompletionSide.of(features, name, count, orthonormal)
            for features, name, count in zip(
                (left_features, right_features), ("left_features", "right_features"), observed.shape
            )
        )
        return CompletionData(observed, left, right)

    def _completed(self, problem: Problem, data: CompletionData, state: Iterate) -> Completed:
        """What a solver's state says, as the fitted state."""
        parts = self._decomposition(problem, state)
        M, N = parts.low_rank, parts.weights
        completed = Completed(
            data.observed.to_csr(), M.left, M.values, M.right, None if N is None else sp.csr_array(N),
            data.left, data.right, parts.adds, self._compared(),
        )  # fmt: skip
        kind = self._correction(data.observed)
        if kind is None:
            return completed
        scores = entries_of(data.observed, *completed.score_factors(EVERY, EVERY), resolve_threads(self.n_threads))
        return replace(
            completed, correction=Correction.learn(kind, data.observed, scores, completed.compared == "rows")
        )

    def _compared(self) -> str | None:
        """``"columns"`` or ``"rows"`` where a ranking loss compares those, so that they have no level of their own."""
        return None

    def _measure(
        self, problem: Problem, data: CompletionData, held_out: Observed
    ) -> Callable[[Iterate], dict[str, float]]:
        """Return the function that measures a solver's state at held-out entries."""

        def measure(state: Iterate) -> dict[str, float]:
            completed = self._completed(problem, data, state)
            left, right = completed.factors(EVERY, EVERY)
            values = completed.clip(entries_of(held_out, left, right, resolve_threads(self.n_threads)))
            return entry_metrics(values, held_out.values, data.observed.levels)

        return measure

    def _choose(
        self, data: CompletionData, problem: Problem, automatic: list[str], fixed: Regularisation, rules: StopRules
    ) -> tuple[Regularisation, list[dict[str, float]], Iterate | None]:
        """Return the regularisation with the best quality at held-out observed entries, and all that was tried."""

        def prepared(observed: Observed, held_out: Observed) -> PathPoint[Iterate]:
            part = replace(data, observed=observed)
            inner = self._prepare(part)
            return PathPoint(
                self._start(inner),
                lambda regularisation: self._solver(inner, regularisation),
                self._measure(inner, part, held_out),
            )

        return search(data.observed, self._strongest(problem), automatic, fixed, rules, prepared)


def _positions(values: ArrayLike, size: int, kind: str, ids: Ids | None = None) -> NDArray[np.int64]:
    if ids is not None:
        return ids.index(values, kind.removesuffix("s"))
    array = np.atleast_1d(np.asarray(values))
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{kind} must be integer positions (one or a 1-D array), got dtype {array.dtype}.")
    if array.min() < 0 or array.max() >= size:
        bad = array[(array < 0) | (array >= size)][0]
        raise ValueError(f"{kind} {bad} is unknown: the model was fitted on {size} {kind} (0 to {size - 1}).")
    return array.astype(np.int64)
