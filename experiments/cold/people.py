"""Users nobody has seen: one in seven is held out, and all items are ranked for them by their features alone.

    python experiments/cold/people.py [--data debian lastfm_hetrec ml100k ml1m] [--seeds 1 2] [--smoke]

Packages of debian by their words, listeners of lastfm_hetrec by their friends (rows of the graph and of the identity,
so that friends are alike), viewers of ml100k and ml1m by age, gender and occupation. Every row is stored in
results/people_<data>.json as soon as it is measured; report.py makes the table.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import datasets
import smoke
from common import RESULTS, by_rows, cpu, csr, friends, interactions, item_features, keep, read

from everypair import Blend, ContentUsers, OneClassMF, Popularity, Side

DATA = ("debian", "lastfm_hetrec", "ml100k", "ml1m")
MOST, SHARE = 7000, 7


def data_of(name: str) -> tuple[Any, Any]:
    """Users × items, and features of users."""
    if name == "debian":
        return csr(interactions(name).T), item_features(name)
    if name == "lastfm_hetrec":
        return interactions(name), friends(name)
    return interactions(name), csr(datasets.read(name)["user_features"]).toarray()


def models(rank: int, seed: int) -> dict[str, Any]:
    """Unfitted models."""
    return {
        "Popularity()": Popularity(),
        "OneClassMF, cold=weights": OneClassMF(rank=rank, users=Side(cold="weights"), random_state=seed),
        "OneClassMF": OneClassMF(rank=rank, random_state=seed),
        "OneClassMF, cold=kernel": OneClassMF(rank=rank, users=Side(cold="kernel"), random_state=seed),
        "ContentUsers()": ContentUsers(),
        "ContentUsers(reg=auto)": ContentUsers(reg="auto"),
        "Blend()": Blend(random_state=seed),
        "Blend, OneClassMF + ContentUsers(reg=auto)": Blend(
            models=[OneClassMF(rank=rank), ContentUsers(reg="auto")], weights=(1, 1), random_state=seed
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rows", nargs="+", help="these alone")
    options = smoke.parse(parser, RESULTS, data=("lastfm_hetrec",), seeds=[1])
    for name in options.data:
        path = options.results / f"people_{name}.json"
        results = read(path)
        likes, features = data_of(name)
        for seed in options.seeds:
            order = np.random.default_rng(seed).permutation(np.flatnonzero(np.diff(likes.indptr)))[:MOST]
            new, old = np.sort(order[: len(order) // SHARE]), np.sort(order[len(order) // SHARE :])
            train, truth = csr(likes[old]), csr(likes[new])
            rows = results.setdefault(str(seed), {"known": len(old), "new": len(new), "rows": {}})["rows"]
            for row, model in models(min(64, *train.shape), seed).items():
                if row in rows or (options.rows and row not in options.rows):
                    continue
                given = {} if row == "Popularity()" else {"user_features": features[old]}
                fitted, seconds = cpu(partial(model.fit, train, **given))
                if given:
                    scores = fitted.score_users(features=features[new])
                else:
                    scores = fitted.score_users(interactions=csr(np.zeros(truth.shape)))
                rows[row] = {**by_rows(lambda users, scores=scores: scores[users], truth), "cpu": seconds}
                keep(path, results)
                print(name, seed, row, rows[row], flush=True)


if __name__ == "__main__":
    main()
