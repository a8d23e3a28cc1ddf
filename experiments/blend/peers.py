"""Beside other recommenders, with the same number of trials for each: tuned on validation entries, tested once.

    python experiments/blend/peers.py [--data ml1m citeulike_t yelp2018] [--methods …] [--cpu-limit 1500] [--anew]
                                       [--smoke]

A tenth of the training entries is held out. Each method gets the six points of its grid and then up to six more: of the
neighbours of its best point so far, one parameter moved by one step of its ladder, until none is left. So no choice
stays at an end of a grid that could go on, for any method; no trial is begun after --cpu-limit seconds of a method, and
a search that this ended is marked. The point of the highest nDCG@10 is refitted on all of the training data and tested.
Blend() is not tuned at all; "Blend, weights found" chooses its weights by itself. EASE is ItemItem(neighbors=None),
SLIM and iALS++ are irspack's, cosine, BM25 and one ALS implicit's (RecTools wraps that one), another ALS cmfrec's, WARP
LightFM's maintained fork (lightfm-next), SANSA an approximate EASE of its authors; who is not installed is left out.
SLIM is an elastic net of every column, with the coefficients of scikit-learn's (tests/test_experiments.py). EASE is
skipped, and said so, where its dense matrices need more than --memory-mb. Writes results/peers_<data>.json after every
trial. What is there is kept, and a search that was ended goes on where the limit is now higher; --anew forgets what is
there of the --methods given. report.py makes the table.
"""

from __future__ import annotations

import argparse
import importlib.util
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
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from datasets import split
from machine import machine

from everypair import Blend, ItemItem, OneClassMF, Popularity
from everypair.data import load_debian, split_entries
from everypair.data.pairs import Pairs
from everypair.evaluate import ranking_metrics
from everypair.models.recommend.defaults import auto_negative_weight, auto_rank, auto_reg
from everypair.problem.losses import get_loss

RESULTS = Path(__file__).parent / "results"
DATA = ("ml1m", "citeulike_t", "lastfm_hetrec", "yelp2018")
EPOCHS = 30  # of WARP


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

    model = SLIMRecommender(sp.csr_matrix(train), **parameters).learn()
    return ByItems(train, model.W)


def ials(train: Any, **parameters: Any) -> Any:
    from irspack import IALSRecommender

    model = IALSRecommender(
        sp.csr_matrix(train), n_components=auto_rank(train), solver_type="IALSPP", **parameters
    ).learn()
    return ByFactors(model.get_user_embedding(), model.get_item_embedding())


def als(train: Any, alpha: float, reg: float) -> Any:
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=auto_rank(train), alpha=alpha, regularization=reg, random_state=0)
    model.fit(sp.csr_matrix(train), show_progress=False)
    return ByFactors(model.user_factors, model.item_factors)


def cmf(train: Any, alpha: float, reg: float) -> Any:
    from cmfrec import CMF_implicit

    model = CMF_implicit(
        k=auto_rank(train), alpha=alpha, lambda_=reg, use_float=True, random_state=0, verbose=False
    ).fit(sp.coo_matrix(train))
    return ByFactors(model.A_, model.B_)


def warp(train: Any, learning_rate: float, max_sampled: int) -> Any:
    from lightfm import LightFM

    model = LightFM(
        no_components=auto_rank(train),
        loss="warp",
        learning_rate=learning_rate,
        max_sampled=max_sampled,
        random_state=0,
    ).fit(sp.coo_matrix(train), epochs=EPOCHS, num_threads=1)
    items = np.column_stack([model.item_embeddings, model.item_biases])
    return ByFactors(np.column_stack([model.user_embeddings, np.ones(train.shape[0], np.float32)]), items)


class Sansa:
    """r_u W_0 W_1 by its own product."""

    def __init__(self, model: Any, train: Any) -> None:
        self.model, self.train = model, train

    def score_users(self, users: Any = None, interactions: Any = None) -> Any:
        first, second = self.model.weights
        return ((self.train[users] @ first) @ second).toarray()


def sansa(train: Any, l2: float, density: float) -> Any:
    from sansa import SANSA, ICFGramianFactorizerConfig, SANSAConfig, UMRUnitLowerTriangleInverterConfig

    model = SANSA(
        SANSAConfig(
            l2=l2, weight_matrix_density=density, gramian_factorizer_config=ICFGramianFactorizerConfig(),
            lower_triangle_inverter_config=UMRUnitLowerTriangleInverterConfig(),
        )
    )  # fmt: skip
    model.fit(sp.csr_matrix(train))
    return Sansa(model, sp.csr_matrix(train))


def factors(train: Any, negative: float = 1.0, ridge: float = 1.0, gamma: float = 0.0) -> OneClassMF:
    """OneClassMF, not fitted, with multiples of its own negative weight and ridge on this data, and degree weights."""
    pairs, loss = Pairs.from_matrix(train), get_loss("logistic")
    return OneClassMF(
        rank=auto_rank(train), random_state=0, negative_weight=negative * auto_negative_weight("auto", pairs, loss),
        reg=ridge * auto_reg("auto", pairs, loss), weighting=("degree", gamma),
    )  # fmt: skip


def ease(train: Any, reg: float) -> Any:
    everything = dense_mb(train) + 1
    return ItemItem(neighbors=None, reg=reg, reg_scale=0.0, user_exponent=0.0, memory_mb=everything).fit(train)


def dense_mb(train: Any) -> float:
    """What EASE needs, in units of 2²⁰ bytes: a dense item–item matrix and, with fewer users, one of users."""
    n_users, n_items = train.shape
    return 4 * (n_items**2 + (n_users**2 if n_users < n_items else 0)) / 2**20


Point = dict[str, Any]
METHODS: dict[str, tuple[Callable[..., Any], list[Point]]] = {
    "popularity": (lambda train: Popularity().fit(train), [{}]),
    "cosine (implicit)": (
        lambda train, **p: implicit_items(train, "CosineRecommender", **p),
        [{"K": k} for k in (20, 50, 100, 200, 400, 800)],
    ),
    "BM25 (implicit)": (
        lambda train, **p: implicit_items(train, "BM25Recommender", **p),
        [{"K": k, "K1": a, "B": b} for k in (100, 400) for a, b in ((1.2, 0.75), (1.2, 0.3), (0.3, 0.3))],
    ),
    "EASE": (ease, [{"reg": reg} for reg in (200.0, 400.0, 100.0, 800.0, 50.0, 1600.0)]),
    "SLIM (irspack)": (
        slim, [{"alpha": alpha, "l1_ratio": ratio} for alpha in (0.01, 0.05, 0.2) for ratio in (0.01, 0.1)]
    ),
    "SANSA": (sansa, [{"l2": l2, "density": share} for share in (0.01, 0.03) for l2 in (30.0, 100.0, 300.0)]),
    "WARP (LightFM)": (
        warp, [{"learning_rate": rate, "max_sampled": most} for most in (10, 30) for rate in (0.02, 0.05, 0.1)]
    ),
    "ALS (implicit)": (als, [{"alpha": alpha, "reg": reg} for alpha in (1.0, 5.0, 20.0) for reg in (0.1, 1.0)]),
    "ALS (cmfrec)": (cmf, [{"alpha": alpha, "reg": reg} for alpha in (1.0, 5.0, 20.0) for reg in (1.0, 10.0)]),
    "iALS++ (irspack)": (
        ials, [{"alpha0": alpha, "reg": reg} for alpha in (0.003, 0.03, 0.3) for reg in (0.001, 0.01)]
    ),
    "OneClassMF": (
        lambda train, **p: factors(train, **p).fit(train),
        [{"negative": 1.0, "ridge": 1.0, "gamma": 0.0, **changed}
         for changed in ({}, {"negative": 0.5}, {"negative": 2.0}, {"ridge": 0.7}, {"ridge": 1.4}, {"gamma": 0.25})],
    ),
    "ItemItem": (
        lambda train, **p: ItemItem(**p).fit(train),
        [{"neighbors": 200, "reg": 30.0, "reg_scale": 1.0, "user_exponent": 0.5, **changed}
         for changed in ({}, {"reg": 10.0}, {"reg": 100.0}, {"neighbors": 100}, {"user_exponent": 0.0},
                         {"reg_scale": 0.5})],
    ),
    "Blend()": (lambda train: Blend(random_state=0).fit(train), [{}]),
    "Blend, weights found": (lambda train: Blend(weights="auto", random_state=0).fit(train), [{}]),
}  # fmt: skip
LADDERS: dict[str, dict[str, tuple[float, ...]]] = {
    "cosine (implicit)": {"K": (5, 10, 20, 50, 100, 200, 400, 800, 1600, 3200)},
    "BM25 (implicit)": {
        "K": (25, 50, 100, 400, 1600, 6400), "K1": (0.02, 0.08, 0.3, 1.2, 5.0, 20.0), "B": (0.0, 0.1, 0.3, 0.75, 1.0),
    },
    "EASE": {"reg": (12.5, 25.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0, 6400.0)},
    "SLIM (irspack)": {
        "alpha": (0.0001, 0.0005, 0.002, 0.01, 0.05, 0.2, 1.0), "l1_ratio": (0.0001, 0.001, 0.01, 0.1, 0.5),
    },
    "SANSA": {"l2": (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0), "density": (0.003, 0.01, 0.03, 0.1)},
    "WARP (LightFM)": {
        "learning_rate": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2), "max_sampled": (3, 10, 30, 100),
    },
    "ALS (implicit)": {
        "alpha": (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0), "reg": (0.001, 0.01, 0.1, 1.0, 10.0, 100.0),
    },
    "ALS (cmfrec)": {
        "alpha": (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0), "reg": (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0),
    },
    "iALS++ (irspack)": {
        "alpha0": (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
        "reg": (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1),
    },
    "OneClassMF": {
        "negative": (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0), "ridge": (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0),
        "gamma": (0.0, 0.25, 0.5),
    },
    "ItemItem": {
        "neighbors": (50, 100, 200, 400, 800), "reg": (3.0, 10.0, 30.0, 100.0, 300.0),
        "reg_scale": (0.125, 0.25, 0.5, 1.0, 2.0, 4.0), "user_exponent": (0.0, 0.5, 1.0),
    },
}  # fmt: skip
MORE_POINTS = 6
MODULES = {
    "(implicit)": "implicit", "(irspack)": "irspack", "(cmfrec)": "cmfrec", "(LightFM)": "lightfm", "SANSA": "sansa",
}  # fmt: skip


def installed(method: str) -> bool:
    """Whether the library of a method is there."""
    needed = next((module for part, module in MODULES.items() if part in method), None)
    return needed is None or importlib.util.find_spec(needed) is not None


def neighbors(point: Point, ladders: dict[str, tuple[float, ...]], tried: list[Point]) -> list[Point]:
    """Points one step of a ladder from ``point`` that were not tried, those beyond the values tried first."""
    beyond, between = [], []
    for name, ladder in ladders.items():
        place, values = ladder.index(point[name]), [other[name] for other in tried]
        for step in (-1, 1):
            if not 0 <= place + step < len(ladder):
                continue
            moved = {**point, name: ladder[place + step]}
            if moved not in tried:
                outside = not min(values) <= moved[name] <= max(values)
                (beyond if outside else between).append(moved)
    return beyond + between


def quality(model: Any, train: Any, test: Any) -> dict[str, float]:
    result = ranking_metrics(model, train, test, ks=(10, 20))
    return {name: result[name] for name in ("ndcg@10", "ndcg@20", "recall@20")}


def tuned(
    make: Callable[..., Any], grid: list[Point], ladders: dict[str, tuple[float, ...]], train: Any, test: Any,
    trials: list[Point], keep: Callable[[], None], most: int, cpu_limit: float,
) -> Point:  # fmt: skip
    """Choose by validation, fit on all training data, test once; ``trials`` grows up to ``most``, kept by ``keep``."""
    inner, validation = split_entries(train, 0.1, random_state=100)

    def best() -> Point:
        return max(trials, key=lambda trial: trial["ndcg@10"])["parameters"] if trials else grid[0]

    stopped = False
    while ladders and len(trials) < most:
        tried = [trial["parameters"] for trial in trials]
        left = [point for point in grid if point not in tried] or neighbors(best(), ladders, tried)
        stopped = bool(left) and sum(trial["cpu"] for trial in trials) >= cpu_limit
        if stopped or not left:
            break
        start = time.process_time()
        found = quality(make(inner, **left[0]), inner, validation)
        trials.append({"parameters": left[0], "cpu": time.process_time() - start, **found})
        print("   ", left[0], round(found["ndcg@10"], 4), f"{trials[-1]['cpu']:.0f} s", flush=True)
        keep()
    start = time.process_time()
    model = make(train, **best())
    seconds = time.process_time() - start
    found = {"best": best(), "trials": trials, "cpu": seconds, "test": quality(model, train, test)}
    return found | ({"stopped": cpu_limit} if stopped else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--memory-mb", type=float, default=10240.0, help="for the dense matrices of EASE")
    parser.add_argument("--cpu-limit", type=float, default=1500.0, help="of a method, after which no trial begins")
    parser.add_argument("--anew", action="store_true", help="search and test these methods from the beginning")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    for name in ["debian"] if options.smoke else options.data:
        train, test = split_entries(load_debian().depends[:1500], 0.1, 0) if options.smoke else split(name)
        train, test = (sp.csr_matrix(part, dtype=np.float32) for part in (train, test))
        path = options.results / f"peers_{name}.json"
        record = json.loads(path.read_text()) if path.exists() and not options.smoke else {"data": name, "methods": {}}
        written = not (options.smoke and options.results == RESULTS)

        def keep(record: Point = record, path: Path = path, written: bool = written) -> None:
            if written:
                options.results.mkdir(exist_ok=True)
                path.write_text(json.dumps(record, indent=1) + "\n")

        for method in options.methods:
            found = {} if options.anew else record["methods"].get(method, {})
            if "test" in found and found.get("stopped", np.inf) >= options.cpu_limit:
                continue
            if not installed(method):
                print(f"{method} is left out: its library is not installed.")
                continue
            make, grid = METHODS[method]
            result = record["methods"][method] = {"trials": found.get("trials", [])}
            needed = dense_mb(train)
            if method == "EASE" and needed > options.memory_mb:
                result = {"skipped": f"dense matrices of {needed:,.0f} MiB"}
            else:
                print(name, method, flush=True)
                record["machine"] = machine()  # of the newest row
                points, most = (grid[:2], 3) if options.smoke else (grid, len(grid) + MORE_POINTS)
                ladders, trials = LADDERS.get(method, {}), result["trials"]
                result = tuned(make, points, ladders, train, test, trials, keep, most, options.cpu_limit)
            print(
                name, method, json.dumps({key: value for key, value in result.items() if key != "trials"}), flush=True
            )
            record["methods"][method] = result
            keep()


if __name__ == "__main__":
    main()
