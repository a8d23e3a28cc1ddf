import numpy as np
import pytest

from everypair.problem.gram import Gram
from everypair.solvers.alternating import Alternating
from everypair.solvers.half_step import TO_OPTIMUM, RowSteps, half_step
from everypair.solvers.state import Factors

from ..problem.brute import PLAIN_LOSSES, VALUES, Case, build, start


@pytest.mark.parametrize("biases", ["unbiased", "biased"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_each_sweep_reports_the_objective_where_it_ends(loss, value, biases):
    problem = build(Case(loss=loss, value=value, biases=biases), shape=(12, 9))
    solver = Alternating(problem.objective, RowSteps())
    state = Factors(*start(problem.dense))
    last = problem.dense.value(state.left, state.right)
    for _ in range(5):
        state = solver.step(state)
        assert state.objective == pytest.approx(problem.dense.value(state.left, state.right), rel=1e-10)
        assert state.objective < last
        last = state.objective


def test_a_sweep_is_the_left_and_then_the_right_half_step():
    problem = build(Case())
    left, right = start(problem.dense)
    sides, steps = problem.objective.rows, RowSteps(newton=2)
    new_left, _ = half_step(sides[0], left, right, sides[0].gram_of(right), steps)
    new_right, _ = half_step(sides[1], right, new_left, sides[1].gram_of(new_left), steps)
    state = Alternating(problem.objective, steps).step(Factors(left, right))
    assert np.array_equal(state.left, new_left)
    assert np.array_equal(state.right, new_right)
    assert np.array_equal(state.right_gram.matrix, sides[0].gram_of(new_right).matrix)


def test_the_kept_gram_matrix_is_used():
    problem = build(Case())
    solver = Alternating(problem.objective, RowSteps())
    first = solver.step(Factors(*start(problem.dense)))
    forgotten = Factors(first.left, first.right, first.objective)
    assert np.array_equal(solver.step(first).left, solver.step(forgotten).left)
    other = Gram(2 * first.right_gram.matrix, first.right_gram.pull)
    wrong = Factors(first.left, first.right, first.objective, other)
    assert not np.array_equal(solver.step(wrong).left, solver.step(forgotten).left)


@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_many_sweeps_end_where_both_gradients_vanish(loss):
    problem = build(Case(loss=loss), reg=(0.5, 0.5))
    solver = Alternating(problem.objective, TO_OPTIMUM[np.dtype(np.float64)])
    state = Factors(*start(problem.dense))

    def steepness(at):
        return max(np.abs(problem.objective.gradient(side, at.left, at.right)).max() for side in (0, 1))

    begin = steepness(state)
    for _ in range(400):
        state = solver.step(state)
        if steepness(state) < 1e-6 * begin:
            return
    pytest.fail(f"the gradient only fell from {begin} to {steepness(state)}")
