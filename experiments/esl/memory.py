"""Peak memory of one step on generated pairs: a share of 500,000 users, 20,000 items and 50 million pairs.

    python experiments/esl/memory.py [--share 0.1] [--optimizer adam] [--report]

Ids, float32. Users and pairs are shared out, the number of items stays. Rows so far are kept in
memory_generated.json, and a run replaces its optimiser's. Writes .md, beside the formula of the README, which is also
worked out for the whole.
"""

from __future__ import annotations

import argparse
import json
import resource
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import RESULTS, cpu, parse, start_of, tower_objective, write

from everypair.neural.optimizers.choose import OPTIMIZERS, make_optimizer

USERS, ITEMS, PAIRS = 500_000, 20_000, 50_000_000
COPIES = {  # of the first layers' ids at the peak, the fewest that cover what was measured: see README.md
    "adam": 13, "gauss-newton": 17, "newton": 10, "newton-unit": 10, "gd": 13, "gd-diag": 15,
    "sampling": 6, "sampling-diag": 9, "sg46": 13, "sg46-diag": 13, "sogram": 11, "sogram-diag": 13,
    "naive": 8, "naive-diag": 10,
}  # fmt: skip


def peak() -> float:
    """Peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def predicted(name: str, users: int, items: int, pairs: int, width: int, rank: int) -> float:
    """The README's formula, in MB."""
    entities = users + items
    return 4 * (COPIES[name] * entities * width + 8 * entities * rank + 14 * pairs) / 2**20


def report(record: dict[str, Any]) -> str:
    lines = ["# Peak memory of one step, generated pairs", ""]
    lines += [
        "| optimiser | users | items | pairs | start, MB | peak, MB | C | formula + start, MB | at full size, MB |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    for row in sorted(record["rows"], key=lambda row: OPTIMIZERS.index(row["optimizer"])):
        name, sizes = row["optimizer"], (row["width"], row["rank"])
        here = predicted(name, row["users"], row["items"], row["pairs"], *sizes) + row["before"]
        full = predicted(name, USERS, ITEMS, PAIRS, *sizes) + row["before"]
        lines.append(
            f"| {name} | {row['users']:,} | {row['items']:,} | {row['pairs']:,} | {row['before']:,.0f} | "
            f"{row['peak']:,.0f} | {COPIES[name]} | {here:,.0f} | {full:,.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--optimizer", default="adam", choices=OPTIMIZERS)
    parser.add_argument("--widths", type=int, nargs="*", default=(256, 256))
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    parser.add_argument("--data", default="generated", choices=["generated"])
    options = parse(parser, RESULTS, share=1e-4, widths=(4,), rank=3, items=40)
    path = options.results / "memory_generated.json"
    record = json.loads(path.read_text()) if path.exists() else {"rows": []}
    if not options.report:
        before = peak()
        random = np.random.default_rng(0)
        users, wanted = max(2, int(options.share * USERS)), int(options.share * PAIRS)
        rows = random.integers(users, size=wanted)
        columns = (options.items * random.random(wanted) ** 2).astype(np.int32)  # popular items
        train = sp.csr_matrix((np.ones(wanted, np.float32), (rows, columns)), shape=(users, options.items))
        train.data[:] = 1
        del rows, columns
        data = peak()
        objective = tower_objective(train, "generated", tuple(options.widths), options.rank)
        theta = start_of(objective)
        optimizer = make_optimizer(options.optimizer, objective)
        optimizer.sweep = 1
        begin = cpu()
        optimizer.step(optimizer.fresh(theta))
        measured = {
            "optimizer": options.optimizer, "users": users, "items": options.items, "pairs": train.nnz,
            "width": options.widths[0] if options.widths else options.rank, "rank": options.rank,
            "before": before, "data": data, "peak": peak(), "seconds": cpu() - begin,
        }  # fmt: skip
        others = [row for row in record["rows"] if row["optimizer"] != options.optimizer]
        record["rows"] = [*others, measured]
    write(options.results, "memory_generated", record, report(record))
    print(report(record))


if __name__ == "__main__":
    main()
