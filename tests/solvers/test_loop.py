import math
import time
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from everypair.problem.losses import LOSSES
from everypair.solvers.alternating import Alternating
from everypair.solvers.half_step import RowSteps
from everypair.solvers.loop import Outcome, Status, StopRules, Sweep, run
from everypair.solvers.state import Factors

from ..problem.brute import Case, build, start

START = Factors(np.zeros((1, 1)), np.zeros((1, 1)))


@dataclass
class Scripted:
    """A solver that reports the objectives it was given; sweep t leaves t in the factors."""

    descends = True

    objectives: list
    seconds: float = 0.0
    sweeps: int = 0

    def step(self, state):
        if self.seconds:
            time.sleep(self.seconds)
        objective = self.objectives[self.sweeps]
        self.sweeps += 1
        assert state.left[0, 0] == self.sweeps - 1  # the loop hands on the last state
        if isinstance(objective, type):
            raise objective
        return replace(state, left=state.left + 1, objective=objective)


def kept_sweep(outcome):
    return int(outcome.state.left[0, 0])


def halving(count):
    return [2.0**-number for number in range(count)]


def test_sentences():
    for status in Status:
        assert str(status).endswith(".")
        assert str(status) == status.value


def test_history_has_one_entry_per_sweep():
    outcome = run(Scripted(halving(4), seconds=0.01), START, StopRules(max_iter=4, tol=0.0))
    assert isinstance(outcome, Outcome)
    assert outcome.status is Status.MAX_ITER
    assert [entry["iteration"] for entry in outcome.history] == [1, 2, 3, 4]
    assert [entry["objective"] for entry in outcome.history] == halving(4)
    seconds = [entry["seconds"] for entry in outcome.history]
    assert all(later - earlier >= 0.009 for earlier, later in zip([0.0, *seconds], seconds))
    assert all(set(entry) == {"iteration", "objective", "seconds"} for entry in outcome.history)
    assert kept_sweep(outcome) == 4


def test_seconds_leave_out_validation_and_callbacks():
    def slow(_):
        time.sleep(0.05)
        return {}

    outcome = run(
        Scripted(halving(3)), START, StopRules(3, 0.0), validate=slow, callbacks=[lambda sweep: slow(sweep) and None]
    )
    assert outcome.history[-1]["seconds"] < 0.05


def test_no_sweeps():
    outcome = run(Scripted([]), START, StopRules(max_iter=0, tol=0.0))
    assert (outcome.state, outcome.history, outcome.status) == (START, [], Status.MAX_ITER)


def test_a_rise_stops_the_training_and_the_sweep_before_is_kept():
    outcome = run(Scripted([100, 50, 60, 20]), START, StopRules(4, 0.0))
    assert outcome.status is Status.ROSE
    assert kept_sweep(outcome) == 2
    assert [entry["objective"] for entry in outcome.history] == [100, 50]
    nearly = run(Scripted([100, 50, 50 * (1 + 1e-7), 20]), START, StopRules(4, 0.0))
    assert nearly.status is Status.CONVERGED  # that much is rounding


def test_a_rise_that_the_state_knows_to_be_rounding_is_convergence():
    noisy = replace(START, rounding=1e-3)
    outcome = run(Scripted([1.0, -2e-4, 3e-4, -5e-4]), noisy, StopRules(4, 0.0))
    assert (outcome.status, kept_sweep(outcome)) == (Status.CONVERGED, 3)
    outcome = run(Scripted([1.0, -2e-4, 1e-2]), noisy, StopRules(4, 0.0))
    assert (outcome.status, kept_sweep(outcome)) == (Status.ROSE, 2)


@pytest.mark.parametrize(
    ("objectives", "tol", "sweeps"),
    [
        ([100, 50, 49.9, 20], 0.01, 3),
        ([100, 99.1, 50], 0.01, 2),
        ([100, 98.9, 97.95, 1], 0.01, 3),
        ([100, 50, 50, 20], 0.0, 3),
        ([-100, -150, -150.1, -300], 0.01, 3),
        ([0.0, 0.0, 0.0], 0.0, 2),
    ],
)
def test_tolerance_on_the_relative_decrease(objectives, tol, sweeps):
    outcome = run(Scripted(objectives), START, StopRules(len(objectives), tol))
    assert outcome.status is Status.CONVERGED
    assert len(outcome.history) == kept_sweep(outcome) == sweeps


def test_a_negative_tolerance_never_stops():
    outcome = run(Scripted([1.0] * 5), START, StopRules(5, -1.0))
    assert outcome.status is Status.MAX_ITER
    assert len(outcome.history) == 5


def scripted_metric(values, name="ndcg@10"):
    return lambda state: {name: values[int(state.left[0, 0]) - 1], "other": 1.0}


@pytest.mark.parametrize(
    ("metric", "patience", "sweeps", "kept", "status"),
    [
        ([0.1, 0.3, 0.2, 0.25, 0.9], 2, 4, 2, Status.NO_IMPROVEMENT),
        ([0.1, 0.3, 0.2, 0.31, 0.3], 2, 5, 4, Status.MAX_ITER),
        ([0.5, 0.5, 0.5, 0.5, 0.5], 3, 4, 1, Status.NO_IMPROVEMENT),
        ([0.5, 0.4, 0.6, 0.7, 0.8], 1, 2, 1, Status.NO_IMPROVEMENT),
        ([0.1, 0.2, 0.3, 0.4, 0.5], 1, 5, 5, Status.MAX_ITER),
        ([-5.0, -4.0, -6.0, -7.0, 0.0], 2, 4, 2, Status.NO_IMPROVEMENT),
    ],
)
def test_patience_keeps_the_best_sweep(metric, patience, sweeps, kept, status):
    rules = StopRules(5, 0.0, patience=patience)
    outcome = run(Scripted(halving(5)), START, rules, validate=scripted_metric(metric))
    assert (len(outcome.history), kept_sweep(outcome), outcome.status) == (sweeps, kept, status)
    assert [entry["ndcg@10"] for entry in outcome.history] == metric[:sweeps]
    assert all(entry["other"] == 1.0 for entry in outcome.history)


def test_another_metric_can_be_watched():
    rules = StopRules(5, 0.0, patience=1)
    validate = scripted_metric([0.9, 0.1, 0.1, 0.1, 0.1], "recall@5")
    outcome = run(Scripted(halving(5)), START, rules, validate=validate, monitor="recall@5")
    assert (len(outcome.history), kept_sweep(outcome)) == (2, 1)


def test_validation_without_patience_keeps_the_last_sweep():
    outcome = run(Scripted(halving(3)), START, StopRules(3, 0.0), validate=scripted_metric([0.9, 0.1, 0.1]))
    assert (kept_sweep(outcome), outcome.status) == (3, Status.MAX_ITER)


def test_patience_without_validation_changes_nothing():
    outcome = run(Scripted(halving(4)), START, StopRules(4, 0.0, patience=1))
    assert (kept_sweep(outcome), outcome.status) == (4, Status.MAX_ITER)


def test_callbacks_see_every_sweep():
    seen = []
    outcome = run(
        Scripted(halving(3)),
        START,
        StopRules(3, 0.0),
        validate=scripted_metric([0.1, 0.2, 0.3]),
        callbacks=(callback for callback in [seen.append]),
    )
    assert all(isinstance(sweep, Sweep) for sweep in seen)
    assert [sweep.iteration for sweep in seen] == [1, 2, 3]
    assert [sweep.objective for sweep in seen] == halving(3)
    assert [sweep.metrics["ndcg@10"] for sweep in seen] == [0.1, 0.2, 0.3]
    assert [sweep.seconds for sweep in seen] == [entry["seconds"] for entry in outcome.history]
    assert seen[-1].state is outcome.state


def test_any_callback_can_stop_and_all_are_called():
    seen = []
    outcome = run(
        Scripted(halving(5)),
        START,
        StopRules(5, 0.0),
        callbacks=[lambda sweep: sweep.iteration == 2, lambda sweep: seen.append(sweep.iteration)],
    )
    assert (kept_sweep(outcome), outcome.status, seen) == (2, Status.CALLBACK, [1, 2])


def test_time_limit_stops_after_the_sweep_that_crosses_it():
    outcome = run(Scripted(halving(50), seconds=0.02), START, StopRules(50, 0.0, time_limit=0.05))
    assert outcome.status is Status.TIME_LIMIT
    assert 1 <= len(outcome.history) <= 3
    assert outcome.history[-1]["seconds"] >= 0.05
    assert all(entry["seconds"] < 0.05 for entry in outcome.history[:-1])
    assert kept_sweep(outcome) == len(outcome.history)


def test_interrupt_keeps_the_last_whole_sweep():
    outcome = run(Scripted([4.0, 2.0, KeyboardInterrupt]), START, StopRules(9, 0.0))
    assert (kept_sweep(outcome), len(outcome.history), outcome.status) == (2, 2, Status.INTERRUPTED)


def test_interrupt_in_the_first_sweep_keeps_the_start():
    outcome = run(Scripted([KeyboardInterrupt]), START, StopRules(9, 0.0))
    assert (outcome.state, outcome.history, outcome.status) == (START, [], Status.INTERRUPTED)


def test_interrupt_with_patience_keeps_the_best_sweep():
    rules = StopRules(9, 0.0, patience=5)
    solver = Scripted([8.0, 4.0, 2.0, KeyboardInterrupt])
    outcome = run(solver, START, rules, validate=scripted_metric([0.2, 0.9, 0.1]))
    assert (kept_sweep(outcome), outcome.status) == (2, Status.INTERRUPTED)


def test_interrupt_in_a_callback_keeps_its_sweep():
    def interrupt(sweep):
        if sweep.iteration == 2:
            raise KeyboardInterrupt

    outcome = run(Scripted(halving(5)), START, StopRules(5, 0.0), callbacks=[interrupt])
    assert (kept_sweep(outcome), len(outcome.history), outcome.status) == (2, 2, Status.INTERRUPTED)


def test_other_errors_come_out():
    with pytest.raises(ZeroDivisionError):
        run(Scripted([4.0, ZeroDivisionError]), START, StopRules(9, 0.0))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_the_last_finite_sweep_is_kept(bad):
    outcome = run(Scripted([4.0, 2.0, bad, 1.0]), START, StopRules(9, 0.0))
    assert (kept_sweep(outcome), len(outcome.history), outcome.status) == (2, 2, Status.NOT_FINITE)


@pytest.mark.parametrize("bad", [math.nan, math.inf, None])
def test_not_finite_from_the_first_sweep_is_refused(bad):
    with pytest.raises(ValueError, match=r"not finite from the first sweep on.*rescale extreme weights"):
        run(Scripted([bad]), START, StopRules(9, 0.0))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_real_solver_converges_and_is_deterministic(loss):
    outcomes = []
    for _ in range(2):
        problem = build(Case(loss=loss), shape=(40, 30), dtype=np.float32)
        state = Factors(*start(problem.dense, dtype=np.float32))
        outcomes.append(run(Alternating(problem.objective, RowSteps()), state, StopRules(500, 1e-4)))
    one, two = outcomes
    objectives = [entry["objective"] for entry in one.history]
    assert one.status is two.status is Status.CONVERGED
    assert objectives == [entry["objective"] for entry in two.history]
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in pairwise(objectives))
    assert one.state.objective == objectives[-1]
    assert np.array_equal(one.state.left, two.state.left)
    assert problem.dense.value(one.state.left, one.state.right) == pytest.approx(objectives[-1], rel=1e-5)


def test_the_real_solver_can_be_interrupted_inside_a_sweep(monkeypatch):
    problem = build(Case(), shape=(40, 30), n_threads=2)
    solver = Alternating(problem.objective, RowSteps())
    state = Factors(*start(problem.dense))
    two_sweeps = solver.step(solver.step(state))
    total, calls = problem.objective.total, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return total(*arguments)

    monkeypatch.setattr(problem.objective, "total", interrupted)
    outcome = run(solver, state, StopRules(9, 0.0))
    assert outcome.status is Status.INTERRUPTED
    assert np.array_equal(outcome.state.left, two_sweeps.left)
    assert np.array_equal(outcome.state.right, two_sweeps.right)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_the_real_solver_refuses_an_objective_that_is_not_finite():
    problem = build(Case(loss="squared"), dtype=np.float32)
    state = Factors(*start(problem.dense, scale=1e25, dtype=np.float32))
    with pytest.raises(ValueError, match="not finite from the first sweep on"):
        run(Alternating(problem.objective, RowSteps()), state, StopRules(9, 0.0))
