"""A large log: ``read_events`` on files of five million events, beside pyarrow alone with the same join.

The log is generated (``--events`` of ``--users`` and ``--items``, ids that are strings, ratings and times) and written
as CSV, gzip, JSON lines and Parquet. Every file is read in a process of its own, after a small one; ``--repeats`` of
each take turns, and the least processor time counts. "pyarrow alone" reads the CSV file, numbers the ids as they
appear and joins events of a pair: without ids in ascending order, missing values, names, faults. Run with
``python benchmarks/reading.py``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

ROWS_AT_ONCE = 500_000
READ = """
import json, resource, sys, time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from everypair.data import read_events
from everypair.data.event_pairs import EventRows, join_events


def alone(path):
    types = {"user": pa.string(), "item": pa.string(), "rating": pa.float64(), "time": pa.int64()}
    table = csv.open_csv(
        path, csv.ReadOptions(block_size=1 << 23), convert_options=csv.ConvertOptions(column_types=types)
    ).read_all()
    codes = []
    for name in ("user", "item"):
        chunks = table[name].dictionary_encode().chunks
        codes.append(np.concatenate([chunk.indices.to_numpy() for chunk in chunks]))
    return join_events(EventRows(*codes, table["rating"].to_numpy(), table["time"].to_numpy()), "sum")


path, bare = sys.argv[1], sys.argv[2] == "bare"
read = alone if bare else lambda path: read_events(path, weight="rating", verbose=False)
read(Path(path).with_name("small-" + Path(path).name))  # imported, and compiled
wall, cpu = time.perf_counter(), time.process_time()
result = read(path)
print(json.dumps({
    "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu,
    "pairs": len(result.rows) if bare else result.matrix.nnz,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
}))
"""


def write(path, events, users, items, seed):
    """A log in no order, popular items more often, times as seconds."""
    random = np.random.default_rng(seed)
    with open(path, "w", encoding="utf-8") as file:
        file.write("user,item,rating,time\n")
        for start in range(0, events, ROWS_AT_ONCE):
            count = min(ROWS_AT_ONCE, events - start)
            user = random.integers(users, size=count)
            item = (items * random.random(count) ** 2).astype(np.int64)
            rating, time = random.integers(1, 6, size=count), random.integers(1_600_000_000, 1_700_000_000, size=count)
            columns = zip(user.tolist(), item.tolist(), rating.tolist(), time.tolist())
            file.write("".join(f"user-{u},item-{i},{r},{t}\n" for u, i, r, t in columns))


def write_others(path):
    """The same log packed, as JSON lines and as Parquet."""
    from pyarrow import csv, parquet

    with open(path, "rb") as plain, gzip.open(f"{path}.gz", "wb", compresslevel=1) as packed:
        shutil.copyfileobj(plain, packed)
    with open(path, encoding="utf-8") as plain, open(path.with_suffix(".jsonl"), "w", encoding="utf-8") as file:
        next(plain)
        for line in plain:
            user, item, rating, time = line.rstrip("\n").split(",")
            file.write(f'{{"user": "{user}", "item": "{item}", "rating": {rating}, "time": {time}}}\n')
    parquet.write_table(csv.read_csv(path), path.with_suffix(".parquet"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--users", type=int, default=500_000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parse(parser, events=2000, users=50, items=40, repeats=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.csv")
        write(path, args.events, args.users, args.items, seed=0)
        write_others(path)
        write(Path(folder, "small-events.csv"), 1000, 50, 50, seed=1)
        write_others(Path(folder, "small-events.csv"))
        runs = {"pyarrow alone": (path, "bare")}
        for ending in ("csv", "csv.gz", "jsonl", "parquet"):
            runs[f"read_events, {ending}"] = path.with_name(f"events.{ending}"), "whole"
        found = {name: [] for name in runs}
        for _ in range(args.repeats):
            for name, (file, what) in runs.items():
                command = [sys.executable, "-c", READ, str(file), what]
                found[name].append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
        sizes = {name: file.stat().st_size / 2**20 for name, (file, _) in runs.items()}
    pairs = found["pyarrow alone"][0]["pairs"]
    print(f"{args.events:,} events of {args.users:,} users and {args.items:,} items, {pairs:,} pairs")
    bare = min(run["cpu"] for run in found["pyarrow alone"])
    print(f"{'':26s}{'MiB':>6s}{'CPU s':>8s}{'beside':>8s}{'wall s':>8s}{'peak MiB':>10s}")
    for name, every in found.items():
        cpu, wall, peak = (min(run[what] for run in every) for what in ("cpu", "wall", "peak"))
        print(f"{name:26s}{sizes[name]:6.0f}{cpu:8.2f}{cpu / bare:8.2f}{wall:8.2f}{peak:10.0f}")


if __name__ == "__main__":
    main()
