"""One training sweep beside implicit's ALS and irspack's iALS, interleaved in one run, judged by one Objective.

    python benchmarks/sweep.py [--pairs 4500000] [--rank 64] [--rounds 3] [--sweeps 5]

CPU seconds of one sweep (median over all rounds), warm kernels, 2 threads each, single-threaded BLAS for everybody.
Every library minimises the same objective, in implicit's and in irspack's parametrisation (see peers.py).
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from generate import generate
from peers import implicit_objective, irspack_objective, irspack_targets
from threadpoolctl import threadpool_limits

from everypair import OneClassMF

THREADS = 2
ALPHA, IMPLICIT_REG = 10.0, 5.0
ALPHA0, IRSPACK_REG = 0.1, 0.5


class Clock:
    """CPU and wall seconds between calls; as a callback it ends a sweep."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.wall: list[float] = []
        self.start()

    def start(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def __call__(self, *_: Any) -> None:
        self.cpu.append(time.process_time() - self._cpu)
        self.wall.append(time.perf_counter() - self._wall)
        self.start()


class Ours:
    def __init__(self, rank: int, sweeps: int, **parameters: Any) -> None:
        self.model = OneClassMF(rank=rank, max_iter=sweeps, tol=0, n_threads=THREADS, random_state=0, **parameters)

    def run(self, matrix: Any, targets: Any = None) -> tuple[Clock, Any, Any]:
        clock = Clock()
        first = True

        def tick(sweep: Any) -> None:
            nonlocal first
            clock()
            if first:  # the first sweep also holds the set-up: only sweeps between two callbacks count
                clock.cpu.clear(), clock.wall.clear()
                first = False

        self.model.fit(matrix, targets=targets, callbacks=[tick])
        return clock, self.model.left_factors_, self.model.right_factors_


class Implicit:
    def __init__(self, rank: int, sweeps: int) -> None:
        self.rank, self.sweeps = rank, sweeps

    def run(self, matrix: Any) -> tuple[Clock, Any, Any]:
        from implicit.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(
            factors=self.rank, iterations=self.sweeps, alpha=ALPHA, regularization=IMPLICIT_REG, use_cg=True,
            num_threads=THREADS, random_state=0,
        )  # fmt: skip
        clock = Clock()
        model.fit(matrix, show_progress=False, callback=clock)
        del clock.cpu[0], clock.wall[0]
        return clock, model.user_factors, model.item_factors


class Irspack:
    def __init__(self, rank: int, sweeps: int) -> None:
        self.rank, self.sweeps = rank, sweeps

    def run(self, matrix: Any) -> tuple[Clock, Any, Any]:
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
        trainer.run_epoch()
        clock = Clock()
        for _ in range(self.sweeps - 1):
            trainer.run_epoch()
            clock()
        return clock, trainer.core_trainer.user, trainer.core_trainer.item


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=5)
    options = parser.parse_args()
    matrix = generate(n_pairs=options.pairs)
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
        return f"{np.median(cpu[one]) / np.median(cpu[other]):.2f}"

    names = list(runs)
    print(f"\nCPU of one sweep: {ratio(names[0], names[1])} of implicit's, {ratio(names[2], names[3])} of irspack's;")
    print(f"logistic {ratio(names[4], names[2])} of squared. Peak memory of this process "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB (all libraries together).")  # fmt: skip


if __name__ == "__main__":
    main()
