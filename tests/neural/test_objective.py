"""Value, gradient and Gauss-Newton product of two towers against autodiff of the naive double sum."""

import jax
import numpy as np
import pytest

from everypair.neural.differentiated import precision
from everypair.neural.layers import Layers
from everypair.neural.trees import inner, leaves

from .naive import FLOAT64, LOSS, RANK, SHAPE, Naive

CASES = [
    *({"loss": loss, "value": value} for loss in LOSS for value in (-0.7, "low_rank")),
    {"kinds": ("both", "ids"), "layers": Layers((), RANK)},
    {"kinds": ("dropped", "dense"), "layers": Layers((4, 3), RANK, "tanh", biases=False)},
    {"kinds": ("sparse", "ids"), "layers": Layers((4,), RANK, "elu", temperature=0.3)},
]


def same(found, expected):
    assert jax.tree_util.tree_structure(found) == jax.tree_util.tree_structure(expected)
    scale = np.sqrt(sum(float(np.sum(np.square(leaf))) for leaf in leaves(expected)))
    for one, other in zip(leaves(found), leaves(expected)):
        assert one.dtype == FLOAT64
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10 * scale)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values()))[:60])
def test_value_gradient_and_product(case):
    naive = Naive(**case)
    objective, theta = naive.objective, naive.theta
    point = objective.at(theta)
    with precision(FLOAT64):
        assert point.value == pytest.approx(float(naive.value(theta)), rel=1e-10)
    same(objective.gradient(point), naive.gradient(theta))
    direction = naive.direction()
    product = objective.product(point, direction)
    same(product, naive.product(theta, direction))
    assert inner(product, direction) > 0  # positive definite


def test_the_gradient_is_that_of_differences():
    naive = Naive()
    direction = naive.direction()

    def at(length):
        moved = jax.tree_util.tree_map(lambda x, d: x + length * d, naive.theta, direction)
        return naive.objective.at(moved).value

    slope = inner(naive.objective.gradient(naive.objective.at(naive.theta)), direction)
    assert slope == pytest.approx((at(1e-5) - at(-1e-5)) / 2e-5, rel=1e-6)


def test_no_global_flag():
    Naive()
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_products_of_random_roots_are_the_curvature_in_the_mean(loss):
    naive = Naive(loss=loss)
    objective, theta = naive.objective, naive.theta
    point = objective.at(theta)
    random, draws = np.random.default_rng(0), 2000
    roots = [objective.curvature_root(point, random) for _ in range(draws)]
    rows, columns = np.nonzero(naive.signed)
    point.stored.curvatures += naive.p[rows] * naive.q[columns]  # c ℓ'' of stored pairs, which are negatives besides
    for side, size in enumerate(SHAPE):
        for entity in (0, 3, size - 1):
            own = np.array([root[side][entity] for root in roots])
            mean = own.T @ own / draws
            expected = np.empty((RANK, RANK))
            for column, unit in enumerate(np.eye(RANK)):
                directions = [np.zeros((one, RANK)) for one in SHAPE]
                directions[side][entity] = unit
                expected[:, column] = objective.factor_product(point, *directions)[side][entity]
            np.testing.assert_allclose(mean, expected, atol=0.15 * np.trace(expected))
            assert np.trace(mean) == pytest.approx(np.trace(expected), rel=0.1)


def test_traces_of_rows_are_those_of_the_curvature():
    naive = Naive()
    point = naive.objective.at(naive.theta)
    for side, size in enumerate(SHAPE):
        found = naive.objective.row_curvatures(point, side)
        for entity in range(size):
            expected = 0.0
            for column in range(RANK):
                directions = [np.zeros((one, RANK)) for one in SHAPE]
                directions[side][entity, column] = 1
                expected += naive.objective.factor_product(point, *directions)[side][entity, column]
            assert found[entity] == pytest.approx(max(expected, 1e-3 * found.mean()), rel=1e-6)
