"""What completion models that iterate have in common: what is minimised, the choice of its regularisation, training.

A subclass tells what is minimised and how (``_prepare``, ``_start``, ``_solver``, ``_decomposition``, ``_strongest``);
what comes after training is in :mod:`everypair.models.completion.answering`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from everypair.data.observed import Observed
from everypair.models.completion.answering import read_source
from everypair.models.completion.correction import Correction
from everypair.models.completion.data import CompletionData, checked_validation
from everypair.models.completion.fitted import EVERY
from everypair.models.completion.path import Iterate, PathPoint, Regularisation, search
from everypair.models.completion.side import CompletionSide
from everypair.models.completion.state import Completed
from everypair.models.completion.trained import TrainedCompletion, measuring
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import checked, estimator, parameter, stop_rules
from everypair.parallel import resolve_threads, single_threaded_blas
from everypair.problem.completion.low_rank import LowRank, entries_of, load_kernels
from everypair.solvers.loop import Callback, Solver, StopRules, checked_callbacks
from everypair.training.train import train
from everypair.types import Array64

Problem = TypeVar("Problem")


@dataclass(frozen=True)
class Decomposition:
    """What a solver's state says about the matrix: M, N, and whether A N Cᵀ is added to M or only explains it."""

    low_rank: LowRank
    weights: Array64 | None
    adds: bool = True


@estimator
class CompletionModel(TrainedCompletion, Generic[Problem, Iterate]):
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

    fitted_class: ClassVar[type] = Completed
    regularisers: ClassVar[tuple[str, ...]] = ("nuclear_reg", "l1_reg")
    takes_features: ClassVar[bool] = True

    singular_values_ = FittedAttribute()
    left_vectors_ = FittedAttribute()
    right_vectors_ = FittedAttribute()
    side_weights_ = FittedAttribute()
    regularisation_ = FittedAttribute()
    path_ = FittedAttribute()

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
        source = read_source(Y, mask, left_features, right_features, validation)
        data = self._data(source.observed, source.left_features, source.right_features)
        self._check(data)
        held_out = checked_validation(source.validation, source.observed, rules.patience)
        with single_threaded_blas():
            learnt = self._learn(data, wanted, rules, held_out, callbacks)
        self.state_ = source.named(learnt)
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
        learnt = self._completed(problem, data, outcome.state).after(outcome)
        return replace(learnt, regularisation=regularisation, path=path)

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
            observed=data.observed.to_csr(), left_vectors=M.left, singular_values=M.values, right_vectors=M.right,
            side_weights=None if N is None else sp.csr_array(N), left_side=data.left, right_side=data.right,
            side_adds=parts.adds, compared=self._compared(),
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
        threads = resolve_threads(self.n_threads)
        return measuring(held_out, data.observed.levels, lambda state: self._completed(problem, data, state), threads)

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
