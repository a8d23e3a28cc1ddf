"""What a start from last night's model saves: sweeps and CPU seconds of ``fit(tonight, start=last_night)``.

    python benchmarks/nights.py             # measure, write benchmarks/results/nights.json
    python benchmarks/nights.py --report    # write the table of docs/production.md from it

A tenth of the likes is held out by chance. Last night's log is the rest without its new events: the latest ones where
the data have times, others by chance. Users and items that only new events have are new tonight. ``OneClassMF()`` with
its defaults is fitted to last night's log, then to all of it twice, from nothing and from last night's model; the mean
of the seeds. Nothing is chosen.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine
from page import filled
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
import datasets
from smoke import parse

from everypair import OneClassMF
from everypair.data import Events, read_events, split_entries
from everypair.evaluate import ranking_metrics

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "production.md"
DATA = ("ml100k", "lastfm_hetrec", "citeulike_t", "ml1m")
GOAL = 1e-3  # how near to the better of two objectives a fit must be


def log(name: str) -> Events:
    """The likes of a data set, with times where it has them."""
    if name == "ml100k" and "timestamp" in (archive := datasets.read(name)):
        liked = archive["rating"] >= 4
        columns = {"user": archive["user"][liked], "item": archive["item"][liked], "time": archive["timestamp"][liked]}
        return read_events(columns, verbose=False)
    matrix = datasets.positives(name)
    users, items = matrix.nonzero()
    return read_events({"user": users, "item": items}, verbose=False)


def before(events: Events, share: float, seed: int) -> Events:
    """The log without its newest events: a share of them, by time or by chance."""
    users, items = events.matrix.nonzero()
    order = (
        np.random.default_rng(seed).permutation(len(users))
        if events.times is None
        else np.argsort(events.times.data, kind="stable")
    )
    kept = order[: round((1 - share) * len(order))]
    return read_events(
        {"user": events.user_ids.values[users[kept]], "item": events.item_ids.values[items[kept]]}, verbose=False
    )


def fitted(events: Events, test: Any, seed: int, rank: int, start: Any = None) -> dict[str, Any]:
    """One fit: its sweeps, CPU seconds, objectives, and nDCG@10 of what was held out."""
    begin = time.process_time()
    model = OneClassMF(rank=rank, random_state=seed, n_threads=1).fit(events, start=start)
    seconds = time.process_time() - begin
    ndcg = ranking_metrics(model, events, test, (10,))["ndcg@10"]
    objective = [sweep["objective"] for sweep in model.history_]
    return {"model": model, "sweeps": model.n_iter_, "seconds": seconds, "objective": objective, "ndcg@10": ndcg}


def night(name: str, share: float, seed: int, rank: int) -> dict[str, Any]:
    """Tonight from nothing and from last night's model, on one data set."""
    tonight, test = split_entries(log(name), 0.1, random_state=seed)
    earlier = before(tonight, share, seed)
    last = OneClassMF(rank=rank, random_state=seed, n_threads=1).fit(earlier)
    runs = {"cold": fitted(tonight, test, seed, rank), "warm": fitted(tonight, test, seed, rank, last)}
    goal = (1 + GOAL) * min(run["objective"][-1] for run in runs.values())
    row: dict[str, Any] = {
        "events": int(tonight.matrix.nnz),
        "new events": int(tonight.matrix.nnz - earlier.matrix.nnz),
    }
    for kind, side in (("users", 0), ("items", 1)):
        row[f"new {kind}"] = tonight.matrix.shape[side] - earlier.matrix.shape[side]
    for start, run in runs.items():
        near = [sweep for sweep, value in enumerate(run["objective"], 1) if value <= goal]
        row[start] = {"sweeps": run["sweeps"], "near": near[0] if near else None, "seconds": run["seconds"]}
        row[start] |= {"objective": run["objective"][-1], "ndcg@10": run["ndcg@10"]}
    return row


def lines(record: dict[str, Any]) -> list[str]:
    """A row for each data set and share of new events, means over the seeds."""
    table = [
        "| data | likes | new tonight: likes, users, items | sweeps | CPU s | sweeps to 0.1 % | nDCG@10 × 100 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, shares in record["rows"].items():
        for share, nights in shares.items():
            mean = {kind: np.mean([night[f"new {kind}"] for night in nights]) for kind in ("events", "users", "items")}
            new = f"{float(share):.0%}, {mean['users']:,.0f}, {mean['items']:,.0f}"
            cells = " | ".join(cell(nights, key) for key in ("sweeps", "seconds", "near", "ndcg@10"))
            table.append(f"| {name} | {nights[0]['events']:,} | {new} | {cells} |")
    here = record["machine"]
    table.append(
        f"\nFrom nothing → from last night's model: rank {record['rank']}, one thread of {here['processor']} "
        f"({here['cores']} cores, shared), means of {record['seeds']} seeds. "
        '"To 0.1 %" counts sweeps until the objective is that near to the lower of both.'
    )
    return table


def cell(nights: list[dict[str, Any]], key: str) -> str:
    """Means from nothing and from last night's model; a dash where a fit did not come so near."""
    shown = {"seconds": "{:.2f}", "ndcg@10": "{:.2%}"}.get(key, "{:.1f}")
    found = [[night[start][key] for night in nights] for start in ("cold", "warm")]
    return " → ".join("–" if None in values else shown.format(np.mean(values)).rstrip("%") for values in found)


def written(text: str, record: dict[str, Any]) -> str:
    """The page with its table made anew."""
    return filled(text, "nights.py", lines(record))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="only write the page's table from nights.json")
    parser.add_argument("--data", nargs="+", default=list(DATA), help="the rows of other data sets stay as they are")
    parser.add_argument("--shares", nargs="+", type=float, default=[0.01, 0.05], help="shares of new events")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rank", type=int, default=64)
    options = parse(parser, RESULTS, data=["ml100k", "filmtrust"], seeds=2, rank=4)
    path = options.results / "nights.json"
    record = json.loads(path.read_text()) if path.exists() else {"rows": {}}
    if not options.report:
        record |= {"machine": machine(), "rank": options.rank, "seeds": options.seeds}
        with threadpool_limits(1, "blas"):
            for name in options.data:
                record["rows"][name] = {
                    str(share): [night(name, share, seed, options.rank) for seed in range(options.seeds)]
                    for share in options.shares
                }
                record["rows"] = {
                    name: record["rows"][name] for name in (*DATA, *options.data) if name in record["rows"]
                }
                path.write_text(json.dumps(record, indent=1) + "\n")
    print("\n".join(lines(record)))
    if options.report and not options.smoke:
        PAGE.write_text(written(PAGE.read_text(), record))


if __name__ == "__main__":
    main()
