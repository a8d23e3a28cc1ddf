"""Peak memory of one step on generated pairs: a share of 500,000 users, 20,000 items and 50 million pairs.

    python experiments/esl/memory.py [--share 0.1] [--optimizer adam] [--report]

Ids, float32. Users and pairs are shared out, the number of items stays. Appends to memory_generated.json and writes
.md, beside the formula of the README.
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
from everypair.neural.optimizers.state import TowerState

USERS, ITEMS, PAIRS = 500_000, 20_000, 50_000_000
COPIES = {"adam": 13, "gauss-newton": 17, "gd-diag": 16}  # of all parameters at the peak: see README.md


def peak() -> float:
    """Peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def predicted(name: str, users: int, items: int, pairs: int, width: int, rank: int) -> float:
    """The README's formula, in MB."""
    entities = users + items
    return 4 * (COPIES.get(name, 11) * entities * width + 8 * entities * rank + 14 * pairs) / 2**20


def report(record: dict[str, Any]) -> str:
    lines = ["# Peak memory of one step, generated pairs", ""]
    lines += ["| optimiser | users | items | pairs | data, MB | peak, MB | formula + start, MB | CPU s |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for row in record["rows"]:
        lines.append(
            f"| {row['optimizer']} | {row['users']:,} | {row['items']:,} | {row['pairs']:,} | {row['data']:,.0f} | "
            f"{row['peak']:,.0f} | {row['formula'] + row['before']:,.0f} | {row['seconds']:.0f} |"
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
        optimizer.step(TowerState(theta, optimizer.fresh(theta)))
        width = options.widths[0] if options.widths else options.rank
        record["rows"].append({
            "optimizer": options.optimizer, "users": users, "items": options.items, "pairs": train.nnz,
            "before": before, "data": data, "peak": peak(), "seconds": cpu() - begin,
            "formula": predicted(options.optimizer, users, options.items, train.nnz, width, options.rank),
        })  # fmt: skip
    write(options.results, "memory_generated", record, report(record))
    print(report(record))


if __name__ == "__main__":
    main()
