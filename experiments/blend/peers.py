"""Beside other recommenders, with the same number of trials for each: tuned on validation entries, tested once.

    python experiments/blend/peers.py [--data ml1m citeulike_t yelp2018] [--methods …] [--smoke]

A tenth of the training entries is held out; each method gets six points of a grid, the best nDCG@10 is refitted on all
of the training data and tested. Blend() is not tuned at all; "Blend, weights found" chooses its weights by itself. EASE
is ItemItem(neighbors=None), SLIM and iALS++ are irspack's, cosine and BM25 implicit's. SLIM is an elastic net of every
column, the same coefficients as scikit-learn's ElasticNet gives (tests/test_experiments.py). EASE is skipped, and said
so, where its dense matrix needs more than --memory-mb. Writes results/peers_<data>.json after every method (what is
there is kept); report.py makes the table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import split

from everypair import Blend, ItemItem, OneClassMF, Popularity
from everypair.data import load_debian, split_entries
from everypair.evaluate import ranking_metrics
from everypair.models.recommend.defaults import auto_rank

RESULTS = Path(__file__).parent / "results"
DATA = ("ml1m", "citeulike_t", "yelp2018")


class ByItems:
    """r_u S with an item–item matrix S of another library."""

    def __init__(self, train: Any, similarity: Any) -> None:
        self.train, self.similarity = sp.csr_matrix(train), sp.csr_matrix(similarity)

    def score_users(self, users: Any = None, interactions: Any = None) -> Any:
        return (self.train[users] @ self.similarity).toarray()


class ByFactors:
    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right

    def score_users(self, users: Any = None, interactions: Any = None) -> Any:
        return self.left[users] @ self.right.T


def implicit_items(train: Any, kind: str, **parameters: Any) -> Any:
    from implicit import nearest_neighbours

    model = getattr(nearest_neighbours, kind)(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about its own weighted matrix
        model.fit(sp.csr_matrix(train), show_progress=False)
    return ByItems(train, model.similarity.T)


def slim(train: Any, **parameters: Any) -> Any:
    from irspack import SLIMRecommender

    model = SLIMRecommender(sp.csr_matrix(train), n_threads=2, **parameters).learn()
    return ByItems(train, model.W)


def ials(train: Any, **parameters: Any) -> Any:
    from irspack import IALSRecommender

    model = IALSRecommender(
        sp.csr_matrix(train), n_components=auto_rank(train), solver_type="IALSPP", n_threads=2, **parameters
    ).learn()
    return ByFactors(model.get_user_embedding(), model.get_item_embedding())


def factors(train: Any, negative: float = 1.0, ridge: float = 1.0, gamma: float = 0.0) -> Any:
    from everypair.data.pairs import Pairs
    from everypair.models.recommend.defaults import auto_negative_weight, auto_reg
    from everypair.problem.losses import get_loss

    pairs, loss = Pairs.from_matrix(train), get_loss("logistic")
    return OneClassMF(
        rank=auto_rank(train), random_state=0, negative_weight=negative * auto_negative_weight("auto", pairs, loss),
        reg=ridge * auto_reg("auto", pairs, loss), weighting=("degree", gamma),
    ).fit(train)  # fmt: skip


def ease(train: Any, reg: float) -> Any:
    return ItemItem(neighbors=None, reg=reg, reg_scale=0.0, user_exponent=0.0).fit(train)


METHODS: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "popularity": (lambda train: Popularity().fit(train), [{}]),
    "cosine (implicit)": (
        lambda train, **p: implicit_items(train, "CosineRecommender", **p),
        [{"K": k} for k in (20, 50, 100, 200, 400, 800)],
    ),
    "BM25 (implicit)": (
        lambda train, **p: implicit_items(train, "BM25Recommender", **p),
        [{"K": k, "K1": a, "B": b} for k in (100, 400) for a, b in ((1.2, 0.75), (1.2, 0.3), (0.3, 0.3))],
    ),
    "EASE": (ease, [{"reg": reg} for reg in (50.0, 100.0, 200.0, 400.0, 800.0, 1600.0)]),
    "SLIM (irspack)": (
        slim, [{"alpha": alpha, "l1_ratio": ratio} for alpha in (0.01, 0.05, 0.2) for ratio in (0.01, 0.1)]
    ),
    "iALS++ (irspack)": (
        ials, [{"alpha0": alpha, "reg": reg} for alpha in (0.003, 0.03, 0.3) for reg in (0.001, 0.01)]
    ),
    "OneClassMF": (
        factors,
        [{"negative": 1.0}, {"negative": 0.5}, {"negative": 2.0}, {"ridge": 0.7}, {"ridge": 1.4}, {"gamma": 0.25}],
    ),
    "ItemItem": (
        lambda train, **p: ItemItem(**p).fit(train),
        [{}, {"reg": 10.0}, {"reg": 100.0}, {"neighbors": 100}, {"user_exponent": 0.0}, {"reg_scale": 0.5}],
    ),
    "Blend()": (lambda train: Blend(random_state=0).fit(train), [{}]),
    "Blend, weights found": (lambda train: Blend(weights="auto", random_state=0).fit(train), [{}]),
}  # fmt: skip


def quality(model: Any, train: Any, test: Any) -> dict[str, float]:
    result = ranking_metrics(model, train, test, ks=(10, 20))
    return {name: result[name] for name in ("ndcg@10", "ndcg@20", "recall@20")}


def tuned(make: Callable[..., Any], grid: list[dict[str, Any]], train: Any, test: Any) -> dict[str, Any]:
    """Choose by validation, fit on all training data, test once."""
    inner, validation = split_entries(train, 0.1, random_state=100)
    trials = [
        {"parameters": parameters, **quality(make(inner, **parameters), inner, validation)}
        for parameters in (grid if len(grid) > 1 else [])
    ]
    best = max(trials, key=lambda trial: trial["ndcg@10"])["parameters"] if trials else grid[0]
    start = time.process_time()
    model = make(train, **best)
    seconds = time.process_time() - start
    return {"best": best, "trials": trials, "cpu": seconds, "test": quality(model, train, test)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--memory-mb", type=float, default=2048.0)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    for name in ["debian"] if options.smoke else options.data:
        train, test = split_entries(load_debian().depends[:1500], 0.1, 0) if options.smoke else split(name)
        train, test = (sp.csr_matrix(part, dtype=np.float32) for part in (train, test))
        path = options.results / f"peers_{name}.json"
        record = json.loads(path.read_text()) if path.exists() and not options.smoke else {"data": name, "methods": {}}
        for method in options.methods:
            if method in record["methods"]:
                continue
            make, grid = METHODS[method]
            needed = train.shape[1] ** 2 * 4 / 2**20
            if method == "EASE" and needed > options.memory_mb:
                result: dict[str, Any] = {"skipped": f"a dense item–item matrix of {needed:,.0f} MiB"}
            else:
                result = tuned(make, grid[:2] if options.smoke else grid, train, test)
            print(
                name, method, json.dumps({key: value for key, value in result.items() if key != "trials"}), flush=True
            )
            record["methods"][method] = result
            if not (options.smoke and options.results == RESULTS):
                options.results.mkdir(exist_ok=True)
                path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
