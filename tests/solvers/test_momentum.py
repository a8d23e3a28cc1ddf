"""Momentum between sweeps: a faster way to the same optimum, along which F never rises."""

import numpy as np
import pytest

from everypair.kernels.extrapolate import extrapolate, turned_back
from everypair.problem.layout import Layout
from everypair.solvers.alternating import Alternating
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import Status, StopRules, run
from everypair.solvers.momentum import GROW, MOST, SHRINK, START, ArraySpace, Momentum, MomentumState
from everypair.solvers.side import SideSteps
from everypair.solvers.state import Factors
from everypair.training.start import random_start

from ..problem.brute import COLUMNS, PLAIN_LOSSES, Case, build, start
from ..problem.test_side_information import known_of


def test_the_kernel_is_its_formula():
    random = np.random.default_rng(0)
    now, before = random.normal(size=(2, 7, 3))
    out = np.zeros_like(now)
    extrapolate(2, 6, now, before, 0.7, out)
    np.testing.assert_allclose(out[2:6], (now + 0.7 * (now - before))[2:6], rtol=1e-15)
    assert not out[[0, 1, 6]].any()
    origin, after = random.normal(size=(2, 7, 3))
    expected = np.sum(((origin - after) * (after - now))[2:6])
    assert turned_back(2, 6, now, origin, after) == pytest.approx(expected, rel=1e-13)


class Scripted:
    """Reports the objectives it is given and remembers where each sweep began; a sweep adds 1 to every factor, or what
    it is told."""

    descends = True

    def __init__(self, objectives, added=()):
        self.objectives, self.begun, self.added = list(objectives), [], list(added)

    def step(self, state):
        self.begun.append(float(state.left[0, 0]))
        added = self.added.pop(0) if self.added else 1
        return Factors(state.left + added, state.right + added, self.objectives.pop(0))


def test_sweeps_begin_further_along_and_a_rise_is_dropped():
    solver = Scripted([10.0, 9.0, 8.0, 9.5, 7.0, 6.0])
    momentum, state = Momentum(solver, ArraySpace()), Factors(np.zeros((1, 1)), np.zeros((1, 1)))
    states = []
    for _ in range(5):
        state = momentum.step(state)
        states.append(state)
    assert [one.objective for one in states] == [10.0, 9.0, 8.0, 7.0, 6.0]
    third = 2 + START * (2 - 1)  # x + β (x − before)
    fourth = (third + 1) + GROW * START * (third + 1 - 2)  # rose, so the sweep is taken again from x
    assert solver.begun == pytest.approx([0, 1, third, fourth, third + 1, solver.begun[-1]])
    assert states[3].beta == pytest.approx(SHRINK * GROW * START)
    assert states[4].beta == pytest.approx(GROW * SHRINK * GROW * START)
    assert isinstance(state, MomentumState)
    assert START < MOST


def test_a_sweep_that_turns_back_counts_but_slows_the_next():
    third = 2 + START  # where the third sweep begins; it goes back by a quarter of the way from 2
    solver = Scripted([10.0, 9.0, 8.0, 7.0], [1, 1, -0.25 * START, 1])
    momentum, state = Momentum(solver, ArraySpace()), Factors(np.zeros((1, 1)), np.zeros((1, 1)))
    for _ in range(3):
        state = momentum.step(state)
    assert state.objective == 8.0
    assert state.left[0, 0] == pytest.approx(third - 0.25 * START)
    assert state.beta == pytest.approx(SHRINK * START)
    assert momentum.step(state).beta == pytest.approx(GROW * SHRINK * START)


@pytest.mark.parametrize("biases", ["unbiased", "biased"])
@pytest.mark.parametrize("loss", PLAIN_LOSSES)
def test_the_optimum_is_that_of_plain_sweeps(loss, biases):
    problem = build(Case(loss=loss, biases=biases), shape=(12, 9), reg=(1.0, 1.0))
    plain = Alternating(problem.objective, RowSteps(newton=2, cg=5))
    ends = [
        run(solver, Factors(*start(problem.dense)), StopRules(2000, 1e-13))
        for solver in (plain, Momentum(plain, ArraySpace()))
    ]  # fmt: skip
    assert ends[1].status == Status.CONVERGED
    assert ends[1].state.objective == pytest.approx(ends[0].state.objective, rel=1e-8)
    assert len(ends[1].history) < len(ends[0].history)
    objectives = [sweep["objective"] for sweep in ends[1].history]
    assert np.diff(objectives).max() <= 1e-12 * abs(objectives[0])
    state = ends[1].state
    assert state.objective == pytest.approx(problem.dense.value(state.left, state.right), rel=1e-10)


@pytest.mark.parametrize("embeddings", [("both", "linear"), ("table", "both")])
def test_features_and_graphs_move_along(embeddings):
    known = tuple(
        known_of(side, embedding, True, shape=(20, 14), widths=(4, 3), normalized=False, regs=(1.0, 0.4))
        for side, embedding in enumerate(embeddings)
    )
    problem = build(Case(biases="biased"), shape=(20, 14), known=known, reg=(1.0, 1.0), exponent=0)
    objective = problem.objective
    solver = Momentum(Alternating(objective, RowSteps(), SideSteps()), ArraySpace())
    state = random_start(objective, Layout(COLUMNS - 2, True), np.random.default_rng(0))
    values = []
    for _ in range(12):
        state = solver.step(state)
        values.append(state.objective)
        assert state.objective == pytest.approx(objective.value(state.parameters(0), state.parameters(1)), rel=1e-9)
    assert np.diff(values).max() <= 1e-12 * abs(values[0])
