"""Choices behind the defaults of Blend, on validation entries alone: rank, degree weights, ridge, neighbours, weights.

    python experiments/blend/validation.py [--data ml1m …] [--smoke]

A tenth of the *training* entries is held out (yelp2018: of the published training set); test data is never read. For
every rank and every γ of the weights c_ij ∝ (d_i d_j)^−γ of stored pairs, and for every variant of ItemItem, weights of
the blend are searched over a grid that holds 0, the factors alone. Writes results/validation_<data>.json after every
fit (points that are there are not run again); report.py turns these into tables.
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
from everypair.models.recommend.blend.scale import scaled
from everypair.models.recommend.blend.weights import search_weights
from everypair.models.recommend.defaults import auto_rank, auto_weighting

RESULTS = Path(__file__).parent / "results"
DATA = ("ml100k", "lastfm_hetrec", "citeulike_t", "debian", "ml1m", "filmtrust", "ciaodvd", "yelp2018")
FACTORS = [{"rank": rank, "gamma": gamma} for rank in (32, 64, 128, 256) for gamma in (0.0, 0.25)]
ITEMS: list[dict[str, Any]] = [
    {}, {"neighbors": 50}, {"neighbors": 100}, {"reg": 10.0}, {"reg": 100.0}, {"reg_scale": 0.5}, {"reg_scale": 2.0},
    {"user_exponent": 0.0}, {"user_exponent": 1.0}, {"negative_weight": 0.3},
]  # fmt: skip
FEWER = {  # factors and variants of ItemItem where a point takes a quarter of a minute or more
    "citeulike_t": (FACTORS, [{}, {"neighbors": 100}, {"reg": 10.0}, {"reg": 100.0}]),
    "debian": (FACTORS, [{}, {"neighbors": 100}, {"reg": 10.0}, {"reg": 100.0}]),
    "yelp2018": ([{"rank": 64, "gamma": 0.0}, {"rank": 128, "gamma": 0.0}, {"rank": 256, "gamma": 0.0},
                  {"rank": 256, "gamma": 0.25}], [{}]),
}  # fmt: skip


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


def study(name: str, train: Any, factors: list[dict[str, Any]], items: list[dict[str, Any]], path: Path | None) -> None:
    train, validation = split_entries(train, 0.1, random_state=100)
    weighting = auto_weighting(train)
    usual = {"rank": auto_rank(train), "gamma": 0.0 if weighting is None else weighting[1]}
    about_data = {"data": name, "shape": train.shape, "positives": int(train.nnz), "auto": usual}
    points = json.loads(path.read_text())["points"] if path is not None and path.exists() else []
    done = {(point["rank"], point["gamma"], json.dumps(point["items"])) for point in points}
    fitted: dict[str, ItemItem] = {}

    def regression(changed: dict[str, Any]) -> ItemItem:
        key = json.dumps(changed)
        if key not in fitted:
            fitted.clear()  # one at a time
            fitted[key] = ItemItem(**changed).fit(train)
        return fitted[key]

    last: tuple[dict[str, Any], Any, float] | None = None  # the factors of the point before: often those of the next
    asked = [(about, {}) for about in factors]
    asked += [(usual, changed) for changed in items[1:]]
    for about, changed in asked:
        if (about["rank"], about["gamma"], json.dumps(changed)) in done:
            continue
        if last is None or last[0] != about:
            start = time.process_time()
            model = OneClassMF(rank=about["rank"], random_state=0).fit(weighted(train, about["gamma"]))
            last = about, model, time.process_time() - start
        table = search([last[1], regression(changed)], [-1.0, 0.0], train, validation)
        points.extend({**about, "cpu": last[2], "items": changed, **row} for row in table)
        best = max(table, key=lambda row: row["ndcg@10"])
        fixed = table[0]["ndcg@10"]
        print(name, about, changed, f"fixed {fixed:.4f}, best {best['ndcg@10']:.4f} at {best['weights']}", flush=True)
        if path is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({**about_data, "points": points}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    for name in ["debian"] if options.smoke else options.data:
        path = None if options.smoke and options.results == RESULTS else options.results / f"validation_{name}.json"
        if options.smoke:
            study(name, load_debian().depends[:1500], FACTORS[:3], ITEMS[:2], path)
        else:
            study(name, split(name)[0], *FEWER.get(name, (FACTORS, ITEMS)), path)


if __name__ == "__main__":
    main()
