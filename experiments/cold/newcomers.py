"""Items nobody has seen: one in seven is held out, the models see the others, and users' lists hold newcomers alone.

    python experiments/cold/newcomers.py [--data citeulike_t ml1m …] [--seeds 1 2] [--most 6000] [--smoke]

Every row is stored in results/newcomers_<data>.json as soon as it is measured; rows that are there are not run again.
Lists are of users; of debian, whose packages are the items, they are of packages: each new package's dependencies, the
users, are ranked by the same scores. Sums "a + b" are of scores that were divided by the root mean square over a list:
what Blend(weights=(1, 1)) does over all items of a user. report.py makes the table.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
import smoke
from common import RESULTS, by_rows, cold_split, cpu, interactions, item_features, keep, read
from peers import DISTRIBUTIONS, PEERS

from everypair import Blend, ContentItems, OneClassMF, Side

DATA = ("ml100k", "ml1m", "debian", "citeulike_t", "citeulike_t_tags", "flixster_monti")
BY_ITEM = ("debian",)
RANK = 64


def new_scores(model: Any, fresh: Any) -> Any:
    """Scores of all users for the newcomers, which are known by features alone."""
    positions = model.add_items(features=fresh)
    return model.score_users()[:, positions]


def rows(known: Any, features: Any, fresh: Any, seed: int) -> dict[str, Any]:
    """Every row of the table as what computes (scores of newcomers, zero); parts are fitted once."""
    done: dict[str, Any] = {}
    rank = min(RANK, *known.shape)  # less than its default on a smoke run's data alone

    def factors(cold: str, **side: Any) -> Any:
        model = OneClassMF(rank=rank, items=Side(cold=cold, **side), random_state=seed)
        return new_scores(model.fit(known, item_features=features), fresh) + 1  # unknown pairs are pulled to −1

    def content(**parameters: Any) -> Any:
        return new_scores(ContentItems(**parameters).fit(known, item_features=features), fresh)

    def once(name: str, make: Any) -> Any:
        if name not in done:
            done[name] = cpu(make)
        return done[name]

    parts = {
        "OneClassMF, cold=weights": lambda: factors("weights"),
        "OneClassMF, cold=weights, own_vectors=False": lambda: factors("weights", own_vectors=False),
        "OneClassMF, cold=linear": lambda: factors("linear"),
        "OneClassMF, cold=kernel": lambda: factors("kernel"),
        "OneClassMF, cold=linear, fit_intercept": lambda: factors("linear", fit_intercept=True),
        "OneClassMF, own_vectors=False, fit_intercept": lambda: factors(
            "weights", own_vectors=False, fit_intercept=True
        ),
        "ContentItems()": lambda: content(),
        "ContentItems(reg=auto)": lambda: content(reg="auto"),
        **{name: (lambda fit=fit: fit(known, features, fresh, seed)) for name, fit in PEERS.items()},
    }
    sums = {
        f"{v} + {y}": (v, y)
        for v in ("OneClassMF, cold=linear", "OneClassMF, cold=kernel")
        for y in ("ContentItems()", "ContentItems(reg=auto)")
    }
    wide = [OneClassMF(rank=rank, items=Side(cold="kernel")), ContentItems(reg="auto")]
    blends = {
        "Blend()": Blend(random_state=seed),
        "Blend, kernel + reg=auto": Blend(models=wide, weights=(1, 1), random_state=seed),
        "Blend, kernel + reg=auto, held_out=items": Blend(
            models=wide, weights="auto", held_out="items", random_state=seed
        ),
    }
    parts |= {
        name: (lambda model=model: new_scores(model.fit(known, item_features=features), fresh))
        for name, model in blends.items()
    }
    alone = {name: (name,) for name in parts}
    return {
        name: (lambda pair=pair: summands([once(one, parts[one]) for one in pair]))
        for name, pair in (alone | sums).items()
    }


def summands(found: list[tuple[Any, float]]) -> tuple[list[Any], float]:
    """Scores of all parts, and their seconds together."""
    return [scores for scores, _ in found], sum(seconds for _, seconds in found)


def scaled(scores: Any) -> Any:
    """Every list's scores divided by their root mean square."""
    return scores / np.sqrt(np.square(scores, dtype=np.float64).mean(axis=1, keepdims=True) + 1e-30)


def study(name: str, seed: int, most: int, path: Path, only: list[str] | None) -> None:
    results = read(path)
    likes, features = interactions(name), item_features(name)
    old, new = cold_split(likes, seed, most)
    known, truth, fresh = sp.csr_array(likes[:, old]), sp.csr_array(likes[:, new]), features[new]
    turned = name in BY_ITEM
    truth = sp.csr_array(truth.T) if turned else truth
    record = results.setdefault(str(seed), {"users": likes.shape[0], "known": len(old), "new": len(new), "rows": {}})
    for row, make in rows(known, features[old], fresh, seed).items():
        if row in record["rows"] or (only and row not in only):
            continue
        if turned and row.startswith("Blend"):  # whose scores compare the items of a user, not users
            continue
        try:
            parts, seconds = make()
        except ImportError as missing:
            print(name, seed, row, f"is left out: {missing}")
            continue
        if row in DISTRIBUTIONS:
            record.setdefault("versions", {})[row] = version(DISTRIBUTIONS[row])
        lists = [part.T if turned else part for part in parts]
        total = lists[0] if len(lists) == 1 else sum(map(scaled, lists))
        record["rows"][row] = {**by_rows(lambda users, total=total: np.ascontiguousarray(total[users]), truth),
                               "cpu": seconds}  # fmt: skip
        keep(path, results)
        print(name, seed, row, {key: round(value, 2) for key, value in record["rows"][row].items()}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--most", type=int, default=6000, help="items to learn from, at most")
    parser.add_argument("--rows", nargs="+", help="these alone")
    options = smoke.parse(parser, RESULTS, data=("citeulike_t",), seeds=[1])
    for name in options.data:
        for seed in options.seeds:
            study(name, seed, options.most, options.results / f"newcomers_{name}.json", options.rows)


if __name__ == "__main__":
    main()
