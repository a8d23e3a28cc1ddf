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
from everypair.metrics.patterns import positive_pattern, stored_pattern
from everypair.metrics.per_row import ndcg
from everypair.metrics.ranking import Ranker
from everypair.models.recommend.defaults import auto_rank

RESULTS = Path(__file__).parent / "results"
DATA = (
    "filmtrust", "ciaodvd", "flixster_monti", "douban_monti", "ml100k", "lastfm_hetrec", "citeulike_t", "debian",
    "ml1m", "yelp2018",
)  # fmt: skip
RANKS, DEFAULT, BLOCK, MOST_USERS = (64, 16, 32, 128, 256), 64, 512, 10_000


def per_user(model: OneClassMF, train: Any, validation: Any) -> Any:
    """nDCG@10 of at most 10,000 users who have something held out."""
    users = np.flatnonzero(np.diff(positive_pattern(validation, "validation").indptr))
    if len(users) > MOST_USERS:
        users = np.sort(np.random.default_rng(0).choice(users, MOST_USERS, replace=False))
    ranker = Ranker(stored_pattern(train, "train")[users], positive_pattern(validation, "validation")[users], top=0)
    for start in range(0, len(users), BLOCK):
        block = users[start : start + BLOCK]
        ranker.add(np.arange(start, start + len(block)), model.score_users(block), 2)
    return ndcg(ranker.ranking, 10)


def study(name: str, train: Any, ranks: tuple[int, ...], path: Path | None) -> None:
    train, validation = split_entries(train, 0.1, random_state=100)
    record: dict[str, Any] = {
        "data": name, "shape": train.shape, "positives": int(train.nnz), "auto_rank": auto_rank(train), "ranks": {},
    }  # fmt: skip
    if path is not None and path.exists():
        record = json.loads(path.read_text())
    missing = [rank for rank in ranks if str(rank) not in record["ranks"] and rank <= max(train.shape)]
    reference = None
    for rank in dict.fromkeys((DEFAULT, *missing) if missing else ()):
        start = time.process_time()
        model = OneClassMF(rank=rank, random_state=0).fit(train)
        seconds = time.process_time() - start
        values = per_user(model, train, validation)
        reference = values if reference is None else reference
        gains = values - reference
        record["ranks"][str(rank)] = {
            "ndcg@10": float(values.mean()),
            "gain": float(gains.mean()),
            "gain_standard_error": float(gains.std(ddof=1) / np.sqrt(len(gains))),
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
