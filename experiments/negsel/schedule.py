"""Learning rates of stochastic gradient: one learner a row or two, and where their sums of squares begin.

    python experiments/negsel/schedule.py [--data ml100k] [--passes 20] [--rank 64] [--rates 0.05 0.1 0.2] [--report]

The schedule that NegSel cites has twin learners whose sums begin at 1 (Chin et al., 2015), for ratings of unit
variance. The gradients of the objectives here are smaller: sums that begin at 0 grow to their size. A pass is as many
updates as there are positives; the gap is to the lowest objective of any method, Newton–CG's at the end of 50 sweeps
among them. Problems, start and rank are those of Figure 1. Writes schedule_<data>.json and .md.
"""

from __future__ import annotations

import argparse
import itertools
import json
from typing import Any

from common import RESULTS, parse, split, write
from figure1 import problems, start_of

from everypair.solvers.choose import solver_maker
from everypair.solvers.rivals.stochastic import SLOW_SHARE, StochasticGradient

SCHEDULES = {  # name → share of the slow columns, what the sums begin with
    "one learner, from 0": (0.0, 0.0),
    "one learner, from 1": (0.0, 1.0),
    "twin learners, from 0": (SLOW_SHARE, 0.0),
    "twin learners, from 1 (as printed)": (SLOW_SHARE, 1.0),
}
SWEEPS = 50


def report(record: dict[str, Any]) -> str:
    """A row for every schedule and rate: the gap half-way and at the end."""
    options = record["options"]
    half, end = max(1, options["passes"] // 2), options["passes"]
    lines = [
        f"# Schedules of stochastic gradient on {options['data']}",
        "",
        f"Gap of the objective to the best after {half} and {end} passes, rank {options['rank']}; sg-reform.",
        "",
        "| schedule | rate | "
        + " | ".join(f"{part}, {n} passes" for part in record["best"] for n in (half, end))
        + " |",
        "|---" * (2 + 2 * len(record["best"])) + "|",
    ]
    for name, rate in itertools.product(SCHEDULES, options["rates"]):
        cells = []
        for part, best in record["best"].items():
            values = record["traces"][part][f"{name}, {rate:g}"]
            cells += [f"{values[n - 1] / best - 1:.2%}" for n in (half, end)]
        lines.append(f"| {name} | {rate:g} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml100k")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.05, 0.1, 0.2])
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, passes=3, rank=4, rates=[0.1])
    name = f"schedule_{options.data}"
    if options.report:
        record = json.loads((options.results / f"{name}.json").read_text())
    else:
        train, _ = split(options.data)
        start = start_of(train.shape, options.rank)
        record = {"options": {key: getattr(options, key) for key in ("data", "passes", "rank", "rates")}}
        record |= {"best": {}, "traces": {}}
        for part, (objective, _) in problems(train).items():
            newton, state = solver_maker("auto", options.rank, 0)(objective), start
            for _ in range(SWEEPS):
                state = newton.step(state)
            traces: dict[str, list[float]] = {}
            for (schedule, (share, first)), rate in itertools.product(SCHEDULES.items(), options.rates):
                solver = StochasticGradient(
                    objective, learning_rate=rate, updates=train.nnz, slow_share=share, first_sum=first
                )
                point, values = start, []
                for _ in range(options.passes):
                    point = solver.step(point)
                    values.append(float(point.objective))
                traces[f"{schedule}, {rate:g}"] = values
                print(part, schedule, rate, values[-1], flush=True)
            record["traces"][part] = traces
            record["best"][part] = min(float(state.objective), *(value for trace in traces.values() for value in trace))
    write(options.results, name, record, report(record))


if __name__ == "__main__":
    main()
