"""Stochastic estimates of the gradient: unbiased, also where rows and columns are empty."""

import numpy as np
import pytest

from everypair.neural.objective import NO_RIDGE
from everypair.neural.optimizers.naive import RandomPairs
from everypair.neural.optimizers.sampling import SampledBlock
from everypair.neural.optimizers.sg46 import StoredPairsEstimate
from everypair.neural.optimizers.sogram import RunningGrams
from everypair.neural.trees import inner, leaves

from .naive import RANK, SHAPE, Naive

DRAWS = 1000
ESTIMATES = {
    "sampling": lambda objective: SampledBlock(objective, 0.5),
    "sg46": lambda objective: StoredPairsEstimate(objective, 0.3),
    "sogram": lambda objective: RunningGrams(objective, 0.3, alpha=1.0),
    "naive": lambda objective: RandomPairs(objective, 0.3),
}


class Table:
    """A tower without a network, which draws thousands of times a second."""

    def __init__(self, n_rows):
        self.n_rows = n_rows

    def penalties(self, theta, reg):
        return {"ids": reg.ids}

    def at(self, theta, rows=slice(None)):
        return TableAt(theta["ids"], rows)


class TableAt:
    """A table at its entries."""

    def __init__(self, ids, rows):
        self.ids, self.rows, self.factors = ids, rows, ids[rows]

    def adjoint(self, gradient):
        found = np.zeros_like(self.ids)
        found[self.rows] = gradient
        return {"ids": found}


@pytest.mark.parametrize("value", [-0.7, "low_rank"])
@pytest.mark.parametrize("name", ESTIMATES)
def test_mean_of_many_draws_is_the_gradient(name, value):
    objective, random = Naive(value=value, ridge=NO_RIDGE).objective, np.random.default_rng(1)
    objective.towers = Table(SHAPE[0]), Table(SHAPE[1])
    theta, *directions = (tuple({"ids": random.normal(size=(n, RANK))} for n in SHAPE) for _ in range(6))
    estimate = ESTIMATES[name](objective)
    truth = objective.gradient(objective.at(theta))
    found = np.empty((DRAWS, 5))
    grams = None
    for number in range(DRAWS):
        gradient, grams = estimate(theta, grams, random)
        found[number] = [inner(gradient, direction) for direction in directions]
    expected = np.array([inner(truth, direction) for direction in directions])
    errors = found.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    assert (errors > 0).all()
    assert (np.abs(found.mean(axis=0) - expected) < 3 * errors).all()
    assert (3 * errors < 0.5 * np.abs(expected).max()).all()  # the test could have seen a bias


def test_running_averages_begin_at_zero_and_forget():
    naive = Naive(ridge=NO_RIDGE)
    estimate = RunningGrams(naive.objective, 0.5, alpha=0.25)
    random = np.random.default_rng(0)
    _, averages = estimate(naive.theta, None, random)
    again = np.random.default_rng(0)
    estimate.sampler(naive.theta, again)
    now = estimate.sampler(naive.theta, again).grams()
    for average, gram in zip(averages, now):
        np.testing.assert_allclose(average, 0.25 * gram)
    _, after = estimate(naive.theta, averages, np.random.default_rng(0))
    for average, gram in zip(after, now):
        np.testing.assert_allclose(average, (0.75 * 0.25 + 0.25) * gram)


@pytest.mark.parametrize("kind", ["ids", "sparse", "dropped"])
def test_some_rows_of_a_tower_are_rows_of_all(kind):
    naive = Naive(kinds=(kind, "ids"))
    tower, theta = naive.towers[0], naive.theta[0]
    rows = np.array([0, 3, 4, 8])
    np.testing.assert_allclose(tower.at(theta, rows).factors, tower.at(theta).factors[rows], rtol=1e-12)
    gradient = np.zeros((SHAPE[0], RANK))
    gradient[rows] = naive.random.normal(size=(4, RANK))
    some, every = tower.at(theta, rows).adjoint(gradient[rows]), tower.at(theta).adjoint(gradient)
    for one, other in zip(leaves(some), leaves(every)):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
