"""Random steps on stored pairs, everything else exactly: what they follow is the gradient over every pair."""

import numpy as np
import pytest

from everypair.data.pairs import Pairs
from everypair.kernels.stochastic import row_gradient
from everypair.problem.losses import LOSSES
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.alternating import Alternating
from everypair.solvers.half_step import RowSteps
from everypair.solvers.rivals.hybrids import StochasticDescent, StochasticRows, outside_slope
from everypair.solvers.state import Factors

from ..problem.brute import VALUES, Case, build, start
from .test_stochastic import expected_gradient

HYBRIDS = (StochasticDescent, StochasticRows)
every_problem = pytest.mark.parametrize(
    ("loss", "value", "biases"),
    [(loss, value, biases) for loss in LOSSES for value in VALUES for biases in ("unbiased", "biased")],
)


@every_problem
def test_random_terms_and_the_rest_are_the_gradient(loss, value, biases):
    problem = build(Case(loss, "arrays", value, biases=biases))
    solver = StochasticDescent(problem.objective)
    assert solver.n_terms == problem.dense.stored.sum()
    sides = start(problem.dense)
    for side, mean in enumerate(expected_gradient(solver, *sides)):
        rest = outside_slope(problem.objective, side, sides[side], problem.objective.gram(1 - side, sides[1 - side]))
        exact = problem.objective.gradient(side, *sides)
        np.testing.assert_allclose(mean * solver.n_terms + rest, exact, rtol=1e-10, atol=1e-11)


@every_problem
def test_a_rows_terms_sum_to_its_gradient(loss, value, biases):
    problem = build(Case(loss, "arrays", value, biases=biases))
    sides = start(problem.dense)
    for side in (0, 1):
        at = problem.objective.side(side, sides[1 - side], problem.objective.gram(1 - side, sides[1 - side]))
        rows, factors = at.rows, at.enter(sides[side])
        values = np.ascontiguousarray(np.broadcast_to(rows.values, rows.n_pairs))
        found, one = np.zeros_like(factors), np.empty(factors.shape[1])
        for i in range(rows.n_rows):
            stored = rows.indptr[i + 1] - rows.indptr[i]
            for e in range(rows.indptr[i], rows.indptr[i + 1]):
                row_gradient(
                    rows.loss.code, i, e, 1 / stored, rows.indices, rows.every_weight, rows.every_target, values,
                    rows.this_weights, rows.other_weights, at.other, at.sigma, at.quadratic.pulled, rows.ridge,
                    at.free.astype(float), factors[i], one,
                )  # fmt: skip
                found[i] += one
        kept = np.diff(rows.indptr) > 0
        exact = problem.objective.gradient(side, *sides)
        np.testing.assert_allclose(at.leave(found)[kept], exact[kept], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kind", HYBRIDS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_comes_near_the_optimum(kind, loss):
    problem = build(Case(loss, "arrays", "minus"), shape=(40, 30), reg=(0.5, 0.5))
    state = Factors(*start(problem.dense))
    newton, best = Alternating(problem.objective, RowSteps(newton=3, cg=5)), state
    for _ in range(100):
        best = newton.step(best)
    solver, begin = kind(problem.objective), problem.objective.value(state.left, state.right)
    for _ in range(300):
        state = solver.step(state)
    assert state.objective == pytest.approx(problem.dense.value(state.left, state.right), rel=1e-10)
    assert state.objective - best.objective < 0.05 * (begin - best.objective)


def test_rows_without_pairs_are_solved():
    matrix = np.kron(np.eye(3), np.ones((4, 3)))
    matrix[:, [2, 7]] = 0
    pairs = Pairs.from_matrix(matrix, dtype=np.float64)
    negatives = Negatives.from_scheme(pairs, 0.3, value=-1.0)
    objective = Objective(pairs, "squared", negatives, Ridge.checked(0.5, 0), dtype=np.float64)
    random = np.random.default_rng(0)
    state = StochasticRows(objective).step(Factors(random.normal(size=(12, 2)), random.normal(size=(9, 2))))
    steepness = np.abs(objective.gradient(1, state.left, state.right)).max(axis=1)
    assert steepness[[2, 7]].max() < 1e-10
    assert np.delete(steepness, [2, 7]).min() > 1e-3


@pytest.mark.parametrize("kind", HYBRIDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_seed_same_bits_on_any_number_of_threads(kind, dtype):
    ends = []
    for seed, n_threads in ((3, 1), (3, 2), (4, 1)):
        problem = build(Case("squared", "arrays", "minus"), shape=(3000, 40), dtype=dtype, n_threads=n_threads)
        state, solver = Factors(*start(problem.dense, dtype=dtype)), kind(problem.objective, random_state=seed)
        for _ in range(3):
            state = solver.step(state)
        assert state.left.dtype == dtype
        ends.append(state)
    assert np.array_equal(ends[0].left, ends[1].left)
    assert np.array_equal(ends[0].right, ends[1].right)
    assert not np.array_equal(ends[0].left, ends[2].left)


@pytest.mark.parametrize("kind", HYBRIDS)
def test_bad_parameters_are_refused(kind):
    with pytest.raises(ValueError, match="learning_rate must be a finite number > 0"):
        kind(build(Case("squared")).objective, learning_rate=0)
    with pytest.raises(ValueError, match="built-in losses only, not 'pseudo_huber'"):
        kind(build(Case("pseudo_huber")).objective)
