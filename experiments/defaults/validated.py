"""What tuning gives where nobody looks at the test data: the grid of study.py, chosen by held-out training entries.

    python experiments/defaults/validated.py [--data ml1m] [--loss logistic] [--rank 64]

A tenth of the training entries is held out; every point of the grid is fitted to the rest and measured on that tenth.
The point of the highest nDCG@10 there is fitted to all training entries and measured on the test entries, once, beside
the defaults. Writes validated_<loss>_<data>.json; report.py puts it into README.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import split
from smoke import parse
from study import MULTIPLES, REGS, RESULTS, quality

from everypair.data import split_entries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml1m")
    parser.add_argument("--loss", default="logistic")
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--exponents", type=float, nargs="+", choices=tuple(REGS), default=list(REGS))
    options = parse(parser, RESULTS, data="ml100k", rank=4, exponents=[0.0])
    train, test = split(options.data)
    smaller, held_out = split_entries(train, 0.1, random_state=1)
    density = train.nnz / (train.shape[0] * train.shape[1])
    base: dict[str, Any] = {"loss": options.loss, "rank": options.rank}

    def parameters(point: dict[str, float]) -> dict[str, Any]:
        weight = point["multiple"] * density
        return {**base, "negative_weight": weight, "reg_exponent": point["exponent"], "reg": point["reg"]}

    points = [
        {"multiple": multiple, "exponent": exponent, "reg": reg}
        for exponent in options.exponents
        for multiple, reg in itertools.product(MULTIPLES[options.loss], REGS[exponent])
    ]
    tried = []
    for point in points:
        tried.append({**point, "ndcg@10": quality([(smaller, held_out)], parameters(point))})
        print(tried[-1], flush=True)
    best = max(tried, key=lambda point: point["ndcg@10"])
    chosen = {name: best[name] for name in ("multiple", "exponent", "reg")}
    record = {
        **base, "data": options.data, "chosen": chosen, "validation": best["ndcg@10"],
        "test": quality([(train, test)], parameters(chosen)), "test_default": quality([(train, test)], base),
        "points": tried,
    }  # fmt: skip
    (options.results / f"validated_{options.loss}_{options.data}.json").write_text(json.dumps(record, indent=1))
    print({name: value for name, value in record.items() if name != "points"}, flush=True)


if __name__ == "__main__":
    main()
