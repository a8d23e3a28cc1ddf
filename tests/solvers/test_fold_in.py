from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data.rows import StoredRows
from everypair.solvers.fold_in import new_rows, solve_to_optimum

from ..problem.brute import COLUMNS, PLAIN_LOSSES, SCHEMES, VALUES, Case, build, start

CASES = [
    Case(loss, scheme, value, "random", targets, dislikes, biases)
    for loss, scheme, value, (targets, dislikes), biases in product(
        PLAIN_LOSSES,
        SCHEMES,
        VALUES,
        (("default", "liked"), ("default", "disliked"), ("explicit", "disliked")),
        ("unbiased", "biased"),
    )
]


def fold_in(problem, side, *, weights=None, values=None, rows=slice(None), dtype=np.float64):
    """Rows of the training data as if they were new."""
    signed = problem.signed.T if side else problem.signed
    targets = None
    if problem.targets is not None:
        pattern = problem.targets.T.tocsr() if side else problem.targets
        targets = pattern[rows].data.astype(dtype)
    return new_rows(
        side,
        StoredRows.of(sp.csr_array(signed[rows].astype(dtype))),
        problem.objective.loss,
        problem.objective.negatives,
        problem.ridge,
        problem.objective.rows[side].constant,
        targets=targets,
        weights=weights,
        values=values,
    )


def own_parts(problem, case, side):
    """Weights and values that new rows cannot know by themselves."""
    negatives = problem.objective.negatives
    weights = (negatives.left, negatives.right)[side] if case.scheme == "arrays" else None
    values = negatives.value[side] if case.value == "low_rank" else None
    return {"weights": weights, "values": values}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_optimum_has_no_gradient(case):
    problem = build(case)
    factors = start(problem.dense)
    for side in (0, 1):
        rows = problem.objective.rows[side]
        origin = np.zeros((rows.n_rows, COLUMNS))
        if rows.constant is not None:
            origin[:, rows.constant] = 1
        solved = solve_to_optimum(rows, factors[1 - side])
        at = [(start_at, factors[1]) if side == 0 else (factors[0], start_at) for start_at in (origin, solved)]
        before, after = (np.abs(problem.objective.gradient(side, *sides)) for sides in at)
        assert (after.max(axis=1) <= 1e-6 * before.max(axis=1) + 1e-12).all()
        if rows.constant is not None:
            assert (solved[:, rows.constant] == 1).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_new_rows_are_the_training_sub_problem(case):
    problem = build(case)
    factors = start(problem.dense)
    for side in (0, 1):
        trained = problem.objective.rows[side]
        new = fold_in(problem, side, **own_parts(problem, case, side))
        for name in ("indptr", "indices", "every_weight", "every_target", "other_weights", "other_values"):
            assert np.array_equal(getattr(new, name), getattr(trained, name)), name
        for name in ("values", "this_weights", "ridge", "this_values"):
            expected = getattr(trained, name)
            if expected is None:
                assert getattr(new, name) is None
            else:
                np.testing.assert_allclose(getattr(new, name), expected, rtol=1e-13, atol=1e-15)
        assert (new.constant, new.loss) == (trained.constant, trained.loss)
        expected = solve_to_optimum(trained, factors[1 - side])
        np.testing.assert_allclose(solve_to_optimum(new, factors[1 - side]), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", PLAIN_LOSSES)
@pytest.mark.parametrize("side", [0, 1])
def test_rows_are_folded_in_one_by_one_as_together(loss, side):
    problem = build(Case(loss=loss, biases="biased"))
    other = start(problem.dense)[1 - side]
    together = solve_to_optimum(fold_in(problem, side), other)
    for row in range(len(together)):
        alone = solve_to_optimum(fold_in(problem, side, rows=slice(row, row + 1)), other)
        np.testing.assert_allclose(alone[0], together[row], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_single_precision_is_close(loss):
    case = Case(loss=loss, biases="biased")
    narrow, wide = build(case, dtype=np.float32), build(case)
    for side in (0, 1):
        other = start(wide.dense)[1 - side]
        solved = solve_to_optimum(fold_in(narrow, side, dtype=np.float32), other.astype(np.float32))
        assert solved.dtype == np.float32
        expected = solve_to_optimum(fold_in(wide, side), other)
        np.testing.assert_allclose(solved, expected, rtol=2e-3, atol=2e-3)


def test_optimum_beats_its_neighbourhood():
    problem = build(Case())
    left, right = start(problem.dense)
    solved = solve_to_optimum(problem.objective.rows[0], right)
    best = problem.dense.value(solved, right)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        moved = solved + size * rng.normal(size=(50, *solved.shape))
        assert (problem.dense.value(moved, right) > best).all()
    assert best < problem.dense.value(left, right)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_change_a_bit(n_threads):
    problem = build(Case(), shape=(400, 100))
    _, right = start(problem.dense)
    rows = problem.objective.rows[0]
    assert np.array_equal(solve_to_optimum(rows, right), solve_to_optimum(rows, right, n_threads))


def test_no_rows_at_all():
    problem = build(Case())
    _, right = start(problem.dense)
    assert solve_to_optimum(fold_in(problem, 0, rows=slice(0, 0)), right).shape == (0, COLUMNS)


def test_array_weights_default_to_their_mean_and_can_be_given():
    problem = build(Case(scheme="arrays"), negative_weight=0.4)
    np.testing.assert_allclose(fold_in(problem, 0).this_weights, 1.0)
    np.testing.assert_allclose(fold_in(problem, 1).this_weights, 0.4)
    given = np.linspace(0, 2, 7)
    np.testing.assert_allclose(fold_in(problem, 0, weights=given).this_weights, given)


def test_low_rank_values_default_to_the_mean_training_row():
    problem = build(Case(value="low_rank"))
    left_values, _ = problem.objective.negatives.value
    np.testing.assert_allclose(fold_in(problem, 0).this_values, np.tile(left_values.mean(axis=0), (7, 1)))


@pytest.mark.parametrize("weights", [np.ones(6), np.ones((7, 1)), -np.ones(7), np.full(7, np.nan)], ids=repr)
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weights must be 7 finite numbers ≥ 0"):
        fold_in(build(Case()), 0, weights=weights)


@pytest.mark.parametrize("values", [np.ones((7, 3)), np.ones((6, 2)), np.ones(7), np.full((7, 2), np.inf)], ids=repr)
def test_bad_values_are_refused(values):
    with pytest.raises(ValueError, match=r"values must be finite and of shape \(7, 2\)"):
        fold_in(build(Case(value="low_rank")), 0, values=values)


def test_values_without_low_rank_values_are_refused():
    with pytest.raises(ValueError, match="this model has a constant one"):
        fold_in(build(Case(value="minus")), 0, values=np.ones((7, 2)))
