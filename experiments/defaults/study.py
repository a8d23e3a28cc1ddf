"""How good are the defaults? nDCG@10 of OneClassMF over a grid of parameters, beside its defaults, on every data set.

    python experiments/defaults/study.py [--data ml100k ml1m …] [--loss logistic] [--rank 64]

Writes <loss>_<data>.json with every grid point (points already there are kept); report.py turns these into the table of
README.md beside it. Small data sets are split twice, larger ones once. Every figure is one of the test entries: the
best point is an optimistic bound, and validated.py asks what a choice without them would have given.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import RECOMMENDATION, split
from smoke import parse

from everypair import OneClassMF
from everypair.evaluate import ranking_metrics

LARGE = ("debian", "ml1m", "citeulike_t", "ciaodvd", "yelp2018")
RESULTS = Path(__file__).parent / "results"
MULTIPLES = {"logistic": (0.5, 1, 2, 4, 8), "squared": (1, 4, 16, 64), "squared_hinge": (0.5, 1, 2, 4, 8)}
REGS = {
    0.0: (0.3, 1, 3, 10, 30),
    0.5: (0.03, 0.1, 0.3, 1, 3, 10),
    0.75: (0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08),
    1.0: (0.003, 0.005, 0.007, 0.01, 0.014, 0.02, 0.03, 0.1, 0.3),
}


def quality(data: list[tuple[Any, Any]], parameters: dict[str, Any]) -> float:
    """Mean nDCG@10 over the splits."""
    values = []
    for train, test in data:
        model = OneClassMF(random_state=0, **parameters).fit(train)
        values.append(ranking_metrics(model, train, test, ks=(10,))["ndcg@10"])
    return float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=RECOMMENDATION)
    parser.add_argument("--loss", default="logistic")
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument(
        "--exponents", type=float, nargs="*", default=list(REGS), help="none: measure the defaults only"
    )
    parser.add_argument("--multiples", type=float, nargs="+", help="of the density, instead of the grid's own")
    parser.add_argument("--regs", type=float, nargs="+", help="instead of the grid's own")
    options = parse(
        parser, RESULTS, data=["ml100k"], rank=4, exponents=[0.5, 0.75], multiples=[1.0, 4.0], regs=[0.03, 0.1, 1.0]
    )
    for name in options.data:
        data = [split(name, seed) for seed in range(1 if name in LARGE else 2)]
        train = data[0][0]
        density = train.nnz / (train.shape[0] * train.shape[1])
        grid = [
            (multiple, exponent, reg)
            for exponent in options.exponents
            for multiple, reg in itertools.product(
                options.multiples or MULTIPLES[options.loss], options.regs or REGS[exponent]
            )
        ]
        path = options.results / f"{options.loss}_{name}.json"
        points = json.loads(path.read_text())["points"] if path.exists() else []
        known = {(point["multiple"], point["exponent"], point["reg"]) for point in points}
        start = time.perf_counter()
        base = {"loss": options.loss, "rank": options.rank}
        default = quality(data, base)
        for multiple, exponent, reg in (point for point in grid if point not in known):
            value = quality(data, {**base, "negative_weight": multiple * density, "reg_exponent": exponent, "reg": reg})
            points.append({"multiple": multiple, "exponent": exponent, "reg": reg, "ndcg@10": value})
        best = max(points, key=lambda point: point["ndcg@10"], default=None)
        print(f"{name:18s} density {density:.5f}  default {100 * default:.2f}  best {best}  "
              f"{time.perf_counter() - start:.0f} s", flush=True)  # fmt: skip
        record = {"data": name, "loss": options.loss, "rank": options.rank, "splits": len(data), "shape": train.shape,
                  "positives": train.nnz, "default": default, "points": points}  # fmt: skip
        path.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
