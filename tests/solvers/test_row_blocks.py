"""Exact steps on blocks of coordinates: one block of all is ALS, smaller ones end at the same optimum."""

import numpy as np
import pytest

from everypair.data import Pairs
from everypair.problem import Negatives, Objective, Ridge
from everypair.problem.layout import Layout
from everypair.solvers.half_step import TO_OPTIMUM, RowSteps, half_step

M, N = 24, 18
COLUMNS = 6  # of the factors, bias columns included: each width is a kernel to compile for each size of block


def make(loss, value, biases, seed=0, dtype=np.float64):
    random = np.random.default_rng(seed)
    signed = np.where(random.random((M, N)) < 0.3, random.choice([-1.0, 1.0, 1.0], (M, N)), 0)
    pairs = Pairs.from_matrix(signed * random.uniform(0.5, 3, (M, N)), dtype=dtype)
    imputed = {"constant": -0.4, "low rank": (random.normal(size=(M, 2)), random.normal(size=(N, 2)))}[value]
    negatives = Negatives.from_scheme(pairs, 0.3, (random.random(M), random.random(N)), imputed)
    ridge = Ridge.checked((0.2, 0.3), 0.5)
    objective = Objective(pairs, loss, negatives, ridge, layout=Layout(COLUMNS - 2 * biases, biases), dtype=dtype)
    left, right = random.normal(size=(M, COLUMNS)), random.normal(size=(N, COLUMNS))
    if biases:
        left[:, -1], right[:, -2] = 1, 1
    return objective, left.astype(dtype), right.astype(dtype)


@pytest.mark.parametrize("biases", [False, True], ids=["unbiased", "biased"])
@pytest.mark.parametrize("value", ["constant", "low rank"])
@pytest.mark.parametrize("seed", range(3))
def test_newton_als_and_block_agree_on_a_half_step(value, biases, seed):
    objective, left, right = make("squared", value, biases, seed)
    problem = objective.rows[0]
    gram = problem.gram_of(right)
    newton, stored = half_step(problem, left, right, gram, TO_OPTIMUM[left.dtype])
    als, als_stored = half_step(problem, left, right, gram, RowSteps(block=COLUMNS))  # one exact step
    block, _ = half_step(problem, left, right, gram, RowSteps(block=3, newton=500))
    np.testing.assert_allclose(als, newton, atol=1e-8)
    np.testing.assert_allclose(block, newton, atol=1e-8)
    assert als_stored == pytest.approx(stored, rel=1e-8)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_blocks_serve_other_losses(loss):
    objective, left, right = make(loss, "constant", False)
    problem = objective.rows[1]
    gram = problem.gram_of(left)
    newton, _ = half_step(problem, right, left, gram, TO_OPTIMUM[left.dtype])
    block, _ = half_step(problem, right, left, gram, RowSteps(block=3, newton=500))
    np.testing.assert_allclose(block, newton, atol=1e-6)
