"""Figure 1: relative difference to the smallest objective against time, for every solver.

    python experiments/negsel/figure1.py [--data ml1m] [--seconds 40] [--rank 64] [--report]

(a) Full: squared loss, α = 0.1, λ_i = 0.1·max(1, |Ω_i⁺|); the paper's setting in our ½ convention is the same.
(b) Subsampled: |Ω⁻| = |Ω⁺| drawn uniformly, all other pairs without cost, the same ridge: it counts positives alone.
One thread, BLAS included, CPU seconds, the same start. A point is a sweep over both sides or, for stochastic gradient,
as many random updates as there are positives; its time includes the evaluation of the objective there (a tenth of it
on ml1m), which the other solvers have as a by-product. It has the learning rates of twin learners, and those of one
learner a row beside them; the two hybrids of 3.2 are in (a). Writes figure1_<data>.json, .md and (matplotlib) .png.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import RESULTS, parse, split, write
from threadpoolctl import threadpool_limits

from everypair.data import Pairs, sample_negatives
from everypair.problem import Negatives, Objective, Ridge
from everypair.solvers.choose import HYBRIDS, solver_maker
from everypair.solvers.rivals.stochastic import SLOW_SHARE, StochasticGradient
from everypair.solvers.state import Factors

ONE_LEARNER = "sg-reform, one learner"
SUBSAMPLED = ("auto", "newton", "block", "als", "cd", "sg-reform", ONE_LEARNER)
FULL = (*SUBSAMPLED, "sg-bsearch", "sg-dense", *HYBRIDS)
SG_POINTS = 10  # as many points of stochastic gradient as ten sweeps of the others
TARGETS = (1e-2, 1e-3, 1e-4)
Trace = list[tuple[float, float]]  # CPU seconds and objective after each point


def subsampled(train: Any, seed: int) -> Pairs:
    """Positives and as many sampled negatives, stored as dislikes: target 0, and the ridge does not count them."""
    positives = Pairs.from_matrix(train)
    rows, columns = sample_negatives(positives, positives.nnz, "uniform", np.random.default_rng(seed))
    drawn = sp.csr_array((np.full(len(rows), -1, np.float32), (rows, columns)), shape=positives.shape)
    return Pairs.from_matrix(sp.csr_array(train) + drawn)


def problems(train: Any) -> dict[str, tuple[Objective, tuple[str, ...]]]:
    """What is minimised, and by whom."""
    full, few, ridge = Pairs.from_matrix(train), subsampled(train, 0), Ridge.checked(0.1, "count")
    return {
        "Full": (Objective(full, "squared", Negatives.from_scheme(full, 0.1), ridge), FULL),
        "Subsampled": (Objective(few, "squared", Negatives.from_scheme(few, 0.0), ridge), SUBSAMPLED),
    }


def start_of(shape: tuple[int, int], rank: int) -> Factors:
    """Small random factors."""
    random = np.random.default_rng(0)
    scale = float(0.1 / np.sqrt(rank))
    return Factors(*(scale * random.standard_normal((size, rank), np.float32) for size in shape))


def trace(name: str, objective: Objective, start: Factors, stored: int, seconds: float, points: int) -> Trace:
    """CPU seconds and objective after each point; kernels are compiled before."""

    def solver() -> Any:
        if name.startswith("sg-") and name not in HYBRIDS:
            variant, _, one = name.removeprefix("sg-").partition(", ")
            return StochasticGradient(objective, variant, updates=stored, slow_share=0.0 if one else SLOW_SHARE)
        return solver_maker(name, start.left.shape[1], 0)(objective)

    solver().step(start)
    found: Trace = []
    state, spent, steps = start, 0.0, solver()
    while spent < seconds and len(found) < points * (SG_POINTS if name.startswith("sg-") else 1):
        begin = time.process_time()
        state = steps.step(state)
        spent += time.process_time() - begin
        found.append((spent, float(state.objective)))
    return found


def seconds_to(points: Trace, best: float, gap: float) -> float | None:
    return next((spent for spent, value in points if value <= best * (1 + gap)), None)


def plot(path: Path, parts: dict[str, dict[str, Trace]]) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is not installed: no plot (pip install everypair[plot]).")
        return
    figure, axes = plt.subplots(1, len(parts), figsize=(6 * len(parts), 4), squeeze=False)
    for axis, (title, traces) in zip(axes[0], parts.items()):
        best = min(value for points in traces.values() for _, value in points)
        for name, points in traces.items():
            spent, values = np.array(points).T
            axis.loglog(spent, np.maximum((values - best) / best, 1e-8), label=name, marker=".")
        axis.set(title=title, xlabel="CPU seconds", ylabel="relative difference to the best objective")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def report(options: dict[str, Any], parts: dict[str, dict[str, Trace]]) -> str:
    lines = [
        f"# Figure 1 on {options['data']}: CPU seconds to come within a share of the best objective",
        "",
        f"Rank {options['rank']}, λ = 0.1·max(1, |Ω_i⁺|), α = 0.1 (Full), one thread, {options['seconds']:g} s or "
        f"{options['sweeps']} sweeps each at most. A point is a sweep or, of stochastic gradient (sg), as many updates "
        "as there are positives, with the evaluation of the objective. The best objective is the lowest that any of "
        "them reached: whoever reached it has gap 0.",
    ]
    for title, traces in parts.items():
        best = min(value for points in traces.values() for _, value in points)
        lines += ["", f"## {title} (best objective {best:,.1f})", ""]
        lines += ["| solver | s a point | " + " | ".join(f"within {gap:.2%}" for gap in TARGETS) + " | final gap |"]
        lines.append("|" + "---|" * (len(TARGETS) + 3))
        for name, points in traces.items():
            times = [seconds_to(points, best, gap) for gap in TARGETS]
            cells = " | ".join("–" if spent is None else f"{spent:.2f} s" for spent in times)
            lines.append(f"| {name} | {points[-1][0] / len(points):.3f} | {cells} | {points[-1][1] / best - 1:.1e} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml1m")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--sweeps", type=int, default=60)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--report", action="store_true", help="only write table and plot again, from the JSON")
    options = parse(parser, RESULTS, sweeps=5, rank=4)
    name = f"figure1_{options.data}"
    if options.report:
        record = json.loads((options.results / f"{name}.json").read_text())
    else:
        train, _ = split(options.data)
        start = start_of(train.shape, options.rank)
        record = {"options": {key: getattr(options, key) for key in ("data", "seconds", "sweeps", "rank")}}
        record["traces"] = {title: {} for title in ("Full", "Subsampled")}
        with threadpool_limits(1, "blas"):
            for title, (objective, solvers) in problems(train).items():
                for solver in solvers:
                    points = trace(solver, objective, start, train.nnz, options.seconds, options.sweeps)
                    record["traces"][title][solver] = points
                    print(title, solver, points[-1], flush=True)
    write(options.results, name, record, report(record["options"], record["traces"]))
    plot(options.results / f"{name}.png", record["traces"])


if __name__ == "__main__":
    main()
