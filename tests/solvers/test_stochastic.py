import numpy as np
import pytest

import everypair.solvers.rivals.stochastic as module
from everypair.data.pairs import Pairs
from everypair.kernels.stochastic import term_gradient
from everypair.problem.losses import LOSSES
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.alternating import Alternating
from everypair.solvers.half_step import RowSteps
from everypair.solvers.rivals.stochastic import VARIANTS, StochasticGradient
from everypair.solvers.state import Factors

from ..problem.brute import VALUES, Case, build, start


def expected_gradient(solver, left, right):
    """Mean over all terms, each one enumerated, of a random update's gradient."""
    means = np.zeros(left.shape), np.zeros(right.shape)
    gu, gv = np.empty(left.shape[1]), np.empty(left.shape[1])
    terms, code = solver.terms(left.shape[1]), solver.objective.loss.code
    for number in range(solver.n_terms):
        i, j = term_gradient(VARIANTS[solver.variant], code, terms, number, left, right, gu, gv)
        means[0][i] += gu / solver.n_terms
        means[1][j] += gv / solver.n_terms
    return means


@pytest.mark.parametrize("biases", ["unbiased", "biased"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_expected_gradient_is_that_of_the_objective(variant, loss, value, biases):
    problem = build(Case(loss, "arrays", value, biases=biases))
    solver = StochasticGradient(problem.objective, variant)
    assert solver.n_terms == 7 * 6 + (problem.dense.stored.sum() if variant == "reform" else 0)
    left, right = start(problem.dense)
    for side, mean in enumerate(expected_gradient(solver, left, right)):
        exact = problem.objective.gradient(side, left, right)
        np.testing.assert_allclose(mean * solver.n_terms, exact, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("variant", VARIANTS)
def test_comes_near_the_optimum(variant):
    problem = build(Case("squared", "arrays", "low_rank"), shape=(40, 30), reg=(0.3, 0.3))
    left, right = start(problem.dense)
    state = Factors(np.zeros_like(left), right)
    newton = Alternating(problem.objective, RowSteps(newton=3, cg=5))
    best = state
    for _ in range(100):
        best = newton.step(best)
    solver = StochasticGradient(problem.objective, variant, updates=200_000)
    begin, first = problem.objective.value(state.left, state.right), state
    for _ in range(10):
        state = solver.step(state)
    assert state.objective == pytest.approx(problem.dense.value(state.left, state.right), rel=1e-10)
    assert state.objective < 0.7 * begin
    assert state.objective < 1.03 * best.objective

    def steepness(at):
        return np.sqrt(sum(np.sum(mean**2) for mean in expected_gradient(solver, at.left, at.right)))

    assert steepness(state) < 0.05 * steepness(first)


def test_search_and_lookup_give_the_same_bits():
    problem = build(Case("squared", "arrays", "minus"), shape=(20, 15))
    searched, looked_up = (
        StochasticGradient(problem.objective, variant).step(Factors(*start(problem.dense)))
        for variant in ("bsearch", "dense")
    )
    assert np.array_equal(searched.left, looked_up.left)
    assert np.array_equal(searched.right, looked_up.right)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", VARIANTS)
def test_same_seed_same_bits_another_seed_others(variant, dtype):
    problem = build(Case("squared"), shape=(20, 15), dtype=dtype)
    states = []
    for seed in (3, 3, 4):
        solver = StochasticGradient(problem.objective, variant, random_state=seed)
        state = Factors(*start(problem.dense, dtype=dtype))
        for _ in range(3):
            state = solver.step(state)
        states.append(state)
    assert states[0].left.dtype == states[0].right.dtype == dtype
    assert np.array_equal(states[0].left, states[1].left)
    assert np.array_equal(states[0].right, states[1].right)
    assert states[0].objective == states[1].objective
    assert not np.array_equal(states[0].left, states[2].left)


def test_two_steps_are_one_step_of_twice_the_updates():
    problem = build(Case("squared"), shape=(20, 15))
    begin = Factors(*start(problem.dense))
    half = StochasticGradient(problem.objective, updates=150)
    whole = StochasticGradient(problem.objective, updates=300).step(begin)
    first = half.step(begin)
    forgotten = StochasticGradient(problem.objective, updates=150)
    forgotten.step(begin)
    assert np.array_equal(half.step(first).left, whole.left)
    assert not np.array_equal(forgotten.step(Factors(first.left, first.right)).left, whole.left)


def test_most_columns_wait_for_a_pass():
    problem = build(Case("squared"), shape=(20, 15))
    begin, stored = Factors(*start(problem.dense)), int(problem.dense.stored.sum())
    solver = StochasticGradient(problem.objective, updates=stored)
    first = solver.step(begin)
    assert not np.array_equal(first.left[:, 0], begin.left[:, 0])
    assert np.array_equal(first.left[:, 1:], begin.left[:, 1:])
    second = solver.step(first)
    assert (second.left != first.left).any(axis=0).all()
    one = StochasticGradient(problem.objective, updates=stored, slow_share=0).step(begin)
    assert (one.left != begin.left).any(axis=0).all()
    later = StochasticGradient(problem.objective, updates=5, slow_share=0, first_sum=1e12).step(begin)
    np.testing.assert_allclose(later.left, begin.left, atol=1e-4)


def test_updates_by_default():
    dense = build(Case("squared"), shape=(20, 15))
    assert StochasticGradient(dense.objective).updates == 20 * 15
    pairs = Pairs.from_matrix(np.eye(30))
    sparse = Objective(pairs, "squared", Negatives.from_scheme(pairs, 0.1), Ridge.checked(0.1, 0))
    assert StochasticGradient(sparse).updates == 10 * 30


def test_too_large_an_array_is_refused(monkeypatch):
    objective = build(Case("squared")).objective
    monkeypatch.setattr(module, "MAX_DENSE_BYTES", 4 * 7 * 6)
    StochasticGradient(objective, "dense")
    monkeypatch.setattr(module, "MAX_DENSE_BYTES", 4 * 7 * 6 - 1)
    with pytest.raises(ValueError, match=r'array of 7 × 6 numbers.*choose "reform" or "bsearch"'):
        StochasticGradient(objective, "dense")
    StochasticGradient(objective, "bsearch")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"variant": "hash"}, "variant must be one of 'reform', 'bsearch', 'dense', got 'hash'"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number > 0"),
        ({"learning_rate": np.nan}, "learning_rate must be a finite number > 0"),
        ({"updates": 0}, "updates must be an integer ≥ 1"),
        ({"updates": 1.5}, "updates must be an integer ≥ 1"),
        ({"slow_share": 1.0}, "slow_share must be a finite number ≥ 0 and < 1"),
        ({"first_sum": -1.0}, "first_sum must be a finite number ≥ 0"),
    ],
)
def test_bad_parameters_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        StochasticGradient(build(Case("squared")).objective, **wrong)


def test_a_loss_of_ones_own_is_refused():
    with pytest.raises(ValueError, match="built-in losses only, not 'pseudo_huber'"):
        StochasticGradient(build(Case("pseudo_huber")).objective)


def test_reform_draws_stored_pairs_only_where_nothing_else_has_a_weight():
    random = np.random.default_rng(3)
    stored = np.where(random.random((30, 20)) < 0.4, random.choice([-1.0, 1.0], (30, 20)), 0)
    pairs = Pairs.from_matrix(stored, dtype=np.float64)
    objective = Objective(
        pairs, "squared", Negatives.from_scheme(pairs, 0.0), Ridge.checked(0.1, "count"), dtype=np.float64
    )
    solver = StochasticGradient(objective, updates=20 * pairs.nnz)
    assert solver.n_terms == pairs.nnz
    state = Factors(0.3 * random.normal(size=(30, 2)), 0.3 * random.normal(size=(20, 2)))
    best = Alternating(objective, RowSteps(cg=8))
    reference = state
    for _ in range(200):
        reference = best.step(reference)
    for _ in range(40):
        state = solver.step(state)
    assert state.objective < 1.05 * reference.objective
