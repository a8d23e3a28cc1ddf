"""What a Dask cluster costs: seconds a sweep and bytes that travel, beside one process with as many threads.

    python benchmarks/cluster.py [--pairs 4500000] [--workers 2] [--rounds 3]
    python benchmarks/cluster.py --pairs 20000000 --users 250000 --items 25000 --rounds 1 --name cluster_larger
    python benchmarks/cluster.py --folder /tmp/events --pairs 51000000 --users 480189 --items 17770 --memory 2.5GB

Worker processes have one thread each and talk over sockets of this machine. Both fits start from the same seed, run
alternately after one of each that does not count, and must end with the same factors. Bytes are what the workers say
they have sent, against the formula ``bytes_per_sweep`` in ``distribute/solving/solver.py``. With ``--folder`` the pairs
are written there as Parquet first and read by the workers, which are limited to ``--memory`` each; one process is then
left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from generate import generate
from generate_large import read_large, write_large
from machine import machine

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

from everypair import OneClassMF

RESULTS = Path(__file__).parent / "results"
ROWS_PER_FILE = 4_000_000


def sent(client: Any) -> int:
    """Bytes that all workers have sent to each other so far."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def sweeps(model: Any) -> list[float]:
    return [round(float(one), 4) for one in np.diff([entry["seconds"] for entry in model.history_])]


def overhead(client: Any, matrix: Any, options: Any) -> dict[str, Any]:
    """Alternate fits here and there."""
    from everypair.distribute import Cluster
    from everypair.distribute.solving.sides import bytes_per_sweep

    parameters = {"rank": options.rank, "max_iter": options.sweeps, "tol": 0.0, "random_state": 0}
    rounds: dict[str, Any] = {"here": [], "there": [], "bytes": []}
    OneClassMF(**parameters, n_threads=options.workers).fit(matrix)
    OneClassMF(**parameters).fit(matrix, client=Cluster(client, shards=options.shards))
    for _ in range(options.rounds):
        here = OneClassMF(**parameters, n_threads=options.workers).fit(matrix)
        marks: list[int] = []

        def mark(sweep: Any, marks: list[int] = marks) -> None:
            marks.append(sent(client))

        cluster = Cluster(client, shards=options.shards, gather=False)
        there = OneClassMF(**parameters).fit(matrix, client=cluster, callbacks=[mark])
        sides = there.state_.sides
        there.gather()
        assert np.array_equal(here.user_factors_, there.user_factors_), "other bits"
        rounds["here"] += sweeps(here)
        rounds["there"] += sweeps(there)
        rounds["bytes"] += np.diff(marks).tolist()
        columns = there.user_factors_.shape[1]
        rounds["formula"] = bytes_per_sweep(sides, columns, there.user_factors_.itemsize)
    return rounds


def from_files(client: Any, matrix: Any, options: Any) -> dict[str, Any]:
    """Write events as Parquet, then train from them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from everypair.distribute import Cluster

    options.folder.mkdir(parents=True, exist_ok=True)
    coo = matrix.tocoo()
    for number, start in enumerate(range(0, coo.nnz, ROWS_PER_FILE)):
        part = slice(start, start + ROWS_PER_FILE)
        table = pa.table({"user": coo.row[part], "item": coo.col[part]})
        pq.write_table(table, options.folder / f"part-{number:04d}.parquet")
    del coo
    began = time.perf_counter()
    model = OneClassMF(rank=options.rank, max_iter=options.sweeps, tol=0.0, random_state=0)
    model.fit(options.folder, client=Cluster(client, shards=options.shards, gather=False))
    peaks = client.run(lambda: __import__("resource").getrusage(__import__("resource").RUSAGE_SELF).ru_maxrss / 1024)
    history = model.history_
    return {
        "seconds in all": round(time.perf_counter() - began, 1),
        "there": [round(float(one), 3) for one in np.diff([entry["seconds"] for entry in history])],
        "peak MB of a worker": [round(peak) for peak in peaks.values()],
        "objective": history[-1]["objective"],
    }


def main() -> None:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=69_878)
    parser.add_argument("--items", type=int, default=10_677)
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shards", type=int, help="of either side; by the data if not given")
    parser.add_argument("--sweeps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", default="0", help="limit of a worker, such as 2.5GB")
    parser.add_argument("--name", help="of the result file")
    parser.add_argument("--folder", type=Path, help="write Parquet files there and train from them")
    options = parse(parser, RESULTS, users=5000, items=3000, pairs=20_000, rank=4, rounds=1, sweeps=4, shards=2)
    if options.folder is None or options.smoke:
        matrix = generate(options.users, options.items, options.pairs)
    else:
        write_large(options.folder / "csr", options.users, options.items, options.pairs)
        matrix = read_large(options.folder / "csr")
    record = {
        "machine": machine(), "pairs": int(matrix.nnz), "users": options.users, "items": options.items,
        "rank": options.rank, "workers": options.workers, "memory limit": options.memory,
    }  # fmt: skip
    with (
        LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=":0", memory_limit=options.memory
        ) as local,
        Client(local) as client,
    ):
        measured = overhead(client, matrix, options) if options.folder is None else from_files(client, matrix, options)
    name = options.name or ("cluster" if options.folder is None else "cluster_files")
    (options.results / f"{name}.json").write_text(json.dumps({**record, **measured}, indent=1) + "\n")
    there = float(np.median(measured["there"]))
    if options.folder is not None:
        print({key: value for key, value in measured.items() if key != "there"}, f"{there:.2f} s a sweep")
        return
    here = float(np.median(measured["here"]))
    moved = float(np.median(measured["bytes"]))
    means = float(np.mean(measured["there"]) / np.mean(measured["here"]))
    print(f"one process, {options.workers} threads: {here:.3f} s a sweep; {options.workers} workers: {there:.3f} s, "
          f"{there / here:.2f} times as long ({means:.2f} by means); the same bits")  # fmt: skip
    print(f"bytes sent in a sweep: {moved / 1e6:.2f} MB, formula {measured['formula'] / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
