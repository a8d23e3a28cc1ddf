"""What every solver of an Objective keeps to, whatever it minimises and however it goes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

import everypair.solvers.rivals.coordinate as coordinate
from everypair.solvers.alternating import SIDE_METHODS, Alternating
from everypair.solvers.balance import Balance
from everypair.solvers.half_step import TO_OPTIMUM, RowSteps
from everypair.solvers.momentum import ArraySpace, Momentum
from everypair.solvers.rivals.coordinate import CoordinateDescent
from everypair.solvers.rivals.hybrids import StochasticDescent, StochasticRows
from everypair.solvers.rivals.stochastic import VARIANTS, StochasticGradient
from everypair.solvers.side import SideSteps
from everypair.solvers.state import Factors

from ..problem.brute import COLUMNS, Case, build, start
from .test_side import begin, informed


@dataclass(frozen=True)
class Subject:
    """A solver, how it is made for an objective, and the problems that it is held to.

    ``to_the_end`` makes one that goes to the optimum, if it can; ``shape`` has several chunks for two threads.
    """

    name: str
    make: Callable
    to_the_end: Callable | None = None
    case: Case = field(default_factory=lambda: Case(biases="biased"))
    embeddings: tuple | None = None
    shape: tuple = (500, 200)
    widths: tuple = (30, 8)

    def problem(self, shape, widths=(4, 3), **options):
        if self.embeddings is None:
            return build(self.case, shape=shape, **options)
        return informed(self.embeddings, "linked", self.case, shape=shape, widths=widths, **options)

    def begin(self, problem, dtype=np.float64):
        return begin(problem, dtype) if self.embeddings else Factors(*start(problem.dense, dtype=dtype))


def accelerated(objective):
    return Momentum(Alternating(objective, RowSteps()), ArraySpace(objective.n_threads), Balance(objective))


def by_side(method):
    return lambda objective: Alternating(objective, None, SideSteps(method))


SQUARED = Case("squared", "arrays", "low_rank", biases="biased")
EXACT = TO_OPTIMUM[np.dtype(np.float64)]
DESCENDING = [
    Subject("newton", lambda F: Alternating(F, RowSteps()), lambda F: Alternating(F, EXACT)),
    Subject(
        "block", lambda F: Alternating(F, RowSteps(block=1)), lambda F: Alternating(F, RowSteps(block=1, newton=9))
    ),
    Subject("als", *[lambda F: Alternating(F, RowSteps(block=COLUMNS))] * 2, case=SQUARED),
    Subject("momentum", lambda F: Momentum(Alternating(F, RowSteps()), ArraySpace(F.n_threads))),
    Subject("auto", accelerated, shape=(5000, 200)),
    Subject("cd", *[CoordinateDescent] * 2, case=SQUARED),
    *(Subject(name, by_side(name), embeddings=("both", "linear"), shape=(500, 90)) for name in SIDE_METHODS),
    *(
        Subject(
            f"features {' and '.join(embeddings)}",
            lambda F: Alternating(F, RowSteps(), SideSteps()),
            lambda F: Alternating(F, RowSteps(newton=3, cg=5), SideSteps(steps=4, cg_tol=1e-3)),
            embeddings=embeddings,
        )
        for embeddings in (("both", "linear"), ("linear", "table"))
    ),
]
RANDOM = [
    Subject(f"sg-{variant}", lambda F, variant=variant: StochasticGradient(F, variant), case=SQUARED)
    for variant in VARIANTS
] + [Subject(kind.__name__, kind, case=SQUARED) for kind in (StochasticDescent, StochasticRows)]
descending = pytest.mark.parametrize("subject", DESCENDING, ids=lambda one: one.name)


def parameters(state):
    return state.parameters(0), state.parameters(1)


def arrays(state):
    return state.left, state.right, *parameters(state)


def steps(solver, state, count):
    for _ in range(count):
        state = solver.step(state)
    return state


@descending
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(subject, dtype, monkeypatch):
    monkeypatch.setattr(coordinate, "CHUNK_WORK", 1024)
    ends = []
    for n_threads in (1, 2, 3):
        problem = subject.problem(subject.shape, subject.widths, dtype=dtype, n_threads=n_threads)
        ends.append(steps(subject.make(problem.objective), subject.begin(problem, dtype), 4))
    assert {array.dtype for array in arrays(ends[0])} == {np.dtype(dtype)}
    for other in ends[1:]:
        assert other.objective == ends[0].objective
        for one, two in zip(arrays(ends[0]), arrays(other)):
            assert np.array_equal(one, two)


@pytest.mark.parametrize("subject", DESCENDING + RANDOM, ids=lambda one: one.name)
def test_the_state_passed_in_is_not_changed_and_constant_columns_stay(subject):
    problem = subject.problem((12, 9))
    state = subject.begin(problem)
    kept = [array.copy() for array in arrays(state)]
    new = steps(subject.make(problem.objective), state, 1)
    for array, copy in zip(arrays(state), kept):
        assert np.array_equal(array, copy)
    assert not np.array_equal(new.left, state.left)
    assert np.array_equal(new.left[:, -1], np.ones(12))
    assert np.array_equal(new.right[:, -2], np.ones(9))
    assert new.left.flags.c_contiguous
    assert new.right.flags.c_contiguous


@descending
def test_it_never_rises_and_reports_the_objective_where_it_ends(subject):
    problem = subject.problem((20, 14))
    solver, state = subject.make(problem.objective), subject.begin(problem)
    last = problem.objective.value(*parameters(state))
    for _ in range(15):
        state = solver.step(state)
        assert state.objective <= last + 1e-12 * abs(last)
        last = state.objective
        assert state.objective == pytest.approx(problem.dense.value(*parameters(state)), rel=1e-9)
        for side, factors in enumerate((state.left, state.right)):
            np.testing.assert_allclose(factors, problem.objective.factors(side, parameters(state)[side]), atol=1e-12)


@descending
def test_single_precision_follows_double_precision(subject):
    values = []
    for dtype in (np.float32, np.float64):
        problem = subject.problem((200, 100), (7, 4), dtype=dtype)
        solver, state = subject.make(problem.objective), subject.begin(problem, dtype)
        values.append([])
        for _ in range(15):
            state = solver.step(state)
            values[-1].append(state.objective)
    np.testing.assert_allclose(values[0], values[1], rtol=1e-3)
    assert np.all(np.diff(values[0]) <= 1e-5 * values[0][0])


@pytest.mark.parametrize("subject", [one for one in DESCENDING if one.to_the_end], ids=lambda one: one.name)
def test_many_sweeps_end_where_both_gradients_vanish(subject):
    problem = subject.problem((12, 9), reg=(0.6, 0.6))
    solver, state = subject.to_the_end(problem.objective), subject.begin(problem)

    def steepness(at):
        return max(np.abs(problem.objective.gradient(side, *parameters(at))).max() for side in (0, 1))

    first = steepness(state)
    for _ in range(60):
        state = steps(solver, state, 25)
        if steepness(state) < 1e-6 * first:
            return
    pytest.fail(f"the gradient only fell from {first} to {steepness(state)}")
