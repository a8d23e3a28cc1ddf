"""Multi-label learning at size.

python benchmarks/labels.py missing     a gradient and a Hessian·vector product with missing labels against
                                        |Ω| + nnz(X) + d + L
python benchmarks/labels.py wiki        a generated tenth of a wiki: 88,000 rows, 37,000 features, 21,000 labels
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

from everypair.data import Pairs
from everypair.features.matrix import Features
from everypair.problem import Negatives, Objective, Ridge
from everypair.problem.embedding import SideInformation
from everypair.problem.layout import LEFT, Layout
from everypair.solvers.alternating import Alternating
from everypair.solvers.half_step import RowSteps
from everypair.training.start import random_start


def skewed(rows: int, columns: int, per_row: int, random: np.random.Generator) -> Any:
    """Ones in ``per_row`` places of every row, columns drawn by a power law."""
    popularity = 1 / np.arange(1, columns + 1) ** 0.8
    chosen = random.choice(columns, size=rows * per_row, p=popularity / popularity.sum())
    matrix = sp.csr_array((np.ones(rows * per_row, np.float32), (np.repeat(np.arange(rows), per_row), chosen)),
                          shape=(rows, columns))  # fmt: skip
    matrix.data[:] = 1
    return matrix


def objective_of(X: Any, labels: Any, loss: str, weight: float, rank: int, reg: float) -> Objective:
    """LEML: features on the left, labels on the right, one ridge; weight 0 counts known labels only."""
    pairs = Pairs.from_matrix(labels)
    return Objective(
        pairs, loss, Negatives.from_scheme(pairs, weight), Ridge.checked(reg, 0), n_threads=2,
        side_information=(SideInformation(Features(X, np.float32), reg, own=False), None),
    )  # fmt: skip


def missing(rounds: int, rank: int, heights: list[int]) -> None:
    """Seconds of a gradient and a product, over several sizes with all parts growing."""
    random, sizes, seconds = np.random.default_rng(0), [], []
    for rows in heights:
        X = skewed(rows, rows // 4, 40, random)
        known = skewed(rows, rows // 8, 25, random)
        known.data[random.random(known.nnz) < 0.7] = -1  # known negatives
        objective = objective_of(X, known, "logistic", 0.0, rank, 1.0)
        state = random_start(objective, Layout(rank), random)
        theta = state.parameters(LEFT) + np.float32(0.01)
        times = {"gradient": [], "product": []}
        for _ in range(rounds + 1):
            begin = time.process_time()
            direction = objective.gradient(LEFT, theta, state.right)
            middle = time.process_time()
            objective.hessian_vector(LEFT, direction, theta, state.right)
            times["gradient"].append(middle - begin)
            times["product"].append(time.process_time() - middle)
        sizes.append(known.nnz + X.nnz + sum(X.shape[1:]) + known.shape[1])
        seconds.append(min(times["gradient"]) + min(times["product"]))
        print(f"|Ω| {known.nnz:>9,}  nnz(X) {X.nnz:>9,}  n·L {rows * known.shape[1]:>13,}  gradient "
              f"{min(times['gradient']):.3f}  product {min(times['product']):.3f} CPU s", flush=True)  # fmt: skip
    fit = np.polyfit(sizes, seconds, 1)
    rest = np.asarray(seconds) - np.polyval(fit, sizes)
    print(f"affine fit: R² = {1 - rest.var() / np.var(seconds):.4f}")


def wiki(rank: int, sweeps: int, share: float) -> None:
    """Squared loss on every pair, alternating iterations from a cold start; ``share`` of the full size."""
    random = np.random.default_rng(0)
    rows, features, labels = (max(10, int(share * size)) for size in (88_000, 37_000, 21_000))
    X = skewed(rows, features, 147, random)
    X.data[:] = 1 / np.sqrt(147)
    objective = objective_of(X, skewed(rows, labels, 7, random), "squared", 1.0, rank, 1.0)
    begin = time.process_time(), time.perf_counter()
    solver = Alternating(objective, RowSteps(cg=3))
    print(f"prepared in {time.process_time() - begin[0]:.1f} CPU s", flush=True)
    state = random_start(objective, Layout(rank), random)
    for sweep in range(1, sweeps + 1):
        begin = time.process_time(), time.perf_counter()
        state = solver.step(state)
        print(f"iteration {sweep}: {time.process_time() - begin[0]:.1f} CPU s, {time.perf_counter() - begin[1]:.1f} s, "
              f"objective {state.objective:,.0f}", flush=True)  # fmt: skip
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("missing", "wiki"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rank", type=int, help="64 for missing, 100 for wiki")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000, 40_000, 80_000], help="of missing")
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the full size of wiki")
    options = parse(parser, rounds=1, rank=4, rows=[200, 300, 400], sweeps=2, share=0.002)
    if options.what == "missing":
        missing(options.rounds, options.rank or 64, options.rows)
    else:
        wiki(options.rank or 100, options.sweeps, options.share)


if __name__ == "__main__":
    main()
