"""CPU seconds of one sweep against the number of positives, at fixed m + n: it should be affine.

python benchmarks/scaling.py [--sizes 500000 1000000 2000000 4000000 7000000 10000000] [--rank 32]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from generate import generate

from everypair.data import Pairs
from everypair.problem import Negatives, Objective, Ridge
from everypair.solvers.choose import solver_maker
from everypair.training.start import random_start

SIZES = [500_000, 1_000_000, 2_000_000, 4_000_000, 7_000_000, 10_000_000]
SOLVERS = ("newton", "als", "cd", "block")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=7, help="sweeps a size, of which the fastest counts")
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    options = parser.parse_args()
    counts, seconds = [], {name: [] for name in options.solvers}
    for size in options.sizes:
        matrix = generate(n_pairs=size)
        pairs = Pairs.from_matrix(matrix)
        counts.append(pairs.nnz)
        objective = Objective(
            pairs, "squared", Negatives.from_scheme(pairs, 0.1), Ridge.checked(0.1, "count"), n_threads=2
        )
        start = random_start(objective, options.rank, np.random.default_rng(0))
        for name in options.solvers:
            solver = solver_maker(name, options.rank, 2, 0, 2)(objective)
            state, times = solver.step(start), []
            for _ in range(options.repeats):
                begin = time.process_time()
                state = solver.step(state)
                times.append(time.process_time() - begin)
            seconds[name].append(min(times))
        print(
            f"{pairs.nnz:>12,} pairs  " + "  ".join(f"{name} {seconds[name][-1]:.3f} s" for name in options.solvers),
            flush=True,
        )
    x = np.array(counts, float)
    for name, values in seconds.items():
        y = np.array(values)
        slope, intercept = np.polyfit(x, y, 1)
        r2 = 1 - np.sum((y - slope * x - intercept) ** 2) / np.sum((y - y.mean()) ** 2)
        print(f"{name:8s} {1e9 * slope:7.1f} ns a pair + {intercept:6.3f} s, R² = {r2:.4f}")


if __name__ == "__main__":
    main()
