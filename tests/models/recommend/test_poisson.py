"""Poisson factorization against sums over every pair, scipy's optimum and its own sub-problems."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from everypair.kernels.poisson import LEAST
from everypair.models.recommend.rivals.poisson import PoissonMF
from everypair.models.registry import ESTIMATORS
from everypair.solvers.rivals.poisson import PoissonSweeps, Prior, column_sums, folded, moved_rows
from everypair.solvers.state import Factors
from everypair.testing import RecommenderContract, block_matrix


def random_matrix(m=9, n=7, seed=0):
    random = np.random.default_rng(seed)
    matrix = (random.random((m, n)) < 0.4) * random.integers(1, 4, (m, n)).astype(float)
    matrix[0, 0], matrix[2, 3], matrix[4], matrix[:, 5] = -1.5, -0.5, 0, 0
    return matrix


def every_pair(matrix, U, V, reg, smoothing):
    """F, pair by pair."""
    total = sum(np.sum(reg * X - smoothing * np.log(X)) for X in (U, V))
    for i, j in np.ndindex(*matrix.shape):
        s = U[i] @ V[j]
        total += s - max(matrix[i, j], 0) * np.log(s) + max(-matrix[i, j], 0) * s
    return total


def random_factors(m=9, n=7, rank=3, seed=1):
    random = np.random.default_rng(seed)
    return random.random((m, rank)) + 0.1, random.random((n, rank)) + 0.1


@pytest.mark.parametrize(("reg", "smoothing"), [(1.0, 0.1), (0.01, 0.0), (5.0, 2.0)])
def test_sweeps_report_the_sum_over_every_pair_and_never_raise_it(reg, smoothing):
    matrix = random_matrix()
    solver = PoissonSweeps(sp.csr_array(matrix), Prior(reg, smoothing))
    state = Factors(*random_factors())
    values = [every_pair(matrix, state.left, state.right, reg, smoothing)]
    for _ in range(40):
        state = solver.step(state)
        values.append(state.objective)
        if smoothing or state.left.min() > LEAST:
            assert state.objective == pytest.approx(every_pair(matrix, state.left, state.right, reg, smoothing))
    assert all(new <= old + 1e-9 for old, new in pairwise(values))
    assert values[-1] < values[0]


def test_a_step_is_the_printed_one():
    """x_l ← (a + x_l Σ c_j v_jl / (x · v_j)) / (Σ_j v_jl + λ + Σ w_j v_jl), row after row."""
    matrix = random_matrix()
    U, V = random_factors()
    new, _ = moved_rows(PoissonSweeps(sp.csr_array(matrix), Prior(0.7, 0.2)).rows[0], U, V, V.sum(axis=0),
                        Prior(0.7, 0.2), 1, steps=1)  # fmt: skip
    for i, x in enumerate(U):
        liked, disliked = np.maximum(matrix[i], 0), np.maximum(-matrix[i], 0)
        expected = (0.2 + x * ((liked / (V @ x)) @ V)) / (V.sum(axis=0) + 0.7 + disliked @ V)
        np.testing.assert_allclose(new[i], expected, rtol=1e-12)


@pytest.mark.parametrize("smoothing", [0.05, 1.0])
def test_the_end_is_stationary(smoothing):
    """Finite differences of F over all pairs vanish in the logarithms of all factors."""
    matrix = random_matrix()
    model = PoissonMF(rank=2, reg=0.5, smoothing=smoothing, max_iter=5000, tol=0, dtype="float64", random_state=0)
    model.fit(matrix)
    U, V = model.user_factors_, model.item_factors_
    assert model.objective_ == pytest.approx(every_pair(matrix, U, V, 0.5, smoothing))
    for side, X in enumerate((U, V)):
        for place in np.ndindex(*X.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = X.copy()
                moved[place] *= np.exp(step)
                ends.append(every_pair(matrix, *((moved, V) if side == 0 else (U, moved)), 0.5, smoothing))
            assert abs(ends[0] - ends[1]) / 2e-5 < 2e-3


def test_fold_in_is_the_training_sub_problem():
    matrix = random_matrix()
    model = PoissonMF(rank=2, reg=0.5, smoothing=0.3, max_iter=3000, tol=0, dtype="float64", random_state=0).fit(matrix)
    np.testing.assert_allclose(model.fold_in_users(matrix), model.user_factors_, rtol=1e-3)
    np.testing.assert_allclose(model.fold_in_items(matrix), model.item_factors_, rtol=1e-3)
    rows = np.array([[0, 2.0, 0, -1, 0, 1, 0], [0] * 7])
    found, V = model.fold_in_users(rows), model.item_factors_
    for row, factors in zip(rows, found):

        def part(z, row=row):
            x = np.exp(z)
            s = V @ x
            return np.sum(s - np.maximum(row, 0) * np.log(s) + np.maximum(-row, 0) * s + 0) + np.sum(0.5 * x - 0.3 * z)

        best = minimize(part, np.zeros(2), method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(factors, np.exp(best.x), rtol=1e-4)
    np.testing.assert_allclose(found[1], 0.3 / (V.sum(axis=0) + 0.5), rtol=1e-6)  # nothing stored: the closed form


def test_a_new_row_depends_on_itself_alone():
    matrix, _ = block_matrix()
    model = PoissonMF(rank=3, random_state=0, max_iter=20).fit(matrix)
    together = model.fold_in_users(matrix)
    for user in (0, 7, 43):
        assert np.array_equal(model.fold_in_users(matrix[[user]])[0], together[user])


def test_threads_change_no_bit():
    random = np.random.default_rng(0)
    rows = sp.random_array((3000, 1500), density=0.02, format="csr", dtype=np.float32, random_state=random)
    start = Factors(*(factors.astype(np.float32) for factors in random_factors(3000, 1500, 8)))
    one, two = (PoissonSweeps(rows, Prior(1.0, 0.1), threads).step(start) for threads in (1, 2))
    assert np.array_equal(one.left, two.left)
    assert np.array_equal(one.right, two.right)
    assert one.objective == two.objective
    assert np.array_equal(column_sums(one.right, 1), column_sums(one.right, 2))
    stored = PoissonSweeps(rows, Prior(1.0, 0.1)).rows[0]
    ends = [folded(stored, one.right, column_sums(one.right, 1), Prior(1.0, 0.1), threads) for threads in (1, 2)]
    assert np.array_equal(*ends)


def test_scale_of_counts():
    """A positive of weight c is c events: scores are means of counts."""
    matrix = np.outer([1.0, 2.0, 4.0], [3.0, 1.0, 2.0])
    model = PoissonMF(rank=1, reg=1e-6, smoothing=0, max_iter=500, tol=0, dtype="float64", random_state=0).fit(matrix)
    np.testing.assert_allclose(model.score_users(), matrix, rtol=1e-4)


@pytest.mark.parametrize(
    ("params", "match"), [({"reg": 0}, "reg"), ({"smoothing": -0.1}, "smoothing"), ({"rank": 0}, "rank")]
)
def test_what_makes_no_sense_is_refused(params, match):
    with pytest.raises(ValueError, match=f"{match} must be"):
        PoissonMF(**{"rank": 2, **params}).fit(block_matrix()[0])


def test_new_items_need_events():
    model = PoissonMF(rank=2, random_state=0, max_iter=3).fit(block_matrix()[0])
    with pytest.raises(ValueError, match="describe new items by interactions"):
        model.fold_in_items(np.ones((44, 1)), features=np.ones((1, 2)))


class TestPoissonMF(RecommenderContract):
    offers = frozenset({*ESTIMATORS["PoissonMF"].offers, "n_threads", "dtype"})

    def make_model(self, **params):
        return PoissonMF(**{"rank": 3, "max_iter": 150, "tol": 0, "random_state": 0, **params})
