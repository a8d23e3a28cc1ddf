"""Lists for everybody: ``everypair recommend --all`` from a model file into Parquet, its time and its peak of memory.

A model of ``--users`` × ``--items`` (a million and 100,000) is fitted for one sweep on generated pairs and saved with
its ids. Then the command runs in processes of its own: for one user, which takes what the model and the libraries take,
and for all of them with two bounds of memory. Run with ``python benchmarks/everybody.py [--users M] [--items N]``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

from everypair import OneClassMF
from everypair.data import Events, Ids


def generated(users, items, each, seed):
    """Events of ``each`` items per user, drawn with popular ones first, and ids that are strings."""
    random = np.random.default_rng(seed)
    drawn = (items * random.random(users * each) ** 3).astype(np.int64)
    drawn[:items] = np.arange(items)  # every item has an event
    rows = np.repeat(np.arange(users), each)
    matrix = sp.csr_array((np.ones(len(drawn), np.float32), (rows, drawn)), shape=(users, items))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return Events(matrix, Ids([f"user {i}" for i in range(users)]), Ids([f"item {j}" for j in range(items)]), None, 0)


def command(*arguments):
    """Run ``everypair`` in a process of its own; wall and CPU seconds, peak of memory in MiB, lines of progress."""
    begin = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "everypair", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        told = process.stderr.read().splitlines()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("\n".join(told))
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**10, told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--each", type=int, default=10, help="items of a user")
    parser.add_argument("--n", type=int, default=10)
    parser.add_argument("--memory-mb", type=float, nargs="+", default=[16.0, 256.0])
    args = parse(parser, users=300, items=60, rank=2, each=4)
    with tempfile.TemporaryDirectory() as folder:
        model, lists = Path(folder, "model.ep"), Path(folder, "lists.parquet")
        events = generated(args.users, args.items, args.each, seed=0)
        OneClassMF(rank=args.rank, max_iter=1, random_state=0).fit(events).save(model, serve_only=True)
        size = model.stat().st_size / 2**20
        print(f"{args.users:,} users × {args.items:,} items, rank {args.rank}, top {args.n}; model file {size:.0f} MiB")
        print(f"{'':28}{'wall s':>9}{'CPU s':>9}{'peak MiB':>10}{'file MiB':>10}  lines of progress")
        wall, cpu, peak, _ = command("recommend", model, "--user", "user 0", "-n", args.n)
        print(f"{'one user':28}{wall:9.1f}{cpu:9.1f}{peak:10.0f}")
        for bound in args.memory_mb:
            call = ("recommend", model, "--all", "-n", args.n, "-o", lists, "--memory-mb", bound)
            wall, cpu, peak, told = command(*call)
            written = lists.stat().st_size / 2**20
            lines = sum(" users after " in line for line in told)
            print(f"{f'all, --memory-mb {bound:g}':28}{wall:9.1f}{cpu:9.1f}{peak:10.0f}{written:10.0f}  {lines}")
            print(f"  {told[-2] if lines else told[-1]}")


if __name__ == "__main__":
    main()
