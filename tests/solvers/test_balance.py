"""Balance: the least ridge among factors with the same scores."""

import numpy as np
import pytest

from everypair.problem.layout import Layout
from everypair.solvers import balance
from everypair.solvers.alternating import Alternating
from everypair.solvers.balance import Balance, balancing
from everypair.solvers.half_step import RowSteps
from everypair.solvers.side import SideSteps
from everypair.solvers.state import Factors
from everypair.training.start import random_start

from ..problem.brute import COLUMNS, Case, build, start
from ..problem.test_side_information import known_of


def test_the_least_ridge_is_the_sum_of_singular_values():
    random = np.random.default_rng(0)
    U, V = random.normal(size=(30, 4)), 20 * random.normal(size=(20, 4))
    found = balancing(U.T @ U, V.T @ V)
    A, inverse = found.matrix, found.inverse
    np.testing.assert_allclose(A @ inverse, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(A, A.T, atol=1e-14)
    after = 0.5 * (np.sum((U @ A) ** 2) + np.sum((V @ inverse) ** 2))
    assert after == pytest.approx(np.linalg.svd(U @ V.T, compute_uv=False).sum(), rel=1e-8)
    before = 0.5 * (np.sum(U**2) + np.sum(V**2))
    assert found.gain == pytest.approx(before - after, rel=1e-10)
    np.testing.assert_allclose(A @ (U.T @ U) @ A, inverse @ (V.T @ V) @ inverse, rtol=1e-3)
    for _ in range(20):
        other = A @ (np.eye(4) + 0.1 * random.normal(size=(4, 4)))
        ridge = 0.5 * (np.sum((U @ other) ** 2) + np.sum((V @ np.linalg.inv(other).T) ** 2))
        assert ridge > after


def test_what_cannot_be_balanced_is_left_alone():
    G = np.diag([3.0, 1.0])
    assert balancing(G, np.zeros((2, 2))) is None
    assert balancing(np.zeros((2, 2)), G) is None
    assert balancing(np.full((2, 2), np.nan), G) is None
    assert balancing(G, G, least=1e-5) is None  # balanced already
    gain = 0.5 * (4 + 12) - 4 * np.sqrt(3)
    assert balancing(G, 3 * G, least=1.01 * gain) is None
    assert balancing(G, 3 * G, least=0.99 * gain) is not None


def test_a_direction_that_is_gone_stays_within_bounds():
    thin = np.ones((3, 3), np.float32) - 1e-6 * np.eye(3)  # rounding, less than nothing in two directions
    pairs = balancing(np.diag([1.0, 0.0, 1e-9]), np.diag([1e8, 1e8, 0.0])), balancing(thin, 1e6 * np.eye(3))
    for matrix in (matrix for found in pairs for matrix in (found.matrix, found.inverse)):
        sizes = np.linalg.eigvalsh(matrix)
        assert np.isfinite(sizes).all()
        assert sizes[-1] / sizes[0] <= 1.001 * np.sqrt(balance.SPREAD)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("biases", ["unbiased", "biased"])
@pytest.mark.parametrize("embeddings", [("table", "table"), ("both", "linear"), ("table", "both")])
def test_scores_stay_and_the_ridge_falls(embeddings, biases, graph):
    known = tuple(
        known_of(side, embedding, graph, shape=(20, 14), widths=(4, 3), regs=(1.0, 0.4))
        for side, embedding in enumerate(embeddings)
    )
    problem = build(Case(biases=biases), shape=(20, 14), known=known, reg=(1.0, 0.3), exponent=0.5)
    objective = problem.objective
    plain = Alternating(objective, RowSteps(), SideSteps())
    layout = Layout(COLUMNS - 2, True) if biases == "biased" else Layout(COLUMNS)
    begin = random_start(objective, layout, np.random.default_rng(0))
    swept = plain.step(begin)
    balanced = Balance(objective)(swept)
    assert balanced.objective < swept.objective
    np.testing.assert_allclose(balanced.left @ balanced.right.T, swept.left @ swept.right.T, atol=1e-10)
    value = objective.value(balanced.parameters(0), balanced.parameters(1))
    assert balanced.objective == pytest.approx(value, rel=1e-10)
    for side, factors in enumerate((balanced.left, balanced.right)):
        np.testing.assert_allclose(factors, objective.factors(side, balanced.parameters(side)), atol=1e-12)
        constant = layout.constant(side)
        if constant is not None:
            assert np.array_equal(factors[:, layout.rank :], (swept.left, swept.right)[side][:, layout.rank :])
    assert Balance(objective)(balanced) is balanced  # nothing is left to gain


def test_no_ridge_no_balance():
    problem = build(Case(), shape=(12, 9), reg=(0.0, 0.0))
    plain = Alternating(problem.objective, RowSteps())
    swept = plain.step(Factors(*start(problem.dense)))
    assert Balance(problem.objective)(swept) is swept
