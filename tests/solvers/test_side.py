"""All parameters of one side at once: every method ends at the same optimum, on the way the objective never rises."""

import math
from itertools import pairwise, product

import numpy as np
import pytest

from everypair.parallel import single_threaded_blas
from everypair.problem.outside import OUTSIDE
from everypair.problem.side import SideProblem
from everypair.solvers.alternating import SIDE_METHODS, Alternating
from everypair.solvers.first_order import FirstOrderModel
from everypair.solvers.half_step import TO_OPTIMUM, RowSteps, half_step
from everypair.solvers.preconditioner import Preconditioner
from everypair.solvers.side import SideNewton, SideSolver, SideSteps
from everypair.solvers.state import Factors

from ..problem.brute import PLAIN_LOSSES, Case, build, start
from ..problem.test_side_information import known_of

EMBEDDINGS = ("table", "linear", "both")
TO_THE_END = {
    "tron": SideSteps("tron", steps=60, cg_tol=0.01, cg_steps=200, tol=1e-9),
    "newton-linesearch": SideSteps("newton-linesearch", steps=60, cg_tol=0.01, cg_steps=200, tol=1e-9),
    "gradient": SideSteps("gradient", steps=1500, tol=1e-7),
    "nonlinear-cg": SideSteps("nonlinear-cg", steps=1500, tol=1e-7),
    "gradient-region": SideSteps("gradient-region", steps=1500, tol=1e-7),
}
every_side = pytest.mark.parametrize(
    ("embedding", "graph", "biases"), list(product(EMBEDDINGS, ("alone", "linked"), ("unbiased", "biased")))
)


def informed(embeddings, graph, case, shape=(10, 8), widths=(4, 3), **options):
    known = tuple(
        known_of(side, embedding, graph == "linked", shape=shape, widths=widths, normalized=side == 1, regs=(1.0, 0.4))
        for side, embedding in enumerate(embeddings)
    )
    return build(case, shape=shape, known=known, **{"reg": (1.0, 1.0), "exponent": 0, **options})


class Side:
    """One side of a problem with the other side fixed: its block, and F as a function of its parameters."""

    def __init__(self, problem, side=0, n_threads=1, dtype=np.float64, small=False):
        self.objective, self.side = problem.objective, side
        self.thetas = start(problem.dense, dtype=dtype)
        self.theta = self.thetas[side]
        rows, self.embedding = self.objective.rows[side], self.objective.embeddings[side]
        other = self.objective.factors(1 - side, self.thetas[1 - side])
        features = self.embedding.features
        gram = features.gram(rows.this_weights).astype(dtype) if small else None
        self.rows, self.other, self.gram = rows, other, rows.gram_of(other)
        self.block = SideProblem.of(rows, self.embedding, OUTSIDE["squared"], other, self.gram, n_threads, gram)
        self.n_threads = n_threads

    def both(self, theta):
        return (theta, self.thetas[1]) if self.side == 0 else (self.thetas[0], theta)

    def value(self, theta):
        return self.objective.value(*self.both(theta))

    def gradient(self, theta):
        return self.objective.gradient(self.side, *self.both(theta))

    def solve(self, steps, theta=None):
        """θ where the solver ends, and the CG steps it took."""
        prepared = Preconditioner(self.embedding, self.rows.this_weights, self.n_threads)
        solver = SideSolver(prepared, steps, SIDE_METHODS[steps.method])
        with single_threaded_blas():
            point = solver(self.block, self.block.enter(self.theta if theta is None else theta))
            return self.block.leave(point.theta), solver.products


@every_side
@pytest.mark.parametrize("value", ["minus", "low_rank"])
def test_the_rotated_problem_is_the_objective(embedding, graph, biases, value):
    case = Case(value=value, scheme="arrays", biases=biases)
    for side in (0, 1):
        one = Side(informed((embedding, embedding), graph, case), side)
        point = one.block.at(one.block.enter(one.theta))
        np.testing.assert_allclose(one.block.leave(point.theta), one.theta, atol=1e-13)
        np.testing.assert_allclose(one.block.leave(point.gradient), one.gradient(one.theta), rtol=1e-9, atol=1e-10)
        direction = np.random.default_rng(2).normal(size=one.theta.shape) * one.block.free
        curved, lifted = point.product(one.block.enter(direction))
        expected = one.objective.hessian_vector(side, direction, *one.thetas)
        np.testing.assert_allclose(one.block.leave(curved), expected, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(lifted, one.embedding.lift(one.block.enter(direction)), atol=1e-12)
        change = point.along(one.block.enter(direction), lifted)
        for length in (0.0, 1e-3, 0.5, 1.0, -2.0):
            expected = one.value(one.theta + length * direction) - one.value(one.theta)
            assert change(length) == pytest.approx(expected, rel=1e-9, abs=1e-10)
            moved = point.moved(one.block.enter(direction), lifted, length)
            fresh = one.block.at(one.block.enter(one.theta + length * direction))
            np.testing.assert_allclose(moved.theta, fresh.theta, atol=1e-12)
            np.testing.assert_allclose(moved.factors, fresh.factors, atol=1e-12)
            np.testing.assert_allclose(moved.gradient, fresh.gradient, rtol=1e-9, atol=1e-9)
            assert moved.pairs.value == pytest.approx(fresh.pairs.value, rel=1e-10)


@pytest.mark.parametrize(
    ("loss", "embedding", "graph", "biases"),
    [
        *product(PLAIN_LOSSES, EMBEDDINGS, ("alone", "linked"), ["unbiased"]),
        *product(["logistic"], EMBEDDINGS, ["linked"], ["biased"]),
    ],
)
def test_every_method_ends_at_the_same_optimum(loss, embedding, graph, biases):
    one = Side(informed((embedding, "linear"), graph, Case(loss=loss, biases=biases)))
    first = np.linalg.norm(one.gradient(one.theta))
    ends = {method: one.solve(steps)[0] for method, steps in TO_THE_END.items()}
    assert set(ends) == set(SIDE_METHODS)
    plain = SideSteps("tron", 60, cg_tol=0.01, cg_steps=200, tol=1e-9, precondition=False)
    ends["plain tron"] = one.solve(plain)[0]
    for end in ends.values():
        assert np.linalg.norm(one.gradient(end)) < 1e-6 * first
        np.testing.assert_allclose(end, ends["tron"], atol=1e-5)
        assert np.array_equal(end[:, ~one.block.free], one.theta[:, ~one.block.free])
        assert one.value(end) == pytest.approx(one.value(ends["tron"]), rel=1e-12)
    if embedding == "table" and graph == "alone":
        rows, _ = half_step(one.rows, one.theta, one.other, one.gram, TO_OPTIMUM[np.dtype(np.float64)])
        np.testing.assert_allclose(rows, ends["tron"], atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 30.0], ids=["near", "far"])
@pytest.mark.parametrize("precondition", [True, False], ids=["preconditioned", "plain"])
@pytest.mark.parametrize("method", SIDE_METHODS)
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_no_step_raises_the_objective(loss, method, precondition, scale):
    one = Side(informed(("both", "linear"), "linked", Case(loss=loss, scheme="arrays", biases="biased"), reg=(0.01, 0)))
    theta = np.where(one.block.free, scale * one.theta, one.theta)
    values = [one.value(theta)]
    for _ in range(8):
        theta, products = one.solve(SideSteps(method, steps=1, cg_steps=4, precondition=precondition), theta)
        assert max(products, default=0) <= 4
        values.append(one.value(theta))
    assert all(new <= old * (1 + 1e-12) for old, new in pairwise(values))
    assert values[-1] < 0.9 * values[0]


@pytest.mark.parametrize("precondition", [True, False])
def test_nonlinear_is_linear_cg_on_a_square(precondition):
    one = Side(informed(("both", "table"), "linked", Case(loss="squared", scheme="arrays")))
    options = {"precondition": precondition, "cg_tol": 0.0}
    for steps in range(1, 9):
        linear, products = one.solve(SideSteps("newton-linesearch", steps=1, cg_steps=steps, **options))
        assert products == [steps]
        nonlinear, _ = one.solve(SideSteps("nonlinear-cg", steps=steps, **options))
        np.testing.assert_allclose(nonlinear, linear, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("radius", [math.inf, 0.3])
def test_the_first_order_region(radius):
    """With P = I the step is −∇g cut to the radius, and no other step inside has a lower model (1.14)."""
    one = Side(informed(("both", "table"), "linked", Case(loss="logistic")))
    point = one.block.at(one.block.enter(one.theta))
    step = FirstOrderModel(point, SideNewton(point, np.copy, SideSteps(), [])).direction(radius)
    size = np.linalg.norm(point.gradient)
    np.testing.assert_allclose(step.step, -min(1, radius / size) * point.gradient, rtol=1e-12)
    np.testing.assert_allclose(step.image, one.embedding.lift(step.step), atol=1e-12)
    assert (step.at_boundary, step.length) == (radius < size, pytest.approx(min(radius, size)))

    def model(other):
        return np.sum(point.gradient * other) + 0.5 * np.sum(other * other)

    assert step.model == pytest.approx(model(step.step))
    for other in step.step + 0.1 * np.random.default_rng(1).normal(size=(50, *step.step.shape)):
        other *= min(1, radius / np.linalg.norm(other))
        assert model(other) > step.model


@pytest.mark.parametrize("embedding", ["linear", "both"])
def test_the_preconditioner_saves_steps(embedding):
    problem = informed((embedding, "table"), "linked", Case(), shape=(60, 40), widths=(20, 3), negative_weight=2.0)
    one = Side(problem)
    steps = {"cg_tol": 1e-6, "cg_steps": 500, "steps": 1}
    _, (with_it,) = one.solve(SideSteps("newton-linesearch", **steps))
    _, (without,) = one.solve(SideSteps("newton-linesearch", precondition=False, **steps))
    assert with_it < 0.7 * without


def test_a_side_stops_at_its_tolerance():
    one = Side(informed(("linear", "table"), "alone", Case()))
    _, all_products = one.solve(SideSteps(steps=50, tol=1e-3))
    _, few = one.solve(SideSteps(steps=50, tol=0.5))
    assert 0 < len(few) < len(all_products) < 50
    end, _ = one.solve(TO_THE_END["tron"])
    again, products = one.solve(SideSteps(steps=5), end)
    assert one.value(again) == pytest.approx(one.value(end), rel=1e-14)
    assert len(products) <= 5


@pytest.mark.parametrize("graph", ["alone", "linked"])
@pytest.mark.parametrize("biases", ["unbiased", "biased"])
def test_the_small_order_of_products_is_the_same_product(graph, biases):
    problem = informed(("linear", "table"), graph, Case(scheme="arrays", biases=biases), shape=(40, 9))
    direct, small = Side(problem), Side(problem, small=True)
    theta = direct.block.enter(direct.theta)
    direction = np.random.default_rng(3).normal(size=theta.shape) * direct.block.free
    for one, two in zip(direct.block.at(theta).product(direction), small.block.at(theta).product(direction)):
        np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        direct.solve(SideSteps(steps=3))[0], small.solve(SideSteps(steps=3))[0], rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize(
    ("embedding", "rows", "width", "used"),
    [("linear", 17, 4, True), ("linear", 16, 4, False), ("both", 40, 4, False), ("table", 40, 4, False)],
)
def test_sweeps_use_the_small_order_where_it_is_cheaper(embedding, rows, width, used):
    problem = informed((embedding, "table"), "linked", Case(scheme="arrays"), shape=(rows, 9), widths=(width, 3))
    left, right = (problem.objective.factors(side, theta) for side, theta in enumerate(start(problem.dense)))
    gram = problem.objective.side(0, right, problem.objective.gram(1, right)).feature_gram
    assert (gram is not None) == used
    assert problem.objective.side(1, left, problem.objective.gram(0, left)).feature_gram is None
    if used:
        X = problem.dense.known[0].features
        np.testing.assert_allclose(gram, X.T @ np.diag(problem.dense.p) @ X, atol=1e-12)


@pytest.mark.parametrize("method", SIDE_METHODS)
@pytest.mark.parametrize("steps", [RowSteps(), None], ids=["rows", "blocks"])
@pytest.mark.parametrize("biases", ["unbiased", "biased"])
@pytest.mark.parametrize("embeddings", [("both", "linear"), ("linear", "both"), ("table", "linear")])
def test_sweeps_never_raise_the_objective_and_report_it(embeddings, biases, steps, method):
    problem = informed(embeddings, "linked", Case(scheme="arrays", value="low_rank", biases=biases), shape=(30, 9))
    solver = Alternating(problem.objective, steps, side_steps=SideSteps(method))
    state = begin(problem)
    values = [problem.objective.value(state.parameters(0), state.parameters(1))]
    for _ in range(15):
        state = solver.step(state)
        parameters = state.parameters(0), state.parameters(1)
        assert state.objective == pytest.approx(problem.objective.value(*parameters), rel=1e-10)
        assert state.objective == pytest.approx(problem.dense.value(*parameters), rel=1e-10)
        for side, factors in enumerate((state.left, state.right)):
            np.testing.assert_allclose(factors, problem.objective.factors(side, parameters[side]), atol=1e-12)
        values.append(state.objective)
    assert all(new <= old * (1 + 1e-12) for old, new in pairwise(values))
    assert values[-1] < 0.8 * values[0]


def begin(problem, dtype=np.float64):
    thetas = start(problem.dense, dtype=dtype)
    factors = [problem.objective.factors(side, theta) for side, theta in enumerate(thetas)]
    return Factors(*factors, left_parameters=thetas[0], right_parameters=None if factors[1] is thetas[1] else thetas[1])
