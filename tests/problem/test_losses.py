import copy
import math
from functools import partial

import numpy as np
import pytest
from numba import njit
from sklearn.base import clone

from everypair import OneClassMF
from everypair.kernels.row_newton import solve_rows
from everypair.problem.losses import LOSSES, Loss, get_loss
from everypair.solvers.half_step import RowSteps, half_step

from .brute import DISLIKE_TARGETS, PLAIN_LOSSES, Case, build, loss_named, start

LN2 = math.log(2)


def square(y, s):
    return (y - s) * (y - s)


def slope_of_square(y, s):
    return 2.0 * (s - y)


def two(y, s):
    return 2.0


@pytest.mark.parametrize(
    ("name", "y", "s", "value", "slope", "curvature"),
    [
        ("squared", 1, 0.5, 0.125, -0.5, 1),
        ("squared", 0, -3, 4.5, -3, 1),
        ("squared", 2.5, 2.5, 0, 0, 1),
        ("logistic", 1, 0, LN2, -0.5, 0.25),
        ("logistic", -1, 0, LN2, 0.5, 0.25),
        ("logistic", 1, LN2, math.log(1.5), -1 / 3, 2 / 9),
        ("logistic", -1, LN2, math.log(3), 2 / 3, 2 / 9),
        ("logistic", 2, LN2, math.log(1.25), -2 / 5, 4 * 4 / 25),
        ("logistic", 0, 5, LN2, 0, 0),
        ("squared_hinge", 1, 0.25, 0.28125, -0.75, 1),
        ("squared_hinge", -1, 1, 2, 2, 1),
        ("squared_hinge", -1, -3, 0, 0, 0),
        ("squared_hinge", 2, 0.25, 0.125, -1, 4),
        ("squared_hinge", 1, 1, 0, 0, 0),
        ("pseudo_huber", 1, 1, 0, 0, 1),
        ("pseudo_huber", 1, 1.75, 0.25, 0.6, 0.512),
    ],
)
def test_hand_computed_numbers(name, y, s, value, slope, curvature):
    loss = loss_named(name)
    assert loss.value(y, s) == pytest.approx(value, rel=1e-15, abs=1e-16)
    assert loss.slope(y, s) == pytest.approx(slope, rel=1e-15, abs=1e-16)
    assert loss.curvature(y, s) == pytest.approx(curvature, rel=1e-15, abs=1e-16)


@pytest.mark.parametrize("name", PLAIN_LOSSES)
def test_plain_formulas_on_arrays(name):
    loss = loss_named(name)
    y, s = np.array([[-1.0], [0.5], [1.0]]), np.linspace(-30, 30, 601)
    for part, formula in zip((loss.value, loss.slope, loss.curvature), PLAIN_LOSSES[name]):
        assert part(y, s).shape == (3, 601)
        assert part(y, s).dtype == np.float64
        np.testing.assert_allclose(part(y, s), formula(y, s), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", PLAIN_LOSSES)
@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("s", [-1e4, 1e4])
def test_stable_far_out(name, y, s):
    loss = loss_named(name)
    parts = [loss.value(y, s), loss.slope(y, s), loss.curvature(y, s)]
    assert np.isfinite(parts).all()
    plain = [formula(y, np.array(s)) for formula in PLAIN_LOSSES[name]]
    np.testing.assert_allclose(parts, plain, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("name", PLAIN_LOSSES)
@pytest.mark.parametrize("y", [-1.0, 0.5, 1.0, 2.0])
def test_slope_and_curvature_are_derivatives(name, y):
    loss = loss_named(name)
    s, h = np.linspace(-6, 6, 400), 1e-5
    if name == "squared_hinge":
        s = s[np.abs(1 - y * s) > 1e-3]
    for function, derivative in ((loss.value, loss.slope), (loss.slope, loss.curvature)):
        difference = (function(y, s + h) - function(y, s - h)) / (2 * h)
        np.testing.assert_allclose(derivative(y, s), difference, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", PLAIN_LOSSES)
def test_convex_and_not_negative(name):
    loss = loss_named(name)
    y, s = np.array([[-1.0], [1.0], [0.3]]), np.linspace(-50, 50, 1001)
    assert (loss.value(y, s) >= 0).all()
    assert (loss.curvature(y, s) >= 0).all()
    assert (np.diff(loss.slope(y, s)) >= 0).all()


@pytest.mark.parametrize("name", PLAIN_LOSSES)
def test_dislike_targets(name):
    assert loss_named(name).dislike_target == DISLIKE_TARGETS[name]


def test_default_negative_values():
    assert {name: loss.negative_value for name, loss in LOSSES.items()} == {
        "squared": 0.0,
        "logistic": -1.0,
        "squared_hinge": -1.0,
    }


def test_names_and_losses_are_accepted():
    for name in LOSSES:
        assert get_loss(name) is LOSSES[name]
        assert repr(get_loss(name)) == f"Loss({name!r})"
    custom = loss_named("pseudo_huber")
    assert get_loss(custom) is custom


@pytest.mark.parametrize("bad", ["hinge", "", None, 3, ["squared"], {"loss": "squared"}])
def test_unknown_losses_are_refused(bad):
    with pytest.raises(ValueError, match=f"loss must be one of {', '.join(map(repr, LOSSES))} or a Loss"):
        get_loss(bad)


def test_copies_are_the_loss_itself():
    for loss in (get_loss("logistic"), loss_named("pseudo_huber")):
        assert copy.copy(loss) is loss
        assert copy.deepcopy(loss) is loss
        assert copy.deepcopy({"loss": [loss]})["loss"][0] is loss
        assert clone(OneClassMF(loss=loss)).loss is loss


def test_custom_loss_keeps_its_settings():
    loss = Loss("twice", square, slope_of_square, two, dislike_target=0.25, negative_value=-2)
    assert (loss.name, loss.dislike_target, loss.negative_value) == ("twice", 0.25, -2.0)
    np.testing.assert_allclose(loss.value(1, [0.0, 3.0]), [1, 4])
    np.testing.assert_allclose(loss.slope(1, [0.0, 3.0]), [-2, 4])
    np.testing.assert_allclose(loss.curvature(1, [0.0, 3.0]), [2, 2])


def test_a_custom_loss_compiles_no_row_kernel():
    """Nothing of a user's function may enter a kernel on disk: a process without his module could not read it."""
    matrix = np.random.default_rng(0).random((20, 10)) < 0.3
    OneClassMF(rank=2, solver="newton", max_iter=1).fit(matrix)
    kept = set(solve_rows.signatures)
    OneClassMF(rank=2, solver="newton", max_iter=1, loss=Loss("twice", square, slope_of_square, two)).fit(matrix)
    assert set(solve_rows.signatures) == kept


class CallableSquare:
    def __call__(self, y, s):
        return square(y, s)


@pytest.mark.parametrize("part", ["value", "slope", "curvature"])
@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (3.0, TypeError, "must be a plain function of .y, s., as def or lambda makes it, got float"),
        ("y - s", TypeError, "must be a plain function"),
        (partial(square, 1.0), TypeError, "must be a plain function.*got partial: write a function"),
        (CallableSquare(), TypeError, "must be a plain function.*got CallableSquare"),
        (CallableSquare().__call__, TypeError, "must be a plain function.*got method"),
        (CallableSquare, TypeError, "must be a plain function.*got type"),
        (max, TypeError, "must be a plain function.*got builtin_function_or_method"),
        (np.maximum, TypeError, "must be a plain function.*got ufunc"),
        (lambda y, s: y.no_such_method(s), ValueError, "does not compile.*plain arithmetic"),
        (lambda y, s: open(y), ValueError, "does not compile.*plain arithmetic"),  # noqa: SIM115
        (lambda y, s: s / (y - 1.0), ValueError, "finite number, got inf"),
        (lambda y, s: math.log(-y), ValueError, "finite number, got nan"),
        (lambda y, s: "high", ValueError, "finite number, got 'high'"),
        (lambda y, s: None, ValueError, "finite number, got None"),
        (lambda y: y, TypeError, "must take two numbers, target y and score s: too many positional arguments"),
        (lambda y, s, t: y, TypeError, "must take two numbers, target y and score s: missing a required argument: 't'"),
        (lambda y, s, *, t: y, TypeError, "must take two numbers"),
        (lambda y, s: math.sqrt(s), ValueError, "finite number, got nan at y = 1, s = -0.5"),
        (lambda y, s: math.nan if s > 4 else s, ValueError, "finite number, got nan at y = 1, s = 5"),
    ],
)
def test_functions_that_cannot_be_a_loss_are_refused(part, function, error, words):
    parts = {"value": square, "slope": slope_of_square, "curvature": two, part: function}
    with pytest.raises(error, match=f"(?s)the loss's {part} .*{words}"):
        Loss("bad", **parts)


@pytest.mark.parametrize("name", LOSSES)
def test_built_in_names_are_taken(name):
    with pytest.raises(ValueError, match=f"'{name}' is the name of a built-in loss: give yours another one"):
        Loss(name, square, slope_of_square, two)


def test_a_loss_is_known_by_what_it_is_and_not_by_its_name():
    loss = Loss("mine", square, slope_of_square, two)
    loss.name = "squared"
    assert not loss.quadratic
    with pytest.raises(ValueError, match="minimises the squared loss only"):
        OneClassMF(rank=1, loss=loss, solver="als").fit(np.eye(2))
    model = OneClassMF(rank=1, loss=loss, max_iter=1).fit(np.eye(2))
    assert model.loss_ is loss
    with pytest.raises(TypeError, match="functions of your own, which are not written down"):
        model.to_parts()


def test_compiled_functions_are_taken():
    loss = Loss("compiled", njit(square), slope_of_square, two)
    np.testing.assert_allclose(loss.value(1, [0.0, 3.0]), [1, 4])


@pytest.mark.parametrize("solver", ["newton", "block", "tron"])
def test_slopes_that_are_not_finite_are_refused_where_training_meets_them(solver):
    def slope(y, s):
        return 2 * (s - y) if y == 1.0 else math.nan

    loss = Loss("nan_for_ratings", square, slope, two)
    matrix = np.kron(np.eye(2), np.ones((6, 5)))
    options = {"rank": 2, "loss": loss, "solver": solver, "negative_value": 0.0, "random_state": 0}
    model = OneClassMF(**options).fit(matrix)
    with pytest.raises(
        ValueError, match="the slope of the loss 'nan_for_ratings' is nan at the target 3 and the score"
    ):
        OneClassMF(**options).fit(matrix, targets=3 * matrix)
    with pytest.raises(ValueError, match="is nan at the target 3"):
        model.fold_in_users(matrix, targets=3 * matrix)


@pytest.mark.parametrize("solver", ["newton", "tron"])
def test_values_that_are_never_finite_are_refused(solver):
    loss = Loss("nan_for_ratings", lambda y, s: (s - y) ** 2 if y == 1.0 else math.nan, slope_of_square, two)
    matrix = np.kron(np.eye(2), np.ones((6, 5)))
    with pytest.raises(ValueError, match=r"not finite from the first sweep on.*a loss of your own"):
        OneClassMF(rank=2, loss=loss, solver=solver, random_state=0).fit(matrix, targets=3 * matrix)


def test_logistic_written_by_hand_is_the_built_in_one():
    def value(y, s):
        return max(-y * s, 0.0) + math.log1p(math.exp(-abs(y * s)))

    def slope(y, s):
        return -y / (1.0 + math.exp(y * s))

    def curvature(y, s):
        return y * y / (2.0 + math.exp(y * s) + math.exp(-y * s))

    by_hand = Loss("logistic_by_hand", value, slope, curvature)
    built_in = build(Case(loss="logistic"), shape=(30, 20))
    custom = build(Case(loss="logistic"), shape=(30, 20), loss=by_hand)
    left, right = start(built_in.dense)
    assert custom.objective.value(left, right) == pytest.approx(built_in.objective.value(left, right), rel=1e-13)
    for side, (this, other) in enumerate(((left, right), (right, left))):
        results = []
        for problem in (built_in, custom):
            rows = problem.objective.rows[side]
            results.append(half_step(rows, this, other, rows.gram_of(other), RowSteps(newton=3, cg=3)))
        np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-10)
        assert results[0][1] == pytest.approx(results[1][1], rel=1e-12)
