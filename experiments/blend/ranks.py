"""The rank of OneClassMF by validation alone: nDCG@10 on a held-out tenth of the training entries, user by user.

    python experiments/blend/ranks.py [--data ml1m …] [--smoke]

Everything but the rank is default; test data is never read. Writes results/ranks_<data>.json after every fit (what is
there is not run again): nDCG@10, its gain over rank 64 with the standard error over users, and the CPU seconds of
training. report.py makes the table, with what 64, ``rank="auto"`` and the best cost.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import split

from everypair import OneClassMF
from everypair.data import load_debian, split_entries
from everypair.metrics import HeldOut
from everypair.metrics.per_row import average_rows, rows_error
from everypair.models.recommend.defaults import auto_rank

RESULTS = Path(__file__).parent / "results"
DATA = (
    "filmtrust", "ciaodvd", "flixster_monti", "douban_monti", "ml100k", "lastfm_hetrec", "citeulike_t", "debian",
    "ml1m", "yelp2018",
)  # fmt: skip
RANKS, DEFAULT = (64, 16, 32, 128, 256), 64


def study(name: str, train: Any, ranks: tuple[int, ...], path: Path | None) -> None:
    train, validation = split_entries(train, 0.1, random_state=100)
    record: dict[str, Any] = {
        "data": name, "shape": train.shape, "positives": int(train.nnz), "auto_rank": auto_rank(train), "ranks": {},
    }  # fmt: skip
    if path is not None and path.exists():
        record = json.loads(path.read_text())
    missing = [rank for rank in ranks if str(rank) not in record["ranks"] and rank <= max(train.shape)]
    held_out = HeldOut(train, validation, n_threads=2)
    reference = None
    for rank in dict.fromkeys((DEFAULT, *missing) if missing else ()):
        start = time.process_time()
        model = OneClassMF(rank=rank, random_state=0).fit(train)
        seconds = time.process_time() - start
        values = held_out.values("ndcg@10", model.score_users)
        reference = values if reference is None else reference
        gains = values - reference
        record["ranks"][str(rank)] = {
            "ndcg@10": average_rows(values),
            "gain": average_rows(gains),
            "gain_standard_error": rows_error(gains),
            "cpu": seconds,
        }
        print(name, rank, {key: round(value, 5) for key, value in record["ranks"][str(rank)].items()}, flush=True)
        if path is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(record, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    for name in ["debian"] if options.smoke else options.data:
        path = None if options.smoke and options.results == RESULTS else options.results / f"ranks_{name}.json"
        OneClassMF(rank=4, max_iter=1).fit(np.eye(8))  # compile
        if options.smoke:
            study(name, load_debian().depends[:1500], (64, 16), path)
        else:
            study(name, split(name)[0], RANKS[:1] + RANKS[3:] if name == "yelp2018" else RANKS, path)


if __name__ == "__main__":
    main()
