"""Every optimiser of two towers: it descends, repeats itself, and goes on from its state with the same bits."""

import json

import jax
import numpy as np
import pytest

from everypair.models.codec import decode, encode
from everypair.models.recommend.two_tower import TowerState
from everypair.neural.objective import TowerObjective
from everypair.neural.optimizers.adam import AVERAGED
from everypair.neural.optimizers.choose import OPTIMIZERS, make_optimizer
from everypair.neural.optimizers.gauss_newton import PAPER, GaussNewton
from everypair.neural.optimizers.search import backtrack, first_length
from everypair.neural.trees import inner, leaves

from .naive import Naive

RATES = {"adam": 0.02, "sampling": 1e-3, "sg46": 1e-3, "sogram": 1e-3, "naive": 1e-3}


def started(name, naive, seed=0):
    optimizer = make_optimizer(name, naive.objective, RATES.get(name), dropout=0.3, seed=seed)
    if hasattr(optimizer, "sweep"):
        optimizer.sweep = 4
    return optimizer, TowerState(naive.theta, optimizer.fresh(naive.theta))


@pytest.fixture(scope="module")
def naive():
    return Naive(kinds=("ids", "both"))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_goes_down_and_goes_on_with_the_same_bits(name, naive):
    optimizer, state = started(name, naive)
    first = naive.objective.at(naive.theta).value
    values = []
    for _ in range(4):
        state = optimizer.step(state)
        values.append(state.objective)
        if len(values) == 2:
            arrays = {}
            text = json.dumps(encode(state, "state", arrays))
            middle = text, {key: array.copy() for key, array in arrays.items()}
    assert values[-1] < first
    if optimizer.descends:
        assert (np.diff([first, *values]) <= 0).all()
    again, _ = started(name, naive)
    resumed = decode(json.loads(middle[0]), middle[1])
    for _ in range(2):
        resumed = again.step(resumed)
    assert resumed.objective == state.objective
    for one, other in zip(leaves((resumed.theta, resumed.memory)), leaves((state.theta, state.memory))):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", ["sampling", "sg46", "sogram", "naive", "adam"])
def test_another_seed_is_another_way(name, naive):
    one, other = (started(name, naive, seed) for seed in (0, 1))
    assert one[0].step(one[1]).objective != other[0].step(other[1]).objective


def test_adam_s_model_is_an_average_of_its_iterates(naive):
    optimizer, state = started("adam", naive)
    optimizer.sweep = 1
    iterates = []
    for _ in range(4):
        state = optimizer.step(state)
        iterates.append(leaves(state.memory["iterate"]))
    shares = np.array([(AVERAGED + 1) / (step + AVERAGED) for step in (1, 2, 3, 4)])
    weights = shares * np.append(np.cumprod((1 - shares)[:0:-1])[::-1], 1)
    assert weights.sum() == pytest.approx(1)
    for place, leaf in enumerate(leaves(state.theta)):
        expected = sum(weight * iterate[place] for weight, iterate in zip(weights, iterates))
        np.testing.assert_allclose(leaf, expected, rtol=1e-9, atol=1e-12)
    assert state.objective == naive.objective.at(state.theta).value


def test_the_paper_s_newton_direction_solves_its_system(naive):
    newton = GaussNewton(naive.objective, PAPER._replace(steps=200, tol=1e-9))
    point = naive.objective.at(naive.theta)
    gradient = naive.objective.gradient(point)
    step = newton._solve(point, gradient, None, None)
    for one, other in zip(leaves(naive.objective.product(point, step)), leaves(gradient)):
        np.testing.assert_allclose(one, -other, atol=1e-6)


def test_both_schedules_of_the_line_search():
    assert [first_length("unit", 0.25, steps) for steps in range(7)] == [1.0] * 7
    assert [first_length("last", 0.25, steps) for steps in range(7)] == [0.25] * 5 + [0.5, 0.25]


def test_backtracking_halves_until_the_decrease_is_sufficient(naive):
    objective = naive.objective
    point = objective.at(naive.theta)
    gradient = objective.gradient(point)
    downhill = jax.tree_util.tree_map(lambda g: -100 * g, gradient)
    slope = inner(gradient, downhill)
    length, found = backtrack(objective, point, downhill, slope, 1.0)
    assert found.value <= point.value + 1e-4 * length * slope
    assert np.log2(length) == round(np.log2(length)) < 0
    assert backtrack(objective, point, gradient, -slope, 1.0) == (0.0, point)


@pytest.mark.parametrize("name", ["newton-unit", "gauss-newton"])
def test_gauss_newton_arrives_where_the_gradient_vanishes(name, naive):
    optimizer, state = started(name, naive)
    for _ in range(40):
        state = optimizer.step(state)
    first, last = (naive.objective.gradient(naive.objective.at(theta)) for theta in (naive.theta, state.theta))
    assert inner(last, last) < 5e-3 * inner(first, first)


def test_one_and_two_threads_give_the_same_bits(naive):
    objective = naive.objective
    twin = TowerObjective(
        objective.stored, objective.loss, objective.negatives, objective.towers, objective.reg, dtype=np.float64,
        n_threads=2,
    )  # fmt: skip
    one, two = (one.gradient(one.at(naive.theta)) for one in (objective, twin))
    assert all(np.array_equal(x, y) for x, y in zip(leaves(one), leaves(two)))
