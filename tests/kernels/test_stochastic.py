import numpy as np
import pytest

from everypair.kernels.stochastic import descend, mixed, random_updates, stored_position, term_gradient
from everypair.solvers.rivals.stochastic import VARIANTS, StochasticGradient

from ..problem.brute import PLAIN_LOSSES, Case, build, start

STRIDE, MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def mixed_twin(counter):
    x = ((counter ^ counter >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def term_twin(variant, dense, number, left, right):
    """(i, j, ∂term/∂u_i, ∂term/∂v_j) from the dense problem."""
    (m, n), stored = dense.stored.shape, np.argwhere(dense.stored)
    extra = variant == "reform"
    corrects = extra and number < len(stored)
    i, j = stored[number] if corrects else divmod(number - extra * len(stored), n)
    u, v = left[i], right[j]
    outside = dense.p[i] * dense.q[j] * (u @ v - dense.values[i, j])
    inside = dense.weights[i, j] * PLAIN_LOSSES[dense.loss][1](dense.targets[i, j], u @ v)
    g = inside - outside if corrects else inside if not extra and dense.stored[i, j] else outside
    shares = (
        dense.ridge[0][i] / (n + extra * dense.stored[i].sum()),
        dense.ridge[1][j] / (m + extra * dense.stored[:, j].sum()),
    )
    return i, j, (g * v + shares[0] * u) * dense.learnt(0), (g * u + shares[1] * v) * dense.learnt(1)


def setting(variant, case, dtype=np.float64):
    problem = build(case, dtype=dtype)
    solver = StochasticGradient(problem.objective, variant)
    left, right = start(problem.dense, dtype=dtype)
    return problem, solver, left, right


CASES = [
    Case(loss, scheme, value, biases=biases)
    for loss, scheme, value, biases in [
        ("squared", "constant", "zero", "unbiased"),
        ("squared", "arrays", "minus", "biased"),
        ("squared", "right_rarity", "low_rank", "biased"),
        ("logistic", "arrays", "low_rank", "unbiased"),
        ("squared_hinge", "left_count", "minus", "unbiased"),
    ]
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_term_like_the_twin(variant, case):
    problem, solver, left, right = setting(variant, case)
    gu, gv = np.empty(left.shape[1]), np.empty(left.shape[1])
    terms = solver.terms(left.shape[1])
    for number in range(solver.n_terms):
        pair = term_gradient(VARIANTS[variant], problem.objective.loss.code, terms, number, left, right, gu, gv)
        i, j, expected_u, expected_v = term_twin(variant, problem.dense, number, left, right)
        assert pair == (i, j)
        np.testing.assert_allclose(gu, expected_u, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(gv, expected_v, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("slow", "wait", "first_sum"), [(0, 0, 0.0), (2, 25, 0.0), (1, 0, 1.0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", VARIANTS)
def test_random_updates_like_the_twin(variant, dtype, slow, wait, first_sum):
    problem, solver, left, right = setting(variant, CASES[2], dtype)
    U, V, counter, rate = left.astype(float), right.astype(float), 2**64 - 5, 0.3
    sums = np.full((7, 2), first_sum), np.full((6, 2), first_sum)
    learners = [slice(0, slow), slice(slow, U.shape[1])]
    for update in range(60):
        counter = (counter + STRIDE) & MASK
        i, j, gu, gv = term_twin(variant, problem.dense, mixed_twin(counter) % solver.n_terms, U, V)
        for row, gradient, total, factors in ((i, gu, sums[0], U), (j, gv, sums[1], V)):
            for learner, columns in enumerate(learners):
                if columns.stop > columns.start and (learner == 0 or update >= wait):
                    total[row, learner] += np.mean(gradient[columns] ** 2)
                    factors[row, columns] -= rate / np.sqrt(total[row, learner]) * gradient[columns]
    own_sums = np.full((7, 2), first_sum), np.full((6, 2), first_sum)
    begin = np.uint64(2**64 - 5)
    terms = solver.terms(left.shape[1])
    end = random_updates(
        VARIANTS[variant], 0, terms, solver.n_terms, 60, rate, slow, wait, begin, left, right, *own_sums
    )
    assert int(end) == counter
    tolerance = 1e-10 if dtype == np.float64 else 1e-3
    for ours, twin in zip((left, right, *own_sums), (U, V, *sums)):
        np.testing.assert_allclose(ours, twin, rtol=tolerance, atol=tolerance)
    assert left.dtype == right.dtype == dtype


def test_binary_search_finds_exactly_the_stored_pairs():
    rows = build(Case("squared")).objective.rows[0]
    stored = {(i, int(rows.indices[e])): e for i in range(7) for e in range(rows.indptr[i], rows.indptr[i + 1])}
    for i in range(7):
        for j in range(6):
            assert stored_position(rows.indptr, rows.indices, i, j) == stored.get((i, j), -1)


def test_random_bits_are_splitmix64():
    """The first outputs for seed 1234567 as published with the generator."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [int(mixed(np.uint64((1234567 + t * STRIDE) & MASK))) for t in (1, 2, 3)] == published
    assert [mixed_twin((1234567 + t * STRIDE) & MASK) for t in (1, 2, 3)] == published


def test_a_zero_gradient_moves_nothing():
    factors, sums = np.ones((2, 3)), np.zeros((2, 2))
    descend(1, 1, 0, 3, 0.1, np.zeros(3), sums, factors)
    assert np.array_equal(factors, np.ones((2, 3)))
    descend(1, 1, 0, 3, 0.1, np.array([3.0, 0.0, 0.0]), sums, factors)
    np.testing.assert_allclose(factors, [[1, 1, 1], [1 - 0.1 * np.sqrt(3), 1, 1]])
    descend(1, 0, 2, 2, 0.1, np.ones(3), sums, factors)  # no column
    np.testing.assert_allclose(sums, [[0, 0], [0, 3]])
