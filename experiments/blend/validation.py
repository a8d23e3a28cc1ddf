"""Choices behind the defaults of Blend, on validation entries alone: rank, degree weights, ridge, neighbours, weights.

    python experiments/blend/validation.py [--data ml1m …] [--smoke]

A tenth of the *training* entries is held out (yelp2018: of the published training set); test data is never read. For
every rank and every γ of the weights c_ij ∝ (d_i d_j)^−γ of stored pairs, and for every variant of ItemItem, weights of
the blend are searched over a grid. Writes results/validation_<data>.json; report.py turns these into tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import split

from everypair import ItemItem, OneClassMF
from everypair.data import load_debian, split_entries
from everypair.models.recommend.blend import scaled
from everypair.models.recommend.blend_weights import search_weights
from everypair.models.recommend.defaults import auto_rank

RESULTS = Path(__file__).parent / "results"
DATA = ("ml100k", "lastfm_hetrec", "citeulike_t", "debian", "ml1m", "filmtrust", "ciaodvd", "yelp2018")
FACTORS = [{"rank": rank, "gamma": gamma} for rank in (32, 64, 128, 256) for gamma in (0.0, 0.25)]
ITEMS: list[dict[str, Any]] = [
    {}, {"neighbors": 50}, {"neighbors": 100}, {"reg": 10.0}, {"reg": 100.0}, {"reg_scale": 0.5}, {"reg_scale": 2.0},
    {"user_exponent": 0.0}, {"user_exponent": 1.0}, {"negative_weight": 0.3},
]  # fmt: skip
LARGE = {"yelp2018": ([{"rank": 64, "gamma": 0.0}, {"rank": 128, "gamma": 0.0}, {"rank": 256, "gamma": 0.0},
                       {"rank": 256, "gamma": 0.25}], [{}, {"neighbors": 100}, {"reg": 10.0}])}  # fmt: skip


def weighted(matrix: Any, gamma: float) -> Any:
    """Weights (d_i d_j)^−γ of mean 1 on the stored pairs of a matrix of ones."""
    coo = sp.coo_array(matrix)
    rows, columns = np.bincount(coo.row, minlength=coo.shape[0]), np.bincount(coo.col, minlength=coo.shape[1])
    weights = (rows[coo.row].astype(float) * columns[coo.col]) ** -gamma
    return sp.csr_array((weights / weights.mean(), (coo.row, coo.col)), shape=coo.shape)


def search(models: list[Any], zeros: list[float], train: Any, validation: Any) -> list[dict[str, Any]]:
    def scale_parts(users: Any) -> list[Any]:
        return [scaled(model.score_users(users), zero, 2) for model, zero in zip(models, zeros)]

    return search_weights(scale_parts, train, validation, (1.0, 0.3), 0, 2)[1]


def study(name: str, train: Any, factors: list[dict[str, Any]], items: list[dict[str, Any]]) -> dict[str, Any]:
    train, validation = split_entries(train, 0.1, random_state=100)
    points = []

    def add(model: OneClassMF, about: dict[str, Any], regression: ItemItem, changed: dict[str, Any]) -> None:
        table = search([model, regression], [-1.0, 0.0], train, validation)
        points.extend({**about, "items": changed, **row} for row in table)
        best = max(table, key=lambda row: row["ndcg@10"])
        fixed = table[0]["ndcg@10"]
        print(name, about, changed, f"fixed {fixed:.4f}, best {best['ndcg@10']:.4f} at {best['weights']}", flush=True)

    regression = ItemItem().fit(train)
    default = None
    for about in factors:
        start = time.process_time()
        model = OneClassMF(rank=about["rank"], random_state=0).fit(weighted(train, about["gamma"]))
        seconds = time.process_time() - start
        add(model, {**about, "cpu": seconds}, regression, {})
        if about["rank"] == auto_rank(train) and about["gamma"] == 0:
            default = (model, {**about, "cpu": seconds})
    if default is not None:
        for changed in items[1:]:
            add(*default, ItemItem(**changed).fit(train), changed)
    return {"data": name, "shape": train.shape, "positives": int(train.nnz), "auto_rank": auto_rank(train),
            "points": points}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    for name in ["debian"] if options.smoke else options.data:
        if options.smoke:
            record = study(name, load_debian().depends[:1500], FACTORS[:3], ITEMS[:2])
        else:
            record = study(name, split(name)[0], *LARGE.get(name, (FACTORS, ITEMS)))
        if not (options.smoke and options.results == RESULTS):
            options.results.mkdir(exist_ok=True)
            (options.results / f"validation_{name}.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
