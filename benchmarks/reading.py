"""A large log: ``read_events`` on a CSV file of ten million events, its time and its peak of memory.

The file is generated (``--events`` of ``--users`` and ``--items``, ids that are strings, ratings and times) and read in
a process of its own, once to be compiled and once to be measured. Run with ``python benchmarks/reading.py``.
"""

from __future__ import annotations

import argparse
import json
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
from everypair.data import read_events
from pathlib import Path
small = Path(sys.argv[1]).with_name("small.csv")
read_events(small, weight="rating", verbose=False)  # compiled
wall, cpu = time.perf_counter(), time.process_time()
events = read_events(sys.argv[1], weight="rating", verbose=False)
print(json.dumps({
    "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "shape": events.matrix.shape,
    "pairs": events.matrix.nnz, "joined": events.duplicates,
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--users", type=int, default=500_000)
    parser.add_argument("--items", type=int, default=100_000)
    args = parse(parser, events=2000, users=50, items=40)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.csv")
        write(path, args.events, args.users, args.items, seed=0)
        write(Path(folder, "small.csv"), 1000, 50, 50, seed=1)
        told = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
        size = path.stat().st_size / 2**20
    found = json.loads(told.stdout)
    users, items = found["shape"]
    print(f"{args.events:,} events, {size:.0f} MiB of CSV → {users:,} × {items:,}, {found['pairs']:,} pairs,")
    print(f"{found['joined']:,} joined: {found['wall']:.1f} s, {found['cpu']:.1f} CPU s, peak {found['peak']:.0f} MiB")


if __name__ == "__main__":
    main()
