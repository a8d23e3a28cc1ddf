import numpy as np
import pytest

from everypair.data.pairs import Pairs
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge

from .brute import COLUMNS, EVERY_CASE, PLAIN_LOSSES, Case, build, start

STENCIL = [(-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12)]  # of a first derivative, to fourth order
STEP = 1e-3

every_case = pytest.mark.parametrize("case", EVERY_CASE, ids=str)


def difference(function, at, direction):
    """Derivative of ``function`` along ``direction`` at ``at``."""
    return sum(share * function(at + steps * STEP * direction) for steps, share in STENCIL) / STEP


@every_case
def test_value_is_the_sum_over_every_pair(case):
    problem = build(case)
    left, right = start(problem.dense)
    expected = problem.dense.value(left, right)
    assert expected > 0
    assert problem.objective.value(left, right) == pytest.approx(expected, rel=1e-10)


@every_case
def test_gradient_is_the_slope_of_the_sum_over_every_pair(case):
    problem = build(case)
    left, right = start(problem.dense)
    for side, this in enumerate((left, right)):
        coordinates = np.eye(this.size).reshape(-1, *this.shape)

        def value(moved, side=side):
            return problem.dense.value(*((moved, right) if side == 0 else (left, moved)))

        expected = difference(value, this, coordinates).reshape(this.shape)
        learnt = problem.dense.learnt(side)
        gradient = problem.objective.gradient(side, left, right)
        np.testing.assert_allclose(gradient[:, learnt], expected[:, learnt], rtol=1e-8, atol=1e-9)
        assert not gradient[:, ~learnt].any()


@every_case
def test_hessian_vector_is_the_slope_of_the_gradient(case):
    problem = build(case)
    left, right = start(problem.dense)
    for side, this in enumerate((left, right)):
        direction = np.random.default_rng(2).normal(size=this.shape)
        learnt = problem.dense.learnt(side)

        def gradient(moved, side=side):
            return problem.objective.gradient(side, *((moved, right) if side == 0 else (left, moved)))

        expected = difference(gradient, this, direction * learnt)
        product = problem.objective.hessian_vector(side, direction, left, right)
        np.testing.assert_allclose(product, expected, rtol=1e-8, atol=1e-9)
        assert not product[:, ~learnt].any()


@pytest.mark.parametrize("exponent", [0, 0.5, 1, "count"])
@pytest.mark.parametrize("reg", [(0.0, 0.0), (0.2, 0.0), (0.1, 3.0)])
def test_value_with_every_ridge(exponent, reg):
    problem = build(Case(biases="biased"), reg=reg, exponent=exponent)
    factors = start(problem.dense)
    assert problem.objective.value(*factors) == pytest.approx(problem.dense.value(*factors), rel=1e-10)


@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_float32_is_the_same_function_to_single_precision(loss):
    problem = build(Case(loss=loss), dtype=np.float32)
    left, right = start(problem.dense, dtype=np.float32)
    assert problem.objective.value(left, right) == pytest.approx(problem.dense.value(left, right), rel=1e-5)
    exact = build(Case(loss=loss)).objective
    for side in (0, 1):
        gradient = problem.objective.gradient(side, left, right)
        product = problem.objective.hessian_vector(side, (left, right)[side], left, right)
        assert gradient.dtype == product.dtype == np.float32
        wide = left.astype(np.float64), right.astype(np.float64)
        np.testing.assert_allclose(gradient, exact.gradient(side, *wide), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(product, exact.hessian_vector(side, wide[side], *wide), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", ["minus", "low_rank"])
def test_threads_do_not_change_a_bit(dtype, value):
    case = Case(loss="squared", value=value)
    results = []
    for n_threads in (1, 2, 3):
        problem = build(case, shape=(5000, 40), dtype=dtype, n_threads=n_threads)
        factors = start(problem.dense, dtype=dtype)
        results.append(
            [
                problem.objective.value(*factors),
                *(problem.objective.gradient(side, *factors) for side in (0, 1)),
                *(problem.objective.hessian_vector(side, factors[side], *factors) for side in (0, 1)),
            ]
        )
    for other in results[1:]:
        for one, two in zip(results[0], other):
            assert np.array_equal(one, two)


def test_the_sum_of_positive_terms_is_zero_where_everything_is_met():
    pairs = Pairs.from_matrix([[1, 0], [0, 1]], dtype=np.float64)
    objective = Objective(pairs, "squared", Negatives.from_scheme(pairs, 0.5), Ridge.checked(0, 0), dtype=np.float64)
    assert objective.value(np.eye(2), np.eye(2)) == 0
    assert not objective.gradient(0, np.eye(2), np.eye(2)).any()


def test_weight_zero_leaves_the_stored_pairs_alone():
    case = Case(targets="explicit")
    problem = build(case, negative_weight=0.0, reg=(0.0, 0.0))
    left, right = start(problem.dense)
    value, _, _ = PLAIN_LOSSES[case.loss]
    dense = problem.dense
    expected = np.sum(dense.weights * value(dense.targets, left @ right.T), where=dense.stored)
    assert problem.objective.value(left, right) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("shapes", [((6, 5), (7, 5)), ((7, 5), (6, 4)), ((7,), (6, 5)), ((8, 5), (6, 5))])
def test_factors_of_other_shapes_are_refused(shapes):
    objective = build(Case()).objective
    left, right = (np.zeros(shape) for shape in shapes)
    with pytest.raises(ValueError, match=r"parameters must have shapes \(7, k\) and \(6, k\)"):
        objective.value(left, right)
    for side in (0, 1):
        with pytest.raises(ValueError, match="parameters must have shapes"):
            objective.gradient(side, left, right)
        with pytest.raises(ValueError, match="parameters must have shapes"):
            objective.hessian_vector(side, np.zeros((7, COLUMNS)), left, right)
