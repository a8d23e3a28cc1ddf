"""What the defaults cost where nobody looks at the test data: the grid of study.py by held-out training entries.

    python experiments/defaults/validated.py [--data ml1m …] [--loss logistic] [--rank 64]

A tenth of the training entries is held out; every point of the grid at the default ridge exponent (--exponents: at
others too), and the defaults, are fitted to the rest and measured on that tenth. The point of the highest nDCG@10 there
is fitted to all training entries and measured on the test entries, once, beside the defaults. Writes
validated_<loss>_<data>.json; report.py puts it into README.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import RECOMMENDATION, split
from smoke import parse
from study import MULTIPLES, REGS, RESULTS, quality

from everypair.data import split_entries


def study(name: str, base: dict[str, Any], exponents: list[float], multiples: Any, regs: Any) -> dict[str, Any]:
    """Every point on held-out entries, then the best one and the defaults on the test entries."""
    train, test = split(name)
    smaller, held_out = split_entries(train, 0.1, random_state=1)
    density = train.nnz / (train.shape[0] * train.shape[1])

    def parameters(point: dict[str, float]) -> dict[str, Any]:
        weight = point["multiple"] * density
        return {**base, "negative_weight": weight, "reg_exponent": point["exponent"], "reg": point["reg"]}

    points = [
        {"multiple": multiple, "exponent": exponent, "reg": reg}
        for exponent in exponents
        for multiple, reg in itertools.product(multiples or MULTIPLES[base["loss"]], regs or REGS[exponent])
    ]
    tried = [{**point, "ndcg@10": quality([(smaller, held_out)], parameters(point))} for point in points]
    best = max(tried, key=lambda point: point["ndcg@10"])
    chosen = {name: best[name] for name in ("multiple", "exponent", "reg")}
    return {
        **base, "data": name, "chosen": chosen, "validation": best["ndcg@10"],
        "validation_default": quality([(smaller, held_out)], base),
        "test": quality([(train, test)], parameters(chosen)), "test_default": quality([(train, test)], base),
        "points": tried,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=RECOMMENDATION)
    parser.add_argument("--loss", default="logistic")
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--exponents", type=float, nargs="+", choices=tuple(REGS), default=[0.75])
    parser.add_argument("--multiples", type=float, nargs="+", help="of the density, instead of the grid's own")
    parser.add_argument("--regs", type=float, nargs="+", help="instead of the grid's own")
    options = parse(parser, RESULTS, data=["ml100k"], rank=4, exponents=[0.0])
    for name in options.data:
        base = {"loss": options.loss, "rank": options.rank}
        record = study(name, base, options.exponents, options.multiples, options.regs)
        (options.results / f"validated_{options.loss}_{name}.json").write_text(json.dumps(record, indent=1))
        print({name: value for name, value in record.items() if name != "points"}, flush=True)


if __name__ == "__main__":
    main()
