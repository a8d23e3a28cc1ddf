"""Quality, time and memory of Blend() with all defaults, beside its parts and OneClassMF(), on held-out data.

    python experiments/blend/quality.py [--data ml1m yelp2018 …] [--seeds 3] [--auto] [--one-split] [--cost] [--smoke]

A seed is that of the models, and of the 9:1 split where the data set has none of its own (yelp2018 is as published).
With --one-split all seeds share the split of seed 0, and quality_one_split_<data>.json is written.
Each data set runs in a process of its own and writes results/quality_<data>.json (with --auto, which finds the weights
on held-out training entries, quality_auto_<data>.json) after every seed; seeds that are there are not run again unless
--anew says so. --cost measures seconds and memory alone, without any metric, and writes cost_<data>.json: for a machine
that is quiet for a minute. report.py turns these into tables. --smoke: a part of the embedded data, one
seed, nothing is written.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import split

from everypair import Blend, OneClassMF
from everypair.data import load_debian, split_entries
from everypair.evaluate import ranking_metrics

RESULTS = Path(__file__).parent / "results"
DATA = ("ml1m", "yelp2018", "citeulike_t", "lastfm_hetrec", "ml100k", "debian")
METRICS = ("ndcg@10", "ndcg@20", "recall@20")


def cpu(work: Any) -> tuple[Any, float]:
    """Return what ``work`` returns, and its CPU seconds over all threads."""
    start = time.process_time()
    return work(), time.process_time() - start


def measured(model: Any, train: Any, test: Any) -> dict[str, float]:
    result = ranking_metrics(model, train, test, ks=(10, 20))
    return {name: result[name] for name in METRICS}


def costs(train: Any, seed: int, auto: bool) -> tuple[Any, dict[str, Any]]:
    """The fitted blend, and CPU seconds of training and of top 10 for all users beside those of its factors."""
    blend, blend_seconds = cpu(lambda: Blend(weights="auto" if auto else None, random_state=seed).fit(train))
    factors = blend.models_[0]
    _, factor_seconds = cpu(lambda: OneClassMF(**factors.get_params()).fit(train))
    return blend, {
        "seed": seed,
        "rank": factors.rank,
        "weights": list(blend.weights_),
        "cpu_blend": blend_seconds,
        "cpu_factors": factor_seconds,
        "cpu_top10_blend": cpu(lambda: blend.recommend(n=10))[1],
        "cpu_top10_factors": cpu(lambda: factors.recommend(n=10))[1],
    }


def one_seed(train: Any, test: Any, seed: int, auto: bool, cost: bool) -> dict[str, Any]:
    """Costs, and without ``cost`` the metrics of the blend, its parts and OneClassMF()."""
    blend, record = costs(train, seed, auto)
    if cost:
        return record
    factors, items = blend.models_
    record |= {
        "blend": measured(blend, train, test),
        "factors": measured(factors, train, test),
        "items": measured(items, train, test),
        "default": measured(OneClassMF(random_state=seed).fit(train), train, test),
    }
    if auto:
        record["search"] = blend.search_
    return record


def study(
    name: str, seeds: int, auto: bool, one_split: bool, path: Path | None, cost: bool = False, smoke: bool = False
) -> None:
    Blend(weights="auto", random_state=0).fit(np.kron(np.eye(3), np.ones((30, 20)))).recommend(n=10)  # compile
    result: dict[str, Any] = {"data": name, "peak_mb": 0.0, "seeds": []}
    if path is not None and path.exists():
        result = json.loads(path.read_text())
    done = {record["seed"] for record in result["seeds"]}
    for seed in sorted(set(range(seeds)) - done):
        number = 0 if one_split else seed
        train, test = split_entries(load_debian().depends[:3000], 0.1, seed) if smoke else split(name, number)
        record = one_seed(train, test, seed, auto, cost)
        print(name, json.dumps({key: value for key, value in record.items() if key != "search"}), flush=True)
        result["seeds"].append(record)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        result |= {"shape": train.shape, "positives": int(train.nnz), "peak_mb": max(result["peak_mb"], peak)}
        if path is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--auto", action="store_true", help="find the weights on held-out entries of the training data")
    parser.add_argument("--one-split", action="store_true", help="the seeds differ in the models alone")
    parser.add_argument("--cost", action="store_true", help="seconds and memory alone")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--anew", action="store_true", help="forget what is there")
    options = parser.parse_args()
    kind = ("auto_" if options.auto else "") + ("one_split_" if options.one_split else "")
    if options.smoke:
        written = options.results != RESULTS
        study("debian", 1, False, False, options.results / "quality_debian.json" if written else None, smoke=True)
        return
    for name in options.data:
        path = options.results / f"{'cost' if options.cost else 'quality'}_{kind}{name}.json"
        if options.anew:
            path.unlink(missing_ok=True)
        process = multiprocessing.get_context("spawn").Process(
            target=study, args=(name, options.seeds, options.auto, options.one_split, path, options.cost)
        )
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
