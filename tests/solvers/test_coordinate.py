from itertools import product

import numpy as np
import pytest

import everypair.solvers.rivals.coordinate as module
from everypair.solvers.alternating import Alternating
from everypair.solvers.half_step import TO_OPTIMUM
from everypair.solvers.rivals.coordinate import CoordinateDescent
from everypair.solvers.state import Factors

from ..problem.brute import COLUMNS, VALUES, Case, build, start

CASES = [
    Case("squared", scheme, value, targets=targets, biases=biases)
    for (scheme, targets), value, biases in product(
        (("constant", "default"), ("arrays", "explicit"), ("right_rarity", "explicit")), VALUES, ("unbiased", "biased")
    )
]


def steepness(problem, state):
    return np.sqrt(sum(np.sum(problem.objective.gradient(side, state.left, state.right) ** 2) for side in (0, 1)))


def plain_sweep(dense, left, right, inner):
    """Algorithm 1 with dense weighted least squares; a column's constant side stays."""
    left, right = left.copy(), right.copy()
    weights = np.where(dense.stored, dense.weights, np.outer(dense.p, dense.q))
    wanted = np.where(dense.stored, dense.targets, dense.values)
    for t in range(COLUMNS):
        rest = wanted - left @ right.T + np.outer(left[:, t], right[:, t])
        for _ in range(inner):
            for side in (0, 1):
                if dense.learnt(side)[t]:
                    w, r = (weights.T, rest.T) if side else (weights, rest)
                    this, other = (right, left) if side else (left, right)
                    this[:, t] = (w * r) @ other[:, t] / (w @ other[:, t] ** 2 + dense.ridge[side])
    return left, right


@pytest.mark.parametrize("inner", [1, 3])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_sweep_is_algorithm_1_over_every_pair(case, inner):
    problem = build(case, shape=(12, 9))
    state = Factors(*start(problem.dense))
    expected = plain_sweep(problem.dense, state.left, state.right, inner)
    new = CoordinateDescent(problem.objective, inner).step(state)
    np.testing.assert_allclose(new.left, expected[0], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(new.right, expected[1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_never_rises_and_ends_where_the_gradient_vanishes(case):
    problem = build(case, shape=(14, 11), reg=(0.4, 0.4))
    solver = CoordinateDescent(problem.objective)
    state = Factors(*start(problem.dense))
    begin, last = steepness(problem, state), problem.dense.value(state.left, state.right)
    for _ in range(3000):
        state = solver.step(state)
        assert state.objective <= last + 1e-12 * abs(last)
        last = state.objective
        if steepness(problem, state) < 1e-6 * begin:
            break
    assert steepness(problem, state) < 1e-6 * begin
    assert state.objective == pytest.approx(problem.dense.value(state.left, state.right), rel=1e-10)


@pytest.mark.parametrize("value", VALUES)
def test_ends_where_newton_ends(value):
    problem = build(Case("squared", "arrays", value, targets="explicit"), shape=(12, 9), reg=(0.5, 0.5))
    states = []
    for solver in (CoordinateDescent(problem.objective), Alternating(problem.objective, TO_OPTIMUM[np.dtype("f8")])):
        state = Factors(*start(problem.dense))
        for _ in range(200):
            state = solver.step(state)
        states.append(state)
    assert states[0].objective == pytest.approx(states[1].objective, rel=1e-6)
    assert np.abs(states[0].left @ states[0].right.T - states[1].left @ states[1].right.T).max() < 1e-2


def test_residuals_are_kept_only_for_what_was_returned_last():
    problem = build(Case("squared"), shape=(12, 9))
    solver = CoordinateDescent(problem.objective)
    begin = Factors(*start(problem.dense))
    first = solver.step(begin)
    second = solver.step(first)
    again = solver.step(Factors(first.left, first.right))
    np.testing.assert_allclose(again.left, second.left, rtol=1e-9, atol=1e-11)
    assert np.array_equal(solver.step(begin).left, first.left)


def test_a_broken_sweep_leaves_nothing_behind(monkeypatch):
    problem = build(Case("squared"), shape=(12, 9))
    solver = CoordinateDescent(problem.objective)
    first = solver.step(Factors(*start(problem.dense)))
    expected = CoordinateDescent(problem.objective).step(first)
    with monkeypatch.context() as patch:
        patch.setattr(module, "stored_values", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            solver.step(first)
    assert np.array_equal(solver.step(first).left, expected.left)


def test_without_any_curvature_the_start_stays():
    problem = build(Case("squared", value="zero"), reg=(0.0, 0.0))
    left, right = start(problem.dense)
    new = CoordinateDescent(problem.objective).step(Factors(np.zeros_like(left), np.zeros_like(right)))
    assert not new.left.any()
    assert not new.right.any()


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "pseudo_huber"])
def test_other_losses_are_refused(loss):
    with pytest.raises(ValueError, match=f'squared loss only, not for {loss!r}.*"newton" or "block"'):
        CoordinateDescent(build(Case(loss)).objective)


@pytest.mark.parametrize("inner", [0, -1, 1.5, True])
def test_bad_inner_is_refused(inner):
    with pytest.raises(ValueError, match="inner must be an integer ≥ 1"):
        CoordinateDescent(build(Case("squared")).objective, inner)
