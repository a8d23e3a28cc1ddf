"""Figure 3: seconds of a gradient, of a Hessian·vector product and of a whole sweep with 1 and 2 threads.

    python experiments/leml/scaling.py [--data delicious] [--rank 100] [--rounds 10]

Full labels with the squared loss (Algorithm 2) and a fifth of the labels known with the logistic loss (Algorithm 1).
Wall-clock seconds, the least of several rounds in which the thread counts take turns. Writes scaling.json, .md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import common
import numpy as np
from common import RESULTS, MultiLabel

from everypair.data.labels import Labels
from everypair.models.multilabel.problem import LabelProblem, LabelTerms
from everypair.parallel import single_threaded_blas
from everypair.problem.layout import Layout
from everypair.problem.losses import get_loss
from everypair.problem.objective import LEFT
from everypair.solvers.choose import solver_maker
from everypair.solvers.loop import StopRules, run
from everypair.training.start import random_start

THREADS = (1, 2)


def settings(data: MultiLabel) -> dict[str, tuple[LabelProblem, LabelTerms]]:
    """The two algorithms' problems."""
    part = data.observed(0.2, 0)
    known = Labels.from_y(part.Y, "missing", part.known)
    squared, logistic = get_loss("squared"), get_loss("logistic")
    return {
        "full labels, squared": (
            LabelProblem.of(data.X, Labels.from_y(data.Y), None, None), LabelTerms(squared, False, 1.0, 0.0)
        ),
        "20 % known, logistic": (
            LabelProblem.of(data.X, known, None, None), LabelTerms(logistic, True, 1.0, logistic.dislike_target)
        ),
    }  # fmt: skip


def steps(problem: LabelProblem, terms: LabelTerms, rank: int, threads: int) -> dict[str, Callable[[], Any]]:
    """What is timed, for parameters away from the start."""
    objective = problem.objective(terms, 1.0, np.dtype("float32"), threads)
    state = random_start(objective, Layout(rank), np.random.default_rng(0))
    right = state.right
    left = np.random.default_rng(1).standard_normal(state.parameters(LEFT).shape).astype(np.float32) / rank
    solver = solver_maker("tron", rank, 0)(objective)
    return {
        "gradient in W": lambda: objective.gradient(LEFT, left, right),
        "Hessian·vector in W": lambda: objective.hessian_vector(LEFT, left, left, right),
        "one sweep": lambda: run(solver, state, StopRules(max_iter=1, tol=0)),
    }


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    with single_threaded_blas():
        work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="delicious")
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=10)
    options = common.parse(parser, RESULTS, rank=4, rounds=2)
    rows = []
    for setting, (problem, terms) in settings(MultiLabel.load(options.data)).items():
        work = {threads: steps(problem, terms, options.rank, threads) for threads in THREADS}
        for name in work[1]:
            for threads in THREADS:
                timed(work[threads][name])  # compile and touch memory
            rounds = [[timed(work[threads][name]) for threads in THREADS] for _ in range(options.rounds)]
            seconds = np.min(rounds, axis=0).tolist()
            rows.append({"data": options.data, "rank": options.rank, "setting": setting, "work": name,
                         "seconds": seconds, "rounds": options.rounds, "load": os.getloadavg()[0]})  # fmt: skip
            common.write(options.results, "scaling", rows, report(rows))
            print(rows[-1], flush=True)


def report(rows: list[dict[str, Any]]) -> str:
    cells = [
        (row["setting"], row["work"], *(f"{1000 * seconds:.1f}" for seconds in row["seconds"]),
         f"{row['seconds'][0] / row['seconds'][1]:.2f}", f"{row['load']:.1f}")
        for row in rows
    ]  # fmt: skip
    head = ("setting", "work", "ms, 1 thread", "ms, 2 threads", "speedup", "load of the machine")
    text = (
        f"# Threads, {rows[0]['data']}, rank {rows[0]['rank']}\n\nMilliseconds of wall-clock time, the least of "
        f"{rows[0]['rounds']} rounds, {os.cpu_count()} cores. The load is the number of runnable processes, this one "
        "included: above the number of cores, speedups are those of a busy machine.\n\n"
    )
    return text + common.table(head, cells)


if __name__ == "__main__":
    main()
