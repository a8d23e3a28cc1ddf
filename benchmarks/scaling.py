"""CPU seconds of one sweep against the number of positives, at fixed m + n: it should be affine.

python benchmarks/scaling.py [--sizes 500000 1000000 2000000 4000000 7000000 10000000] [--rank 32]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from clock import SweepClock
from generate import generate

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

from everypair import OneClassMF

SIZES = [500_000, 1_000_000, 2_000_000, 4_000_000, 7_000_000, 10_000_000]
SOLVERS = ("newton", "als", "cd", "block")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=69_878)
    parser.add_argument("--items", type=int, default=10_677)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=7, help="sweeps a size, of which the fastest counts")
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    options = parse(parser, users=80, items=60, sizes=[500, 700, 1000], rank=4, repeats=2)
    counts: list[int] = []
    seconds: dict[str, list[float]] = {name: [] for name in options.solvers}
    for size in options.sizes:
        matrix = generate(options.users, options.items, size)
        counts.append(matrix.nnz)
        for name in options.solvers:
            clock = SweepClock()
            OneClassMF(
                rank=options.rank, loss="squared", negative_weight=0.1, reg=0.1, reg_exponent="count", solver=name,
                max_iter=options.repeats + 1, tol=0, random_state=0, n_threads=2,
            ).fit(matrix, callbacks=[clock])  # fmt: skip
            seconds[name].append(min(clock.cpu))
        print(
            f"{matrix.nnz:>12,} pairs  " + "  ".join(f"{name} {seconds[name][-1]:.3f} s" for name in options.solvers),
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
