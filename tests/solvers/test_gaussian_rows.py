"""EM over rows with holes, beside loops and conditional distributions of normal variables."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from everypair.data.observed import Observed
from everypair.models.completion import GaussianRatings
from everypair.solvers.completion import gaussian_rows
from everypair.solvers.completion.gaussian_rows import (
    CovarianceSteps,
    GaussianRowsProblem,
    GaussianRowsState,
    fit_row,
)

RNG = np.random.default_rng(0)
N, M = 40, 7
ROOT = RNG.standard_normal((M, M))
TRUE = ROOT @ ROOT.T
FULL = RNG.multivariate_normal(np.zeros(M), TRUE, N) + 0.5 * RNG.standard_normal((N, M))
Y = np.where(RNG.random((N, M)) < 0.6, FULL, np.nan)
Y[3] = np.nan
PRIOR = np.eye(M) + 0.2


def problem(threads=1, rows=2.0):
    return GaussianRowsProblem(Observed.from_matrix(Y), 0.25, PRIOR, rows, threads)


def plain_step(K, length=1.0, noise=0.25, rows=2.0):
    """E and Var of every row given its entries, entry by entry of the textbook."""
    moments, value = np.zeros((M, M)), 0.0
    for y in Y:
        o = np.flatnonzero(~np.isnan(y))
        inner = K[np.ix_(o, o)] + noise * np.eye(len(o))
        gain = K[:, o] @ np.linalg.inv(inner)
        mean, spread = gain @ y[o], K - gain @ K[o]
        moments += np.outer(mean, mean) + spread
        if len(o):
            value -= multivariate_normal(np.zeros(len(o)), inner).logpdf(y[o])
    step = K + length * (moments / N - K)
    return (N * step + rows * PRIOR) / (N + rows), value


@pytest.mark.parametrize("length", [1.0, 1.3])
def test_a_step_is_the_textbooks(length):
    state = GaussianRowsState(PRIOR)
    solver = CovarianceSteps(problem(), length)
    for _ in range(3):
        expected, value = plain_step(state.covariance, length)
        state = solver.step(state)
        np.testing.assert_allclose(state.covariance, expected, atol=1e-9)
        np.testing.assert_allclose(state.objective, value)


def test_without_a_prior_the_likelihood_never_falls():
    state, solver, values = GaussianRowsState(PRIOR), CovarianceSteps(problem(rows=1e-12), 1.0), []
    for _ in range(15):
        state = solver.step(state)
        values.append(state.objective)
    assert (np.diff(values) < 1e-9).all()


def test_left_out_entries_are_predicted_without_them():
    y = FULL[0]
    o = np.arange(M)
    row = fit_row(o, y, TRUE, 0.25, inverse=True)
    for t in range(M):
        rest = np.delete(o, t)
        inner = TRUE[np.ix_(rest, rest)] + 0.25 * np.eye(M - 1)
        mean = TRUE[t, rest] @ np.linalg.solve(inner, y[rest])
        variance = TRUE[t, t] + 0.25 - TRUE[t, rest] @ np.linalg.solve(inner, TRUE[rest, t])
        np.testing.assert_allclose(row.g[t] / row.G[t, t], y[t] - mean)
        np.testing.assert_allclose(row.squares[t], (y[t] - mean) ** 2 / variance)


def test_threads_change_no_bit_and_long_rows_teach_by_a_part(monkeypatch):
    ends = []
    for threads, most in ((1, 500), (2, 500), (1, 3)):
        monkeypatch.setattr(gaussian_rows, "MOST", most)
        ends.append(CovarianceSteps(problem(threads), 1.0).step(GaussianRowsState(PRIOR)).covariance)
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])
    np.testing.assert_allclose(ends[0], ends[2], atol=2.0)


def ratings(n=300, m=25):
    random = np.random.default_rng(1)
    taste = random.standard_normal((n, 3)) @ random.standard_normal((3, m))
    full = np.clip(np.round(3.2 + 0.6 * taste + 0.5 * random.standard_normal((n, m))), 1, 5)
    return full, random.random((n, m)) < 0.5


def test_values_are_in_the_users_units_and_intervals_cover():
    full, shown = ratings()
    model = GaussianRatings(prior_rows=20).fit(full, shown)
    completed = model.complete()
    assert completed.min() >= 1
    assert completed.max() <= 5
    hidden = np.nonzero(~shown)
    error = np.abs(completed - full)[hidden].mean()
    assert error < 0.8 * np.abs(model.mean_ - full)[hidden].mean()
    for coverage in (0.5, 0.9):
        low, high = model.interval(*hidden, coverage=coverage)
        assert abs(np.mean((full[hidden] >= low) & (full[hidden] <= high)) - coverage) < 0.08


def test_new_users_by_their_ratings_and_cold_ones():
    full, shown = ratings()
    shown[7] = False
    model = GaussianRatings(prior_rows=20).fit(full, shown)
    np.testing.assert_allclose(model.complete()[7], model.mean_)
    again = model.complete_rows(np.where(shown[:5], full[:5], np.nan))
    np.testing.assert_allclose(again, model.complete()[:5], atol=1e-9)
    with pytest.raises(ValueError, match="25 columns"):
        model.complete_rows(full[:, :3])
    with pytest.raises(ValueError, match="coverage must be"):
        model.interval([0], [0], coverage=1.0)


def test_features_of_columns_help_cold_columns():
    full, shown = ratings()
    full, shown = np.repeat(full, 2, axis=1), np.repeat(shown, 2, axis=1)
    shown[:, 9] = False  # the twin of column 8
    features = np.repeat(np.eye(25), 2, axis=0)
    told = GaussianRatings(prior_rows=20).fit(full, shown, right_features=features)
    plain = GaussianRatings(prior_rows=20).fit(full, shown)
    alike = [np.corrcoef(model.complete()[:, 9], full[:, 8])[0, 1] for model in (told, plain)]
    assert alike[0] > alike[1] + 0.1
    new = told.complete(right_features=features[[8]])
    assert new.shape == (300, 1)
    assert np.isfinite(new).all()


def test_too_long_steps_are_shortened():
    full, shown = ratings(60, 20)
    ends = []
    for length in (1.0, 3.5):
        observed = Observed.from_matrix(full - full.mean(), shown)
        one = GaussianRowsProblem(observed, 0.01, 0.3 * np.eye(20) + 0.1, 1.0)
        state, solver = GaussianRowsState(one.prior), CovarianceSteps(one, length)
        for _ in range(60):
            state = solver.step(state)
        ends.append(state.objective)
    assert ends[1] < ends[0] + 0.01 * abs(ends[0])


def test_what_makes_no_sense_is_refused(monkeypatch):
    full, shown = ratings(20, 6)
    with pytest.raises(ValueError, match="no place for features of rows"):
        GaussianRatings().fit(full, shown, left_features=full)
    monkeypatch.setattr("everypair.models.completion.gaussian_ratings.MOST_COLUMNS", 5)
    with pytest.raises(ValueError, match="transpose Y"):
        GaussianRatings().fit(full, shown)
