"""SameLossMF: the loss itself on every pair, for comparison."""

import numpy as np
import pytest

from everypair.models.recommend.rivals.same_loss import SameLossMF
from everypair.problem.losses import LOSSES
from everypair.solvers.alternating import SIDE_METHODS

from .informed import ITEMS, USERS, converged, double, problem, written_out

MATRIX, _, _ = problem()
WEIGHTS = {"negative_weight": 0.2, "reg": 0.3}
SAME = {"kind": SameLossMF, **WEIGHTS}


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_the_loss_summed_over_every_pair(loss, biases):
    model = double(loss=loss, biases=biases, **SAME).fit(MATRIX)
    assert model.objective_ == pytest.approx(written_out(model, MATRIX), rel=1e-10)
    values = [sweep["objective"] for sweep in model.history_]
    assert (np.diff(values) <= 0).all()
    assert np.abs(model.user_factors_[:, :3]).max() > 0.3


def test_with_the_squared_loss_both_objectives_are_one():
    same = converged(loss="squared", **SAME).fit(MATRIX)
    squared = converged(loss="squared", **WEIGHTS).fit(MATRIX)
    assert same.objective_ == pytest.approx(squared.objective_, rel=1e-12)
    np.testing.assert_allclose(same.score_users(), squared.score_users(), atol=1e-5)
    np.testing.assert_allclose(same.fold_in_users(MATRIX), same.user_factors_, atol=1e-6)
    logistic = converged(**SAME).fit(MATRIX)
    assert not np.allclose(logistic.score_users(), converged(**WEIGHTS).fit(MATRIX).score_users(), atol=0.05)


@pytest.mark.parametrize(
    "params",
    [
        {"biases": True},
        {"negative_value": (np.linspace(-2, 0, USERS)[:, None], np.linspace(1, 2, ITEMS)[:, None])},
        {"negative_scheme": "item-rarity", "loss": "squared_hinge"},
    ],
    ids=["biases", "low rank", "rarity"],
)
def test_training_rows_and_columns_fold_in_to_themselves(params):
    model = converged(**SAME, **params).fit(MATRIX)
    values = model.negatives_.value if "negative_value" in params else (None, None)
    scale = np.abs(model.user_factors_).max()
    assert scale > 0.3
    np.testing.assert_allclose(model.fold_in_users(MATRIX, values=values[0]), model.user_factors_, atol=1e-6 * scale)
    np.testing.assert_allclose(model.fold_in_items(MATRIX, values=values[1]), model.item_factors_, atol=1e-6 * scale)


@pytest.mark.parametrize("solver", SIDE_METHODS)
def test_solvers_agree(solver):
    best = converged(**SAME).fit(MATRIX).objective_
    model = double(**SAME, solver=solver, max_iter=500, tol=1e-8).fit(MATRIX)
    assert model.objective_ == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("solver", ["newton", "als", "block", "cd", "sg-reform", "sg-bsearch", "sg-dense"])
def test_solvers_that_need_the_square_are_refused(solver):
    with pytest.raises(ValueError, match=f'SameLossMF needs solver="auto" .*not .{solver}'):
        SameLossMF(rank=3, loss="squared", solver=solver).fit(MATRIX)


def test_explanations_are_refused():
    with pytest.raises(ValueError, match="squared negatives"):
        double(kind=SameLossMF, max_iter=1).fit(MATRIX).explain(0, 0)
