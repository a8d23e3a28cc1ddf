"""Figure 1: relative difference to the smallest objective against time, for every solver.

    python experiments/negsel/figure1.py [--data ml1m] [--seconds 40] [--rank 64]

(a) Full: squared loss, α = 0.1, λ_i = 0.1·max(1, |Ω_i⁺|); the paper's setting in our ½ convention is the same.
(b) Subsampled: |Ω⁻| = |Ω⁺| drawn uniformly, all other pairs without cost, the same ridge.
One thread, CPU seconds of the sweeps, the same start. Writes results/figure1_<data>.json, .md and (matplotlib) .png.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from common import RESULTS, split, write

from everypair.data import Pairs
from everypair.data.sampling import sample_negatives
from everypair.problem import Negatives, Objective, Ridge
from everypair.solvers.choose import solver_maker
from everypair.solvers.state import Factors
from everypair.training.start import random_start

FULL = ("newton", "block", "als", "cd", "sg-reform", "sg-bsearch", "sg-dense")
SUBSAMPLED = ("newton", "block", "als", "cd", "sg-reform")
TARGETS = (1e-2, 1e-3, 1e-4)


def subsampled(train: Any, seed: int) -> Pairs:
    """Positives with target 1 and as many sampled negatives with target 0."""
    import scipy.sparse as sp

    pairs = Pairs.from_matrix(train)
    rows, columns = sample_negatives(pairs, pairs.nnz, "uniform", np.random.default_rng(seed))
    left = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.rows.indptr))
    i, j = np.concatenate([left, rows]), np.concatenate([pairs.rows.indices, columns])
    ones = sp.csr_array((np.ones(len(i), np.float32), (i, j)), shape=pairs.shape)
    targets = sp.csr_array(
        (np.concatenate([np.ones(pairs.nnz), np.zeros(len(rows))]).astype(np.float32), (i, j)), shape=pairs.shape
    )
    return Pairs.from_matrix(ones, targets)


def trace(name: str, objective: Objective, start: Factors, seconds: float, sweeps: int) -> list[tuple[float, float]]:
    """(CPU seconds, objective) after each sweep."""
    solver = solver_maker(name, start.left.shape[1], 2, 0, 1)(objective)
    state, spent, points = start, 0.0, []
    solver.step(start)  # compile
    solver = solver_maker(name, start.left.shape[1], 2, 0, 1)(objective)
    while spent < seconds and len(points) < sweeps:
        begin = time.process_time()
        state = solver.step(state)
        spent += time.process_time() - begin
        points.append((spent, float(state.objective or np.nan)))
    return points


def seconds_to(points: list[tuple[float, float]], best: float, gap: float) -> float | None:
    return next((spent for spent, value in points if value <= best * (1 + gap)), None)


def plot(path: Any, parts: dict[str, dict[str, list[tuple[float, float]]]]) -> None:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="ml1m")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--sweeps", type=int, default=60)
    parser.add_argument("--rank", type=int, default=64)
    options = parser.parse_args()
    train, _ = split(options.data)
    ridge = Ridge.checked(0.1, "count")
    full = Pairs.from_matrix(train)
    few = subsampled(train, 0)
    problems = {
        "Full": (Objective(full, "squared", Negatives.from_scheme(full, 0.1), ridge), FULL),
        "Subsampled": (Objective(few, "squared", Negatives.from_scheme(few, 0.0), ridge), SUBSAMPLED),
    }
    parts: dict[str, dict[str, list[tuple[float, float]]]] = {}
    lines = [f"# Figure 1 on {options.data}: CPU seconds to come within a share of the best objective", ""]
    lines.append(
        f"Rank {options.rank}, λ = 0.1·max(1, |Ω_i⁺|), α = 0.1 (Full), one thread, {options.seconds:g} s each at most."
    )
    for title, (objective, names) in problems.items():
        start = random_start(objective, options.rank, np.random.default_rng(0))
        parts[title] = {}
        for name in names:
            parts[title][name] = trace(name, objective, start, options.seconds, options.sweeps)
            print(title, name, parts[title][name][-1], flush=True)
        best = min(value for points in parts[title].values() for _, value in points)
        lines += ["", f"## {title} (best objective {best:,.1f})", ""]
        lines += ["| solver | s a sweep | " + " | ".join(f"within {gap:.2%}" for gap in TARGETS) + " | final gap |"]
        lines.append("|" + "---|" * (len(TARGETS) + 3))
        for name, points in parts[title].items():
            times = [seconds_to(points, best, gap) for gap in TARGETS]
            cells = " | ".join("–" if spent is None else f"{spent:.2f} s" for spent in times)
            lines.append(f"| {name} | {points[-1][0] / len(points):.3f} | {cells} | {points[-1][1] / best - 1:.1e} |")
    write(f"figure1_{options.data}", {"options": vars(options), "traces": parts}, "\n".join(lines) + "\n")
    plot(RESULTS / f"figure1_{options.data}.png", parts)


if __name__ == "__main__":
    main()
