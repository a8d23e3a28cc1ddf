"""What GaussianRatings claims: intervals that hold, units that do not matter, cold rows and columns, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from everypair.data.observed import Observed
from everypair.models.completion import GaussianRatings
from everypair.models.completion.kernel_side import KernelSide
from everypair.solvers.completion.gaussian_rows import CovarianceSteps, GaussianRowsProblem, GaussianRowsState

RNG = np.random.default_rng(0)
N, M = 60, 20
TASTE = RNG.standard_normal((N, 3)) @ RNG.standard_normal((3, M))
STARS = np.clip(np.round(3 + TASTE), 1, 5)
SHOWN = RNG.random((N, M)) < 0.5
SHOWN[4], SHOWN[:, 7] = False, False


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_intervals_hold_as_many_hidden_values_as_they_say(coverage):
    random = np.random.default_rng(1)
    values = random.standard_normal((800, 4)) @ random.standard_normal((4, 25)) + random.standard_normal((800, 25))
    shown = random.random(values.shape) < 0.4
    model = GaussianRatings().fit(values, shown)
    i, j = np.nonzero(~shown)
    low, high = model.interval(i, j, coverage)
    inside = (low <= values[i, j]) & (values[i, j] <= high)
    assert abs(inside.mean() - coverage) < 0.03


def test_deviations_are_those_of_the_normal_distribution():
    model = GaussianRatings().fit(STARS, SHOWN)
    state, o = model.state_, np.flatnonzero(SHOWN[2])
    inner = np.linalg.inv(model.covariance_[np.ix_(o, o)] + state.noise * np.eye(len(o)))
    told = model.covariance_[:, o] @ inner
    mean = model.mean_ + told @ (STARS[2, o] - model.mean_[o])
    np.testing.assert_allclose(model.complete()[2], np.clip(mean, 1, 5), atol=1e-9)
    variance = np.diag(model.covariance_ - told @ model.covariance_[o]) + state.noise
    found = state.deviations(np.full(M, 2), np.arange(M))
    np.testing.assert_allclose(found, np.sqrt(model.calibration_ * variance), rtol=1e-9)
    low, high = model.interval(np.full(M, 2), np.arange(M), 0.9)
    np.testing.assert_allclose(low, np.clip(mean - 1.6448536 * found, 1, 5), atol=1e-6)
    np.testing.assert_allclose(high, np.clip(mean + 1.6448536 * found, 1, 5), atol=1e-6)


@pytest.mark.parametrize(("scale", "shift"), [(1e-9, 0.0), (20.0, 50.0), (1e6, -3e6)])
def test_values_are_in_the_units_of_the_data(scale, shift):
    plain = GaussianRatings().fit(STARS, SHOWN)
    other = GaussianRatings().fit(STARS * scale + shift, SHOWN)
    np.testing.assert_allclose(other.complete(), plain.complete() * scale + shift, rtol=1e-6, atol=1e-6 * scale)
    rows, columns = np.arange(10), np.arange(10)
    for bound, expected in zip(other.interval(rows, columns), plain.interval(rows, columns)):
        np.testing.assert_allclose(bound, expected * scale + shift, rtol=1e-6, atol=1e-6 * scale)


def test_a_cold_user_gets_the_means_and_the_widest_intervals(capfd):
    model = GaussianRatings().fit(STARS, SHOWN)
    means = np.clip(model.mean_, 1, 5)
    np.testing.assert_allclose(model.complete()[4], means)
    later = model.complete_rows(np.vstack([np.full(M, np.nan), STARS[5]]))
    np.testing.assert_allclose(later[0], means)
    assert capfd.readouterr().err == ""
    cold, known = (model.state_.deviations(np.full(M, row), np.arange(M)) for row in (4, 5))
    assert np.all(cold > known)


def test_a_row_that_comes_later_is_answered_as_a_known_one():
    model = GaussianRatings().fit(STARS, SHOWN)
    later = model.complete_rows(np.where(SHOWN, STARS, np.nan)[:10])
    np.testing.assert_allclose(later, model.complete()[:10], atol=1e-9)


def test_a_cold_item_is_known_by_its_features():
    kinds = np.repeat(np.eye(2), M // 2, axis=0)
    likes = np.where(np.arange(N) % 2, 1, -1)[:, None] * np.where(kinds[:, 0], 1, -1)
    values = 3 + likes + 0.3 * RNG.standard_normal((N, M))
    shown = SHOWN.copy()
    shown[:, [7, 15]] = False
    model = GaussianRatings().fit(values, shown, right_features=kinds)
    found = model.complete()
    for column in (7, 15):
        assert np.corrcoef(found[:, column], values[:, column])[0, 1] > 0.5
    side = KernelSide.of(kinds, "right_features", M, "rbf", None)
    spread = values[shown].var()
    new = model.complete(right_features=kinds[[0]])
    prior = spread * (0.12 + 0.08 * side.of_new(kinds[[0]]))
    expected = model.mean_.mean() + model.state_.weights @ prior.T
    np.testing.assert_allclose(new, np.clip(expected, values[shown].min(), values[shown].max()), atol=1e-9)


def test_hidden_entries_are_never_looked_at():
    other = np.where(SHOWN, STARS, 77.0)
    np.testing.assert_array_equal(
        GaussianRatings().fit(other, SHOWN).complete(), GaussianRatings().fit(STARS, SHOWN).complete()
    )


def test_rows_aside_judge_and_do_not_teach():
    observed = Observed.from_matrix(STARS - 3, SHOWN)
    aside = np.array([0, 3])
    problem = GaussianRowsProblem(observed, 0.5, np.eye(M) + 0.2, 5.0, aside=aside)
    step = CovarianceSteps(problem, 1.0).step(GaussianRowsState(problem.prior))
    changed = observed.with_values(np.where(np.isin(observed.rows, aside), 9.0, observed.values))
    again = CovarianceSteps(replace(problem, centred=changed), 1.0).step(GaussianRowsState(problem.prior))
    np.testing.assert_array_equal(again.covariance, step.covariance)
    # left-out errors of their entries alone, each by a fit of the row without it
    squares = []
    for row in aside:
        o = np.flatnonzero(SHOWN[row])
        for t in o:
            rest = np.setdiff1d(o, [t])
            inner = np.linalg.inv(step.covariance[np.ix_(rest, rest)] + 0.5 * np.eye(len(rest)))
            told = step.covariance[t, rest] @ inner
            error = STARS[row, t] - 3 - told @ (STARS[row, rest] - 3)
            squares.append(error**2 / (step.covariance[t, t] - told @ step.covariance[rest, t] + 0.5))
    _, calibration = problem.weights(step.covariance)
    assert calibration == pytest.approx(np.mean(squares), rel=1e-9)


def test_what_makes_no_sense_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="no place for features of rows"):
        GaussianRatings().fit(STARS, SHOWN, left_features=np.eye(N))
    model = GaussianRatings().fit(STARS, SHOWN)
    with pytest.raises(ValueError, match="Y must have 20 columns"):
        model.complete_rows(STARS[:, :5])
    with pytest.raises(ValueError, match="coverage"):
        model.interval([0], [0], coverage=1.0)
    monkeypatch.setattr("everypair.models.completion.gaussian_ratings.MOST_COLUMNS", 10)
    with pytest.raises(ValueError, match="transpose Y"):
        GaussianRatings().fit(STARS, SHOWN)
