"""What a sweep's kernel reads and computes, beside what this machine can: one thread, CPU seconds.

    python benchmarks/roofline.py [--pairs 1000000] [--ranks 32 64 128 256] [--loss squared] [--rounds 3]

Ceilings: bytes a second of a sum over an array that fits the first, second, third cache or none, and multiply-adds a
second of numpy's matrix product. Passes of a half-step over the N stored pairs, f bytes a number:

    scores, slopes and gradient     N k f bytes, 2 N k multiply-adds, and the loss of every pair
    one conjugate-gradient step     N k f bytes, 2 N k multiply-adds

The first is timed as a half-step without conjugate gradients, the second as what each further one adds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from generate import generate
from numba import njit
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

from everypair.data.pairs import Pairs
from everypair.problem.losses import get_loss
from everypair.problem.negatives import Negatives
from everypair.problem.objective import Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.half_step import RowSteps, half_step

CACHES = {"L1": 16 << 10, "L2": 256 << 10, "L3": 8 << 20, "memory": 256 << 20}
CG_STEPS = 3


@njit(nogil=True, fastmath=True)
def total(numbers: Any, times: Any) -> Any:
    """Sum of the numbers, read again and again."""
    result = np.float32(0.0)
    for _ in range(times):
        part = np.float32(0.0)
        for t in range(np.uint64(len(numbers))):
            part += numbers[t]
        result += part
        numbers[0] += np.float32(1.0)  # or one pass would do
    return result


def fastest(work: Callable[[], Any], rounds: int) -> float:
    """Least CPU seconds of a call."""
    seconds = []
    for _ in range(rounds + 1):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds[1:])


def ceilings(rounds: int) -> dict[str, float]:
    """Bytes a second by cache, and multiply-adds a second."""
    found = {}
    for name, size in CACHES.items():
        numbers = np.ones(size // 4, np.float32)
        times = max(1, (1 << 30) // size)
        found[name] = size * times / fastest(partial(total, numbers, times), rounds)
    square = np.ones((1024, 1024), np.float32)
    found["multiply-adds"] = 1024**3 / fastest(lambda: square @ square, rounds)
    return found


@dataclass(frozen=True)
class TimedSteps(RowSteps):
    """Steps whose kernel notes the CPU seconds it takes."""

    seconds: list[float] = field(default_factory=list)

    def kernel(self, *arguments: Any) -> Any:
        kernel = super().kernel(*arguments)

        def timed(*call: Any) -> None:
            start = time.process_time()
            kernel(*call)
            self.seconds.append(time.process_time() - start)

        return timed


def kernel_seconds(objective: Any, factors: Any, side: int, cg: int) -> float:
    """CPU seconds inside the kernel of one half-step."""
    steps = TimedSteps(cg=cg)
    problem, other = objective.rows[side], factors[1 - side]
    half_step(problem, factors[side], other, problem.gram_of(other), steps)
    return sum(steps.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=69_878)
    parser.add_argument("--items", type=int, default=10_677)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[32, 64, 128, 256])
    parser.add_argument("--loss", default="squared")
    parser.add_argument("--rounds", type=int, default=3)
    options = parse(parser, users=80, items=60, pairs=800, ranks=[8], rounds=1)
    with threadpool_limits(1, "blas"):
        ceiling = ceilings(options.rounds)
        print("ceilings: " + ", ".join(f"{name} {rate / 1e9:.0f} G/s" for name, rate in ceiling.items()))
        matrix = generate(options.users, options.items, options.pairs)
        pairs, loss = Pairs.from_matrix(matrix, dtype=np.float32), get_loss(options.loss)
        negatives = Negatives.from_scheme(pairs, 0.1, "uniform", loss.negative_value)
        objective = Objective(pairs, loss, negatives, Ridge.checked(0.5, 0.0), dtype=np.float32)
        print(f"{matrix.shape[0]:,} × {matrix.shape[1]:,}, {matrix.nnz:,} pairs, {loss.name}")
        names = ("ns/pair", "GB/s", "of L2", "of L3", "GFMA/s", "of peak")
        print(f"{'rank':>5s} {'side':5s} {'pass':25s}" + "".join(f"{name:>9s}" for name in names))
        for rank in options.ranks:
            report(rank, objective, matrix, ceiling, options.rounds)


def report(rank: int, objective: Any, matrix: Any, ceiling: dict[str, float], rounds: int) -> None:
    """Print a line for each pass of either side."""
    random = np.random.default_rng(0)
    factors = [random.normal(scale=0.3 / rank**0.5, size=(n, rank)).astype(np.float32) for n in matrix.shape]
    for side in (0, 1):
        problem = objective.rows[side]
        new, _ = half_step(problem, factors[side], factors[1 - side], problem.gram_of(factors[1 - side]), RowSteps())
        factors[side] = new
    for side, name in enumerate(("left", "right")):
        samples = [[kernel_seconds(objective, factors, side, cg) for cg in (0, CG_STEPS)] for _ in range(rounds)]
        without, with_steps = np.median(samples, axis=0)
        for label, seconds in (
            ("scores, slopes, gradient", without),
            ("one CG step", (with_steps - without) / CG_STEPS),
        ):
            read, added = matrix.nnz * rank * 4 / seconds, 2 * matrix.nnz * rank / seconds
            print(
                f"{rank:5d} {name:5s} {label:25s}{seconds / matrix.nnz * 1e9:9.1f}{read / 1e9:9.1f}"
                f"{read / ceiling['L2']:9.2f}{read / ceiling['L3']:9.2f}{added / 1e9:9.1f}"
                f"{added / ceiling['multiply-adds']:9.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
