"""Time of a sweep and time to the same objective, beside implicit, irspack and cmfrec, interleaved in one run.

    python benchmarks/sweep.py [--pairs 4500000] [--rank 64] [--rounds 3] [--limit 60] [--runs "irspack, CG" …] [--add]

Every library minimises one objective, and one Objective judges everybody's factors after every iteration while the
clocks stand still. The best objective is found by many iterations of ours, its first round. A run ends within
LEVELS[-1] of it or after ``--limit`` CPU seconds, and is not repeated if it did not arrive. Seconds count from the call
of fit: set-up included; imports and compilation not, since everybody first trains on a few rows. A library that is not
installed is left out. Results go to results/sweep.json, after every run; ``--report`` puts them into
docs/performance.md, and runs nothing. ``--add`` adds rounds to the stored ones, with the best objective found there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from generate import generate
from libraries import ALPHA, REG, RUNS, THREADS, Run
from machine import machine
from peer_objectives import implicit_objective
from tables import LEVELS, lines, write_page
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

FEW = 500  # rows
MANY = 10_000  # iterations: the goal or the limit ends them
RESULTS = Path(__file__).parent / "results"
OURS, OTHER_OBJECTIVE = "everypair, squared", "everypair, logistic"
SLOWER = ("irspack, CG", "implicit, CG")  # the fastest of each library, which the targets name


class Trace:
    """CPU and wall seconds from the call of fit, and the objective, after each iteration of one training."""

    def __init__(self, judge: Any, goal: float, limit: float) -> None:
        self.judge, self.goal, self.limit = judge, goal, limit
        self.points: dict[str, list[Any]] = {"iteration": [], "cpu": [], "wall": [], "objective": []}
        self._spent = np.zeros(2)
        self._start = self._now()

    @staticmethod
    def _now() -> Any:
        return np.array([time.process_time(), time.perf_counter()])

    def __call__(self, left: Any, right: Any, unit: float = 1.0, alone: int | None = None) -> bool:
        """``unit``: what the factors are divided by; ``alone``: a training of so many iterations that began anew."""
        spent = self._now() - self._start
        self._spent = spent if alone else self._spent + spent
        value = None
        if left is not None:
            value = self.judge.value(*(np.ascontiguousarray(part / unit, np.float32) for part in (left, right)))
        point = {"iteration": alone or len(self.points["cpu"]) + 1, "objective": value}
        for name, entry in {**point, "cpu": round(self._spent[0], 3), "wall": round(self._spent[1], 3)}.items():
            self.points[name].append(entry)
        self._start = self._now()
        next_one = 2 * self._spent[0] if alone else self._spent[0]
        return bool(next_one >= self.limit or (value is not None and value <= self.goal))


def traced(run: Run, matrix: Any, rank: int, judge: Any, goal: float, limit: float, iterations: int) -> Any:
    trace = Trace(judge, goal, limit)
    run(matrix, rank, iterations, trace)
    return trace.points


def wanted(names: list[str]) -> dict[str, Run]:
    """Those runs whose library is installed."""
    runs = {}
    for name in names:
        library = name.partition(",")[0]
        if importlib.util.find_spec(library) is None:
            print(f"{library} is not installed: it is left out (pip install everypair[bench], or {library}).")
        else:
            runs[name] = RUNS[name]
    return runs


def stored(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """The stored results, which must be about the same training by the same versions."""
    kept = json.loads(path.read_text())
    differ = [name for name in record if name not in ("runs", "machine") and record[name] != kept[name]]
    differ += ["versions"] if record["machine"]["versions"] != kept["machine"]["versions"] else []
    if differ:
        raise SystemExit(f"The stored results differ in {', '.join(differ)}: run without --add.")
    return dict(kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=69_878)
    parser.add_argument("--items", type=int, default=10_677)
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds of a run")
    parser.add_argument("--longer", type=float, nargs=2, default=[130.0, 240.0], help=f"the same for {SLOWER}")
    parser.add_argument("--reference", type=int, default=60, help="iterations that look for the best objective")
    parser.add_argument("--sweeps", type=int, default=8, help="of a run that is timed alone, on another objective")
    parser.add_argument("--runs", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--add", action="store_true", help="add rounds to the stored results")
    parser.add_argument("--report", action="store_true", help="only write the tables of the pages")
    options = parse(parser, RESULTS, users=80, items=60, pairs=800, rank=4, rounds=1, limit=0.5, reference=40,
                    longer=[0.5, 0.5])  # fmt: skip
    if options.report:
        write_page(options.results)
        return
    matrix = generate(options.users, options.items, options.pairs)
    judge = implicit_objective(matrix, ALPHA, REG, n_threads=THREADS)
    runs = wanted(list(dict.fromkeys([OURS, *options.runs])))
    record: dict[str, Any] = {
        "machine": machine(), "users": matrix.shape[0], "items": matrix.shape[1], "pairs": int(matrix.nnz),
        "rank": options.rank, "alpha": ALPHA, "reg": REG, "threads": THREADS, "runs": {},
    }  # fmt: skip
    if options.add:
        record = stored(options.results / "sweep.json", record)
    rounds = record["runs"]
    for name in runs:
        rounds.setdefault(name, [])
    limits = dict.fromkeys(runs, options.limit) | {OURS: np.inf, **dict(zip(SLOWER, options.longer))}

    def save(name: str, points: Any) -> None:
        rounds[name].append(points)
        print(f"{name:40s}{points['iteration'][-1]:5d} iterations{points['cpu'][-1]:9.2f} CPU s", flush=True)
        (options.results / "sweep.json").write_text(json.dumps(record, indent=1) + "\n")

    with threadpool_limits(1, "blas"):
        for run in runs.values():
            run(matrix[:FEW], options.rank, MANY, lambda *_, **__: True)
        if not options.add:
            points = traced(RUNS[OURS], matrix, options.rank, judge, 0.0, np.inf, options.reference)
            record["best"] = min(points["objective"])
            save(OURS, points)
        goal = record["best"] * (1 + LEVELS[-1])
        for turn in range(options.rounds):
            for name, run in runs.items():
                arrives = name != OTHER_OBJECTIVE
                late = bool(rounds[name]) and arrives and min(rounds[name][-1]["objective"]) > goal
                if late or (turn == 0 and name == OURS and not options.add):
                    continue
                iterations = MANY if arrives else options.sweeps
                save(name, traced(run, matrix, options.rank, judge, goal, limits[name], iterations))
    print("\n".join(lines(record)))


if __name__ == "__main__":
    main()
