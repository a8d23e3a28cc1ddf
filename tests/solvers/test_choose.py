"""Solvers by name: all of them minimise the same objective from OneClassMF, and nonsense is refused."""

from functools import cache

import numpy as np
import pytest

from everypair import OneClassMF
from everypair.data import Pairs
from everypair.problem import Negatives, Objective, Ridge, get_loss
from everypair.problem.layout import Layout
from everypair.solvers.choose import check_solver
from everypair.testing import block_matrix

EXACT = ("newton", "block", "als", "cd")


@cache
def fit(solver, **params):
    matrix, _ = block_matrix()
    fixed = {"rank": 3, "loss": "squared", "negative_weight": 0.2, "reg": 0.5, "reg_exponent": 0.5, "max_iter": 400}
    return OneClassMF(**{**fixed, "tol": 0.0, "dtype": "float64", "random_state": 0, **params}, solver=solver).fit(
        matrix
    )


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("solver", EXACT)
def test_full_solvers_end_at_the_same_objective_with_no_gradient(solver, biases):
    model = fit(solver, biases=biases)
    reference = fit("newton", biases=biases)
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-6)
    matrix, _ = block_matrix()
    pairs = Pairs.from_matrix(matrix, dtype=np.float64)
    objective = Objective(
        pairs,
        "squared",
        Negatives.from_scheme(pairs, 0.2),
        Ridge.checked(0.5, 0.5),
        layout=Layout(3, biases),
        dtype=np.float64,
    )
    at_end, at_start = (
        np.sqrt(sum(np.sum(objective.gradient(side, left, right) ** 2) for side in (0, 1)))
        for left, right in (
            (model.user_factors_, model.item_factors_),
            (0.5 * model.user_factors_, model.item_factors_),
        )
    )
    assert at_end < 1e-6 * at_start


@pytest.mark.parametrize("solver", ["sg-reform", "sg-bsearch", "sg-dense"])
def test_stochastic_gradient_comes_near(solver):
    model = fit(solver, max_iter=200, tol=0.0)  # two of them stay at a saddle for a hundred
    assert min(entry["objective"] for entry in model.history_) < 1.05 * fit("newton").objective_


def test_auto_begins_as_a_balanced_newton_and_goes_on_with_momentum():
    auto, newton = fit("auto", max_iter=1), fit("newton", max_iter=1)
    np.testing.assert_allclose(
        auto.user_factors_ @ auto.item_factors_.T, newton.user_factors_ @ newton.item_factors_.T, atol=1e-10
    )
    assert auto.objective_ < newton.objective_
    assert fit("auto", max_iter=6).objective_ != fit("newton", max_iter=6).objective_


@pytest.mark.parametrize("solver", ["als", "cd"])
def test_squared_loss_only(solver):
    with pytest.raises(ValueError, match='squared loss only, not \'logistic\': use "newton" or "block"'):
        fit(solver, loss="logistic")


@pytest.mark.parametrize("solver", ["sgd", None, 3])
def test_unknown_solver(solver):
    with pytest.raises(ValueError, match=r"solver must be Newton\(…\) or one of 'auto', 'newton'"):
        check_solver(solver, get_loss("squared"))
