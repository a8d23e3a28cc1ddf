"""One training sweep beside implicit's ALS and irspack's iALS, interleaved in one run, judged by one Objective.

    python benchmarks/sweep.py [--pairs 4500000] [--rank 64] [--rounds 3] [--sweeps 5]

CPU seconds of one sweep (median over all rounds), warm kernels, 2 threads each, single-threaded BLAS for everybody.
Every library minimises the same objective, in implicit's and in irspack's parametrisation (see peers.py). A library
that is not installed is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
from clock import SweepClock
from generate import generate
from peers import implicit_objective, irspack_objective, irspack_targets
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

from everypair import OneClassMF

THREADS = 2
ALPHA, IMPLICIT_REG = 10.0, 5.0
ALPHA0, IRSPACK_REG = 0.1, 0.5


class Ours:
    def __init__(self, rank: int, sweeps: int, **parameters: Any) -> None:
        self.model = OneClassMF(rank=rank, max_iter=sweeps, tol=0, n_threads=THREADS, random_state=0, **parameters)

    def run(self, matrix: Any, targets: Any = None) -> tuple[SweepClock, Any, Any]:
        clock = SweepClock()
        self.model.fit(matrix, targets=targets, callbacks=[clock])
        return clock, self.model.left_factors_, self.model.right_factors_


class Implicit:
    def __init__(self, rank: int, sweeps: int) -> None:
        self.rank, self.sweeps = rank, sweeps

    def run(self, matrix: Any) -> tuple[SweepClock, Any, Any]:
        from implicit.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(
            factors=self.rank, iterations=self.sweeps, alpha=ALPHA, regularization=IMPLICIT_REG, use_cg=True,
            num_threads=THREADS, random_state=0,
        )  # fmt: skip
        clock = SweepClock()
        model.fit(matrix, show_progress=False, callback=clock)
        return clock, model.user_factors, model.item_factors


class Irspack:
    def __init__(self, rank: int, sweeps: int) -> None:
        self.rank, self.sweeps = rank, sweeps

    def run(self, matrix: Any) -> tuple[SweepClock, Any, Any]:
        from irspack.recommenders.ials import IALSRecommender

        model = IALSRecommender(
            matrix,
            n_components=self.rank,
            alpha0=ALPHA0,
            reg=IRSPACK_REG,
            nu=0.0,
            solver_type="CG",
            n_threads=THREADS,
        )
        trainer = model._create_trainer()
        clock = SweepClock()
        for _ in range(self.sweeps):
            trainer.run_epoch()
            clock()
        return clock, trainer.core_trainer.user, trainer.core_trainer.item


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=69_878)
    parser.add_argument("--items", type=int, default=10_677)
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=5)
    options = parse(parser, users=80, items=60, pairs=800, rank=4, rounds=1, sweeps=3)
    matrix = generate(options.users, options.items, options.pairs)
    shape = f"{matrix.shape[0]:,} × {matrix.shape[1]:,}"
    print(f"{shape}, {matrix.nnz:,} pairs, rank {options.rank}, {options.sweeps} sweeps, {THREADS} threads")
    like_implicit = {"loss": "squared", "negative_weight": 1.0, "reg": IMPLICIT_REG, "reg_exponent": 0}
    like_irspack = {"loss": "squared", "negative_weight": ALPHA0, "reg": IRSPACK_REG, "reg_exponent": 0}
    weights, targets = irspack_targets(matrix, ALPHA0)
    size = (options.rank, options.sweeps)
    runs = {
        "everypair squared, as implicit": lambda: Ours(*size, **like_implicit).run(ALPHA * matrix),
        "implicit ALS, use_cg": lambda: Implicit(*size).run(matrix),
        "everypair squared, as irspack": lambda: Ours(*size, **like_irspack).run(weights, targets),
        "irspack iALS, CG": lambda: Irspack(*size).run(matrix),
        "everypair logistic, defaults": lambda: Ours(*size).run(matrix),
    }
    for peer in ("implicit", "irspack"):
        if importlib.util.find_spec(peer) is None:
            print(f"{peer} is not installed: it is left out (pip install everypair[bench]).")
            runs = {name: run for name, run in runs.items() if not name.startswith(peer)}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    wall: dict[str, list[float]] = {name: [] for name in runs}
    factors: dict[str, tuple[Any, Any]] = {}
    with threadpool_limits(1, "blas"):
        for turn in range(options.rounds + 1):
            for name, run in runs.items():
                clock, left, right = run()
                if turn:  # the first round warms caches and kernels
                    cpu[name] += clock.cpu
                    wall[name] += clock.wall
                factors[name] = left, right
    judges = {
        "implicit": implicit_objective(matrix, ALPHA, IMPLICIT_REG, n_threads=THREADS),
        "irspack": irspack_objective(matrix, ALPHA0, IRSPACK_REG, n_threads=THREADS),
    }
    print(f"\n{'':34s}{'CPU s':>8s}{'wall s':>8s}{'objective after ' + str(options.sweeps):>22s}")
    for name in runs:
        judge = next((judge for peer, judge in judges.items() if peer in name), None)
        value = f"{judge.value(*map(np.ascontiguousarray, factors[name])):22,.1f}" if judge else ""
        print(f"{name:34s}{np.median(cpu[name]):8.3f}{np.median(wall[name]):8.3f}{value}")

    def ratio(one: str, other: str) -> str:
        return f"{np.median(cpu[one]) / np.median(cpu[other]):.2f}" if other in cpu else "–"

    squared = "everypair squared, as "
    print(f"\nCPU of one sweep: {ratio(squared + 'implicit', 'implicit ALS, use_cg')} of implicit's, "
          f"{ratio(squared + 'irspack', 'irspack iALS, CG')} of irspack's;")  # fmt: skip
    print(f"logistic {ratio('everypair logistic, defaults', squared + 'irspack')} of squared.")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Peak memory of this process {memory:,.0f} MB (all libraries together).")


if __name__ == "__main__":
    main()
