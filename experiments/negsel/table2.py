"""Table 2: what an iteration of ALS, CD and stochastic gradient costs, as measured exponents.

    python experiments/negsel/table2.py [--rounds 3] [--report]

Generated positives, uniform: one of |Ω⁺|, m + n and k grows and the others stay. An iteration of CD and ALS is a sweep
over both sides, of stochastic gradient as many updates as there are positives. The exponent is the slope of log seconds
over log size between the two largest sizes; the paper's is that of the term that dominates there. CPU seconds, one
thread, the least of several rounds. Writes table2.json and .md.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import RESULTS, parse, stored_rows, write
from figure1 import start_of
from threadpoolctl import threadpool_limits

from everypair.data import Pairs
from everypair.problem import Negatives, Objective, Ridge
from everypair.solvers.choose import solver_maker
from everypair.solvers.rivals.stochastic import StochasticGradient

# what grows → sizes (rows and columns each, stored pairs, k) and the exponents of Table 2 where its first term, or the
# second one, is the larger
SERIES: dict[str, tuple[tuple[tuple[int, int, int], ...], dict[str, float]]] = {
    "pairs": (
        tuple((2_000, count, 32) for count in (250_000, 500_000, 1_000_000)),
        {"cd": 1, "als": 1, "sg-reform": 1},
    ),
    "m + n": (
        tuple((size, 200_000, 64) for size in (20_000, 40_000, 80_000)),
        {"cd": 1, "als": 1, "sg-reform": 0},
    ),
    "k": (
        tuple((2_000, 500_000, rank) for rank in (32, 64, 128)),
        {"cd": 1, "als": 2, "sg-reform": 1},
    ),
    "k, few pairs": (
        tuple((20_000, 50_000, rank) for rank in (32, 64, 128)),
        {"cd": 2, "als": 3, "sg-reform": 1},
    ),
}
SMALL = {name: (tuple((size // 20, count // 2000, rank // 16) for size, count, rank in sizes), said)
         for name, (sizes, said) in SERIES.items()}  # fmt: skip


def generated(size: int, count: int) -> Pairs:
    """About ``count`` positives at random."""
    places = np.random.default_rng(0).choice(size * size, count, replace=False)
    return Pairs.from_matrix(sp.csr_array((np.ones(count, np.float32), np.divmod(places, size)), shape=(size, size)))


def seconds(method: str, size: int, count: int, rank: int, rounds: int) -> float:
    """CPU seconds of an iteration."""
    pairs = generated(size, count)
    objective = Objective(pairs, "squared", Negatives.from_scheme(pairs, 0.1), Ridge.checked(0.1, "count"))
    sampled = method.startswith("sg-")
    solver = (
        StochasticGradient(objective, "reform", updates=pairs.nnz)
        if sampled
        else solver_maker(method, rank, 0)(objective)
    )
    state, found = solver.step(start_of((size, size), rank)), []
    for _ in range(rounds):
        begin = time.process_time()
        state = solver.step(state)
        found.append(time.process_time() - begin)
    return min(found)


def exponent(times: list[float], sizes: list[int]) -> float:
    """The slope between the two largest sizes."""
    return float(np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2]))


def report(rows: list[dict[str, Any]]) -> str:
    lines = ["# Table 2: measured exponents of an iteration", ""]
    lines += ["| what grows | method | " + "sizes | seconds | exponent | Table 2 |", "|---" * 6 + "|"]
    for row in rows:
        sizes = ", ".join(f"{size:,}" for size in row["sizes"])
        times = ", ".join(f"{one:.3f}" for one in row["seconds"])
        lines.append(
            f"| {row['grows']} | {row['method']} | {sizes} | {times} | {row['exponent']:.2f} | {row['said']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, rounds=1)
    rows = stored_rows(options.results, "table2", needed=True) if options.report else []
    series = {} if options.report else SMALL if options.smoke else SERIES
    with threadpool_limits(1, "blas"):
        for (name, (cases, said)), method in itertools.product(series.items(), ("cd", "als", "sg-reform")):
            times = [seconds(method, *case, options.rounds) for case in cases]
            place = next(place for place in range(3) if cases[0][place] != cases[1][place])
            grown = [case[place] for case in cases]
            rows.append({"grows": name, "method": method, "sizes": grown, "seconds": times,
                         "exponent": exponent(times, grown), "said": said[method]})  # fmt: skip
            print(rows[-1], flush=True)
    write(options.results, "table2", {"rows": rows}, report(rows))


if __name__ == "__main__":
    main()
