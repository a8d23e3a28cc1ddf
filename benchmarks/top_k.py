"""Top-n for every user without the items seen: everypair.retrieve.top_k against implicit, same factors.

Both run alternately in one process, so that whatever else the machine does hits both; medians are printed.
Without implicit only our own times are shown. Run with
``python benchmarks/top_k.py [--users M] [--items N] [--rank K] [--n 10] [--threads 2]``.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from smoke import parse

from everypair.retrieve import top_k


def random_factors(users, items, rank, seed):
    rng = np.random.default_rng(seed)
    draw = lambda rows: rng.standard_normal((rows, rank), dtype=np.float32)  # noqa: E731
    return draw(users), draw(items)


def random_seen(users, items, mean, seed):
    """Power laws on both sides: a few users with very many items, a few items seen by very many."""
    rng = np.random.default_rng(seed)
    activity = rng.pareto(1.5, size=users) + 0.2
    counts = np.clip(activity / activity.mean() * mean, 1, items // 4).astype(np.int64)
    popularity = 1.0 / np.arange(1, items + 1) ** 0.7
    drawn = rng.choice(items, size=counts.sum(), p=popularity / popularity.sum())
    rows = np.repeat(np.arange(users), counts)
    seen = sp.csr_matrix((np.ones(len(drawn), dtype=np.float32), (rows, drawn)), shape=(users, items))
    seen.sum_duplicates()
    seen.data[:] = 1
    return seen


def timed(call):
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def check_same(ours, theirs, left, right):
    """The lists agree, or differ only where the scores are equal up to rounding."""
    differ = np.flatnonzero((ours[0] != theirs[0]).any(axis=1))
    for row in differ:
        exact = lambda items: left[row].astype(float) @ right[items].astype(float).T  # noqa: B023, E731
        np.testing.assert_allclose(exact(ours[0][row]), exact(theirs[0][row]), rtol=1e-5, atol=1e-5)
    return len(differ)


def implicit_call(left, right, seen, args):
    """The same lists by implicit's own top-k."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from implicit.cpu.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(factors=args.rank, num_threads=args.threads)
    model.user_factors, model.item_factors = left, right
    everyone = np.arange(args.users)

    def call():
        with threadpool_limits(1, "blas"):  # several times faster for it too: it runs its own threads
            return model.recommend(everyone, seen, N=args.n, filter_already_liked_items=True)

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=69_878)
    parser.add_argument("--items", type=int, default=10_677)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--seen", type=float, default=64, help="mean number of seen items per user")
    parser.add_argument("--n", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parse(parser, users=90, items=70, rank=4, seen=8, rounds=1)
    left, right = random_factors(args.users, args.items, args.rank, seed=0)
    seen = random_seen(args.users, args.items, args.seen, seed=1)

    def ours():
        return top_k(left, right, args.n, exclude=seen, n_threads=args.threads)

    calls = {"everypair": ours}
    if importlib.util.find_spec("implicit") is None:
        print("implicit is not installed: it is left out (pip install everypair[bench]).")
    else:
        calls["implicit"] = implicit_call(left, right, seen, args)
    top_k(left[:300], right, args.n, exclude=seen[:300], n_threads=args.threads)  # compiles
    seconds, lists = {name: [] for name in calls}, {}
    for _ in range(args.rounds):
        for name, call in calls.items():
            lists[name], *spent = timed(call)
            seconds[name].append(spent)
    print(f"{args.users} users × {args.items} items, rank {args.rank}, top {args.n}, {args.threads} threads,")
    print(f"{seen.nnz / args.users:.0f} seen items each")
    print(f"{'':12}{'wall s':>9}{'CPU s':>9}")
    medians = {name: np.median(runs, axis=0) for name, runs in seconds.items()}
    for name, (wall, cpu) in medians.items():
        print(f"{name:12}{wall:9.2f}{cpu:9.2f}")
    if "implicit" in calls:
        ties = check_same(lists["everypair"], lists["implicit"], left, right)
        wall, cpu = medians["everypair"] / medians["implicit"]
        print(f"{'ratio':12}{wall:9.2f}{cpu:9.2f}   (below 1: everypair is faster)")
        print(f"lists that differ, only within ties: {ties}")


if __name__ == "__main__":
    main()
