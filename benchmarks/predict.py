"""A time model of a sweep on a cluster, fitted on runs here, and what it says of clusters that were not run.

    seconds = (a N + b (m + n)) / (workers · threads) + bytes that a worker receives / bandwidth
              + 6 hops between workers + a round trip to the client + tasks · scheduler's seconds a task

    python benchmarks/predict.py            # measure, fit, predict, write benchmarks/results/predict.json
    python benchmarks/predict.py --report   # write the tables of docs/scaling.md from it

a and b come from fits of one process with one thread, the others from a cluster of two worker processes on this
machine: empty tasks, a chain of tasks that goes from worker to worker, and arrays that travel. The model is held
against sweeps of that cluster on pairs it was not fitted on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from generate import generate
from machine import machine
from scipy.optimize import nnls

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

from everypair import OneClassMF
from everypair.distribute.solving.set_up import PICK_BYTES
from everypair.distribute.solving.work import MOST_PICKED

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
FITTED = ((69_878, 10_677, 4_500_000), (69_878, 10_677, 1_000_000), (250_000, 40_000, 3_000_000), (20_000, 5_000, 3e6))
CHECKED = ((69_878, 10_677, 4_500_000), (150_000, 20_000, 12_000_000), (40_000, 40_000, 1_500_000))
ASKED = ((10**7, 10**6, 10**9), (10**9, 10**7, 10**11))
WORKERS = (10, 100, 1000)
HOPS = 6  # half-step, sums, turn, half-step, sums, judge; the first turn was prepared
RANK, BYTES = 64, 4
THREADS, NETWORK = 16, 1.25e9  # of a worker in the prediction; bytes a second


def seconds_a_sweep(matrix: Any, sweeps: int, rank: int, **options: Any) -> float:
    """The median sweep after the first two, by the default solver."""
    threads = {} if "client" in options else {"n_threads": 1}
    model = OneClassMF(rank=rank, max_iter=sweeps, tol=0.0, random_state=0, **threads).fit(matrix, **options)
    return float(np.median(np.diff([entry["seconds"] for entry in model.history_])[1:]))


def nothing(*_: Any) -> int:
    return 0


def measured_cluster(client: Any, megabytes: int, count: int) -> dict[str, float]:
    """Seconds of a task, a hop and a round trip, and bytes a second from worker to worker."""
    places = sorted(client.scheduler_info()["workers"])

    def timed(work: Any, repeats: int = 5) -> float:
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            work()
            times.append(time.perf_counter() - began)
        return float(np.median(times))

    def tasks() -> None:
        client.gather(client.map(nothing, range(count), pure=False))

    def chain() -> None:
        last: Any = 0
        for step in range(40):
            last = client.submit(nothing, last, pure=False, workers=[places[step % 2]])
        last.result()

    def travel() -> None:
        there = client.submit(nothing, array, pure=False, workers=[places[1]])
        there.result()

    timed(tasks, 1)
    task, hops, trip = (
        timed(tasks) / count,
        timed(chain) / 40,
        timed(lambda: client.submit(nothing, pure=False).result()),
    )
    moved = []
    for _ in range(5):
        array = client.submit(np.ones, (megabytes * 2**17,), pure=False, workers=[places[0]])
        array.result()
        moved.append(timed(travel, 1))
    bandwidth = megabytes * 2**20 / max(float(np.median(moved)) - trip, 1e-6)
    return {"task": task, "hop": hops, "round trip": trip, "bandwidth": bandwidth}


def touched(rows: float, pairs: float) -> float:
    """How many of ``rows`` rows ``pairs`` pairs name, if they fall on all of them alike: at most that."""
    return rows * -np.expm1(-pairs / rows)


def predicted(
    sizes: tuple[float, float, float], workers: int, threads: int, known: dict[str, float], rank: int = RANK
) -> dict[str, Any]:
    """The parts of a sweep in seconds, the memory of a worker and the tasks; shards are as many as workers."""
    m, n, N = sizes
    share, row, picks, needed = 1 - 1 / workers, rank * BYTES, 0, []
    for rows in (m, n):  # rows a worker needs of the other side, or all of them where picking does not pay
        named = touched(rows, N / workers)
        saved = (rows - named) / workers * row
        pick = named <= MOST_PICKED * rows and saved >= PICK_BYTES * workers
        picks += workers**2 if pick else 0
        needed.append(named if pick else rows)
    tasks = 7 * workers + 1 + picks
    received = row * sum(needed) * share
    parts = {
        "compute": (known["pair"] * N + known["row"] * (m + n)) * (rank / RANK) / (workers * threads),
        "network": received / known["bandwidth"],
        "latency": HOPS * known["hop"] + known["round trip"],
        "scheduler": tasks * known["task"],
    }
    memory = 2 * BYTES * N / workers + 6 * row * (m + n) / workers + 2 * row * max(needed) * share
    return {**parts, "seconds": sum(parts.values()), "tasks": tasks, "memory": memory}


def report(record: dict[str, Any]) -> str:
    """The tables of the page."""
    known, lines, rank = record["known"], [], record["rank"]
    far = {**known, "bandwidth": min(known["bandwidth"], NETWORK)}
    lines.append("| | measured here |\n|---|---|")
    lines.append(f"| a stored pair, rank 64, one thread | {1e9 * known['pair']:.0f} ns |")
    lines.append(f"| a row of either side, rank 64, one thread | {1e6 * known['row']:.2f} µs |")
    lines.append(f"| bytes from worker to worker | {known['bandwidth'] / 1e9:.2f} GB/s |")
    lines.append(f"| a hop from task to task | {1e3 * known['hop']:.1f} ms |")
    lines.append(f"| a round trip of the client | {1e3 * known['round trip']:.1f} ms |")
    lines.append(f"| a task of the scheduler's time | {1e3 * known['task']:.2f} ms |\n")
    lines.append("| pairs | users × items | two workers, measured | the model |\n|---|---|---|---|")
    for row in record["checked"]:
        m, n, N = row["sizes"]
        model = predicted((m, n, N), 2, 1, known, rank)["seconds"]
        lines.append(f"| {N / 1e6:.1f} M | {m:,} × {n:,} | {row['measured']:.3f} s | {model:.3f} s |")
    lines.append(
        "\n| pairs | users × items | workers | seconds a sweep | compute | network | scheduler | tasks | memory |"
    )
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for (m, n, N), workers in product(ASKED, WORKERS):
        found = predicted((m, n, N), workers, THREADS, far)
        shown = " | ".join(f"{found[name]:,.1f}" for name in ("seconds", "compute", "network", "scheduler"))
        shape = f"10{exponent(N)} | 10{exponent(m)} × 10{exponent(n)}"
        rest = f"{found['tasks']:,} | {found['memory'] / 2**30:,.0f} GiB"
        lines.append(f"| {shape} | {workers:,} | {shown} | {rest} |")
    return "\n".join(lines) + "\n"


def exponent(number: float) -> str:
    return str(round(np.log10(number))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="only write the page's tables from predict.json")
    parser.add_argument("--sweeps", type=int, default=9)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--share", type=float, default=1.0, help="of the sizes that are measured")
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--tasks", type=int, default=2000)
    options = parse(parser, RESULTS, sweeps=4, rank=4, share=0.002, megabytes=1, tasks=20)
    path = options.results / "predict.json"
    if not options.report:
        path.write_text(json.dumps(measure(options), indent=1) + "\n")
    made = report(json.loads(path.read_text()))
    print(made)
    if options.report and not options.smoke:
        before, _, rest = PAGE.read_text().partition("<!-- made by benchmarks/predict.py --report -->\n")
        after = rest.partition("<!-- end of predict.py -->")[2]
        marks = "<!-- made by benchmarks/predict.py --report -->\n\n", "\n<!-- end of predict.py -->"
        PAGE.write_text(before + marks[0] + made + marks[1] + after)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Everything that the page shows."""
    from distributed import Client, LocalCluster

    def scaled(sizes: tuple[float, float, float]) -> tuple[int, int, int]:
        return (
            max(64, int(sizes[0] * options.share)),
            max(48, int(sizes[1] * options.share)),
            int(sizes[2] * options.share),
        )

    rows, seconds, fitted = [], [], []
    for sizes in map(scaled, FITTED):
        matrix = generate(*sizes)
        taken = seconds_a_sweep(matrix, options.sweeps, options.rank)
        rows.append([matrix.nnz, sizes[0] + sizes[1]])
        seconds.append(taken)
        fitted.append({"sizes": [*sizes[:2], int(matrix.nnz)], "seconds": taken})
    weights = 1 / np.array(seconds)  # relative errors
    (pair, row), _ = nnls(np.array(rows, float) * weights[:, None], np.ones(len(rows)))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as local,
        Client(local) as client,
    ):
        known = {"pair": pair, "row": row, **measured_cluster(client, options.megabytes, options.tasks)}
        checked = []
        for sizes in map(scaled, CHECKED):
            matrix = generate(*sizes)
            found = (*sizes[:2], int(matrix.nnz))
            taken = seconds_a_sweep(matrix, options.sweeps, options.rank, client=client)
            checked.append({"sizes": found, "measured": taken})
    return {"machine": machine(), "rank": options.rank, "fitted": fitted, "known": known, "checked": checked}


if __name__ == "__main__":
    main()
