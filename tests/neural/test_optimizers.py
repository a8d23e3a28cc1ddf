"""Every optimiser of two towers: it descends, repeats itself, and goes on from its state with the same bits."""

import json
from dataclasses import fields

import jax
import numpy as np
import pytest

import everypair.models.recommend.two_tower  # noqa: F401  names the states for files
from everypair.models.codec import decode, encode
from everypair.neural.objective import NO_RIDGE, TowerObjective
from everypair.neural.optimizers.adam import AVERAGED
from everypair.neural.optimizers.choose import OPTIMIZERS, SEARCHED, make_optimizer
from everypair.neural.optimizers.conjugate_gradients import conjugate_gradients
from everypair.neural.optimizers.gauss_newton import GaussNewton
from everypair.neural.optimizers.search import backtrack, first_length
from everypair.neural.trees import inner, leafwise, leaves

from .naive import RIDGE, Naive

RATES = {"adam": 0.02, "sampling": 1e-3, "sg46": 1e-3, "sogram": 1e-3, "naive": 1e-3}


def started(name, naive, seed=0, dropout=0.0):
    optimizer = make_optimizer(name, naive.objective, RATES.get(name), dropout, seed)
    if hasattr(optimizer, "sweep"):
        optimizer.sweep = 4
    return optimizer, optimizer.fresh(naive.theta)


@pytest.fixture(scope="module")
def naive():
    return Naive(kinds=("ids", "both"))


@pytest.fixture(scope="module")
def unridged():
    return Naive(kinds=("ids", "both"), ridge=NO_RIDGE)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_goes_down_and_goes_on_with_the_same_bits(name, naive, unridged):
    naive, dropout = naive if name in ("adam", *SEARCHED) else unridged, 0.3 if name in ("adam", "gauss-newton") else 0
    optimizer, state = started(name, naive, dropout=dropout)
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
    again, _ = started(name, naive, dropout=dropout)
    resumed = decode(json.loads(middle[0]), middle[1])
    for _ in range(2):
        resumed = again.step(resumed)
    assert resumed.objective == state.objective
    for one in fields(state):
        for x, y in zip(leaves(getattr(resumed, one.name)), leaves(getattr(state, one.name)), strict=True):
            assert np.array_equal(x, y), one.name


@pytest.mark.parametrize("name", ["sampling", "sg46", "sogram", "naive", "adam"])
def test_another_seed_is_another_way(name, unridged):
    one, other = (started(name, unridged, seed, dropout=0.3 if name == "adam" else 0) for seed in (0, 1))
    assert one[0].step(one[1]).objective != other[0].step(other[1]).objective


def test_adam_s_model_is_an_average_of_its_iterates(naive):
    optimizer, state = started("adam", naive)
    optimizer.sweep = 1
    iterates = []
    for _ in range(4):
        state = optimizer.step(state)
        iterates.append(leaves(state.iterate))
    shares = np.array([(AVERAGED + 1) / (step + AVERAGED) for step in (1, 2, 3, 4)])
    weights = shares * np.append(np.cumprod((1 - shares)[:0:-1])[::-1], 1)
    assert weights.sum() == pytest.approx(1)
    for place, leaf in enumerate(leaves(state.theta)):
        expected = sum(weight * iterate[place] for weight, iterate in zip(weights, iterates))
        np.testing.assert_allclose(leaf, expected, rtol=1e-9, atol=1e-12)
    assert state.objective == naive.objective.at(state.theta).value


def test_conjugate_gradients_solve_the_newton_system(naive):
    point = naive.objective.at(naive.theta)
    gradient = naive.objective.gradient(point)
    step, left = conjugate_gradients(
        lambda d: naive.objective.product(point, d), lambda r: r, leafwise(np.negative, gradient), 400, 1e-9
    )
    for one, other, rest in zip(leaves(naive.objective.product(point, step)), leaves(gradient), leaves(left)):
        np.testing.assert_allclose(one, -other, atol=1e-6)
        np.testing.assert_allclose(rest, 0, atol=1e-6)


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
        ridge=RIDGE, n_threads=2,
    )  # fmt: skip
    one, two = (one.gradient(one.at(naive.theta)) for one in (objective, twin))
    assert all(np.array_equal(x, y) for x, y in zip(leaves(one), leaves(two)))


def test_settings_and_damping(naive):
    optimizer = make_optimizer(GaussNewton(cg_steps=1, damping=1e4), naive.objective)
    damped = optimizer.step(optimizer.fresh(naive.theta))
    assert damped.damping == pytest.approx(1e4 / 1.5)  # so short a step goes as foretold
    free = make_optimizer("gauss-newton", naive.objective)
    assert naive.objective.at(naive.theta).value > damped.objective > free.step(free.fresh(naive.theta)).objective
    with pytest.raises(ValueError, match="cg_tol must be a finite number ≥ 0 and < 1"):
        GaussNewton(cg_tol=1.0)
    with pytest.raises(ValueError, match="damping must be a finite number > 0"):
        GaussNewton(damping=0)


def test_estimates_refuse_a_ridge_of_the_factors(naive):
    with pytest.raises(ValueError, match="no estimate of the gradient knows a ridge of the factors"):
        make_optimizer("sogram", naive.objective)
