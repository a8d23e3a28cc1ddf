"""A blend whose parts are tuned too, on held-out training entries alone, then tested once: what is left to gain.

    python experiments/blend/tuned.py [--data ml1m] [--seeds 0 1 2] [--folds 2] [--most 20] [--smoke]

For each 9:1 split of the data (the seed's), a tenth of its training entries is held out, twice (--folds). From the
parameters of Blend() one at a time moves by a step of its ladder; the weight of ItemItem is the best of
blend_weights.GRID at every point. A step is kept if the mean nDCG@10 on held-out entries gains more than --margin
standard errors of that gain, user by user, so that the search does not follow noise. The last point is fitted to all
training entries and measured on the test entries once, beside Blend(). Writes results/tuned_<data>_<folds>_folds.json
after every seed; report.py makes the table.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import split
from peers import LADDERS, Point, factors, neighbors, quality

from everypair import Blend, ItemItem
from everypair.data import load_debian, split_entries
from everypair.metrics.held_out import HeldOut, users_with_positives
from everypair.metrics.per_row import average_rows, ndcg, rows_error
from everypair.models.recommend.blend.scale import scaled
from everypair.models.recommend.blend.weights import GRID

RESULTS = Path(__file__).parent / "results"
OF_FACTORS = LADDERS["OneClassMF"] | {"gamma": (0.0, 0.15, 0.25, 0.35, 0.5)}
OF_ITEMS = LADDERS["ItemItem"]
START: Point = {
    "negative": 1.0, "ridge": 1.0, "gamma": 0.25, "neighbors": 200, "reg": 30.0, "reg_scale": 1.0, "user_exponent": 0.5,
}  # fmt: skip


class Judge:
    """nDCG@10 of every user on held-out entries, for a point and each weight of the grid; parts are fitted once."""

    def __init__(self, train: Any, folds: int) -> None:
        self.folds = [split_entries(train, 0.1, random_state=100 + number) for number in range(folds)]
        self.fitted: dict[str, list[Any]] = {}

    def part(self, names: Any, make: Any, point: Point) -> list[Any]:
        own = {name: point[name] for name in names}
        key = json.dumps(own)
        if key not in self.fitted:
            self.fitted[key] = [make(inner, own) for inner, _ in self.folds]
        return self.fitted[key]

    def values(self, point: Point) -> dict[float, Any]:
        left = self.part(OF_FACTORS, lambda inner, own: factors(inner, **own).fit(inner), point)
        right = self.part(OF_ITEMS, lambda inner, own: ItemItem(**own).fit(inner), point)
        found: dict[float, list[Any]] = {weight: [] for weight in GRID}
        for (inner, held_out), one, two in zip(self.folds, left, right):
            measured = HeldOut(inner, held_out, users_with_positives(held_out), n_threads=2)

            def blended(users: Any, one: Any = one, two: Any = two) -> Any:
                near, far = scaled(one.score_users(users), -1.0, 2), scaled(two.score_users(users), 0.0, 2)
                return (near + np.float32(weight) * far for weight in GRID)

            for weight, ranking in zip(GRID, measured.rankings(blended, len(GRID))):
                found[weight].append(ndcg(ranking, 10))
        return {weight: np.concatenate(parts) for weight, parts in found.items()}


def climb(
    judge: Judge, ladders: dict[str, tuple[float, ...]], most: int, margin: float
) -> tuple[Point, float, list[Point]]:
    """The best point, its weight of ItemItem, and every point tried with its gain over the best by then."""

    def best_weight(values: dict[float, Any]) -> float:
        return max(values, key=lambda weight: values[weight].mean())

    point, values = START, judge.values(START)
    weight = best_weight(values)
    current, tried = values[weight], [START]
    trials = [{"parameters": START, "weight": weight, "ndcg@10": float(current.mean())}]
    while len(trials) < most:
        left = neighbors(point, ladders, tried)
        if not left:
            break
        values = judge.values(left[0])
        other = best_weight(values)
        gain = values[other] - current
        error = rows_error(gain)
        tried.append(left[0])
        trials.append(
            {"parameters": left[0], "weight": other, "ndcg@10": average_rows(values[other]), "gain": average_rows(gain),
             "standard_error": error}
        )  # fmt: skip
        print(
            "   ",
            {k: v for k, v in left[0].items() if v != START[k]},
            other,
            f"{100 * gain.mean():+.3f} ± {100 * error:.3f}",
            flush=True,
        )
        if gain.mean() > margin * error:
            point, weight, current = left[0], other, values[other]
    return point, weight, trials


def one_seed(train: Any, test: Any, seed: int, ladders: Any, most: int, folds: int, margin: float) -> Point:
    point, weight, trials = climb(Judge(train, folds), ladders, most, margin)
    left, right = ({name: value for name, value in point.items() if name in names} for names in (OF_FACTORS, OF_ITEMS))
    members = [factors(train, **left), ItemItem(**right)]
    model = Blend(models=members, weights=[1.0, weight], random_state=seed).fit(train)
    default = Blend(random_state=seed).fit(train)
    return {
        "seed": seed, "best": point, "weight": weight, "trials": trials, "tuned": quality(model, train, test),
        "default": quality(default, train, test),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["ml1m"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--most", type=int, default=20, help="points to try")
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--margin", type=float, default=1.0, help="standard errors that a step must gain")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write to")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        options.data, options.seeds, options.most, options.folds = ["debian"], [0], 3, 1
    for name in options.data:
        path = options.results / f"tuned_{name}_{options.folds}_folds.json"
        written = not (options.smoke and options.results == RESULTS)
        record: Point = {"data": name, "folds": options.folds, "margin": options.margin, "seeds": []}
        if path.exists() and not options.smoke:
            record = json.loads(path.read_text())
        for seed in [seed for seed in options.seeds if seed not in [one["seed"] for one in record["seeds"]]]:
            train, test = split_entries(load_debian().depends[:1500], 0.1, 0) if options.smoke else split(name, seed)
            train, test = (sp.csr_matrix(part, dtype=np.float32) for part in (train, test))
            found = one_seed(train, test, seed, OF_FACTORS | OF_ITEMS, options.most, options.folds, options.margin)
            print(name, json.dumps({key: value for key, value in found.items() if key != "trials"}), flush=True)
            record["seeds"].append(found)
            if written:
                options.results.mkdir(exist_ok=True)
                path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
