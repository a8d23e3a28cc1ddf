"""GaussianRatings: what users rate, by biases and a learnt covariance of all columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from everypair import check
from everypair.data.observed import Observed
from everypair.models.completion.answering import read_source
from everypair.models.completion.data import checked_validation
from everypair.models.completion.gaussian_state import GaussianMatrix
from everypair.models.completion.kernel_side import KernelSide
from everypair.models.completion.offsets import Offsets
from everypair.models.completion.trained import TrainedCompletion, measuring
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import checked, estimator, number, parameter, stop_rules
from everypair.parallel import resolve_threads, single_threaded_blas
from everypair.solvers.completion.gaussian_rows import CovarianceSteps, GaussianRowsProblem, GaussianRowsState
from everypair.solvers.loop import Callback, checked_callbacks
from everypair.training.train import train
from everypair.types import Array64

MOST_COLUMNS = 8192
OWN, ALIKE, COMMON = 0.16, 0.08, 0.12  # Σ₀ in units of the ratings' variance: own part, by features, of any two columns
LENGTH = 2.5  # η
LEAST_VARIANCE = 1e-12  # in units of the mean square
ASIDE, FEWEST_ASIDE = 0.03, 20  # share and number of rows that judge intervals, of which Σ learns nothing


@estimator
class GaussianRatings(TrainedCompletion):
    """Ratings as draws of one normal distribution, y_i = μ + x_i + e, x_i ~ N(0, Σ): E(y_ij | all that i rated).

    μ are shrunk means of the columns; Σ, what columns have in common over all rows (a row's own level, factors and
    neighbours are parts of it), is learnt by EM from all rows at once and shrunk to a prior by which all columns have
    something in common and, where there are ``right_features``, like ones more. Values stay within the observed range.

    It keeps two m × m matrices for m columns (at most 8,192: turn the matrix if rows are fewer), and a sweep costs the
    sum of the cubes of the rows' numbers of entries (at most 500 of a row) and 4m³. A row without entries gets μ.

    Attributes after ``fit``
    ------------------------
    mean_, covariance_ : μ and Σ. calibration_ : how much larger the squared errors of left-out entries were than
        their variances, by which intervals are widened; measured, where there are some hundred rows, at 3 % of them
        that Σ does not learn from.
    history_, objective_, status_, n_iter_ : one dict per sweep, the last value, why training stopped.
    row_ids_, column_ids_ : names of rows and columns where Y was a data frame, else ``None``.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> taste = random.standard_normal((200, 2)) @ random.standard_normal((2, 20))
    >>> ratings = np.clip(np.round(3 + taste), 1, 5)
    >>> shown = random.random(ratings.shape) < 0.5
    >>> model = GaussianRatings().fit(ratings, shown)
    >>> round(float(np.abs(model.complete() - ratings)[~shown].mean()), 1)
    0.5
    >>> low, high = model.interval([0], [1], coverage=0.8)
    >>> bool(low < model.predict([0], [1]) < high)
    True
    """

    noise: float = parameter(
        0.55, "σ² in units of the variance of the observed values: the part of a rating that nothing tells.",
        number(above=0),
    )  # fmt: skip
    prior_rows: float = parameter(400.0, "ν: the prior of Σ counts as much as so many rows.", number(above=0))
    max_iter: int = parameter(8)
    tol: float = parameter(0.0)

    fitted_class: ClassVar[type] = GaussianMatrix
    regularisers: ClassVar[tuple[str, ...]] = ("noise", "prior_rows")

    mean_ = FittedAttribute()
    covariance_ = FittedAttribute()
    calibration_ = FittedAttribute()

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
        """Learn from the observed entries of Y (users × items); features are those of columns alone."""
        parameters, callbacks = checked(self), checked_callbacks(callbacks)
        rules = stop_rules(parameters)
        if left_features is not None:
            raise ValueError(
                "GaussianRatings has no place for features of rows, which their entries tell apart: leave them out, or "
                "take KernelCompletion."
            )
        source = read_source(Y, mask, None, right_features, validation)
        observed, threads = source.observed, resolve_threads(self.n_threads)
        m = observed.shape[1]
        if m > MOST_COLUMNS:
            raise ValueError(
                f"GaussianRatings keeps the covariance of all columns, and {m:,} are more than {MOST_COLUMNS:,}: "
                "transpose Y if its rows are fewer, or take FNNM."
            )
        held_out = checked_validation(source.validation, observed, rules.patience)
        side = None
        if source.right_features is not None:
            side = KernelSide.of(source.right_features, "right_features", m, "rbf", source.ids(1))
        square = float(np.square(observed.values).mean())
        variance = max(float(observed.values.var()), LEAST_VARIANCE * square) or 1.0  # in any units
        mean = Offsets.of_both(observed).columns
        with single_threaded_blas():
            problem = GaussianRowsProblem(
                observed.with_values(observed.values - mean[observed.indices]), parameters.noise * variance,
                variance * _prior(m, side), parameters.prior_rows, threads, _aside(observed),
            )  # fmt: skip

            def fitted(state: GaussianRowsState) -> GaussianMatrix:
                return _fitted(observed, problem, state, mean, variance, side)

            outcome = train(
                CovarianceSteps(problem, LENGTH), GaussianRowsState(problem.prior), rules, callbacks=callbacks,
                verbose=self.verbose, validate=None if held_out is None else measuring(held_out, None, fitted, threads),
                monitor="r2", identity=(self, observed, side, held_out),
            )  # fmt: skip
            self.state_ = source.named(fitted(outcome.state).after(outcome))
        return self

    def interval(self, rows: ArrayLike, columns: ArrayLike, coverage: float = 0.9) -> tuple[Array64, Array64]:
        """Return bounds between which the values of the entries (rows[t], columns[t]) lie with this probability."""
        share = check.number("coverage", coverage, above=0, below=1)
        i, j = self._entries(rows, columns)
        state: GaussianMatrix = self.state_
        middle = state.pairs(i, j)
        width = float(scipy.special.ndtri(0.5 + share / 2)) * state.deviations(i, j)
        return state.shown(middle - width), state.shown(middle + width)

    def complete_rows(self, Y: Any, mask: Any = None) -> Array64:
        """Return the values of rows that ``fit`` did not see, known by some of their entries, in the forms of ``fit``.

        >>> ratings = np.array([[5.0, 4.0, 1.0], [4.0, 5.0, 2.0], [1.0, 2.0, 5.0], [2.0, 1.0, 4.0]])
        >>> model = GaussianRatings(prior_rows=1).fit(ratings)
        >>> model.complete_rows([[5.0, np.nan, np.nan]])[0].round(0).tolist()
        [4.0, 4.0, 2.0]
        """
        self._fitted()
        state: GaussianMatrix = self.state_
        entries = Observed.from_matrix(Y, mask)
        if entries.shape[1] != state.shape[1]:
            raise ValueError(f"Y must have {state.shape[1]} columns, as in training, got shape {entries.shape}.")
        with single_threaded_blas():
            return state.new_rows(entries)


def _aside(observed: Observed) -> NDArray[np.int64]:
    """Rows to judge intervals by, none where these would be too few."""
    rows = np.flatnonzero(np.diff(observed.indptr))
    chosen = rows[np.random.default_rng(0).random(len(rows)) < ASIDE]
    return chosen if len(chosen) >= FEWEST_ASIDE else chosen[:0]


def _prior(m: int, side: KernelSide | None) -> Array64:
    """Σ₀ in units of the variance."""
    prior = np.full((m, m), COMMON)
    if side is not None:
        prior += ALIKE * side.values(slice(None), slice(None))
    prior[np.diag_indices(m)] += OWN
    return prior


def _fitted(
    observed: Observed, problem: GaussianRowsProblem, state: GaussianRowsState, mean: Array64, variance: float,
    side: KernelSide | None,
) -> GaussianMatrix:  # fmt: skip
    """Where training stands, and g of every row."""
    weights, calibration = problem.weights(state.covariance)
    return GaussianMatrix(
        observed=observed.to_csr(), mean=mean, covariance=state.covariance,
        weights=observed.with_values(weights).to_csr(), noise=problem.noise, calibration=calibration,
        common=variance * COMMON, alike=variance * ALIKE, right_side=side, low=float(observed.values.min()),
        high=float(observed.values.max()),
    )  # fmt: skip
