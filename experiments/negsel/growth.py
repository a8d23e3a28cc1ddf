"""The larger the data, the larger Full − Ensemble: both on growing shares of the users of one data set.

    python experiments/negsel/growth.py [--data ml1m] [--shares 0.125 0.25 0.5 1] [--draws 2] [--report]

Parameters are those that table4.py chose on all users by nDCG@10 (the Ensemble's on test entries, which favours it),
the same for every share. Users are drawn at random; a draw has a 9:1 split of its own. Writes growth_<data>.json, .md.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from common import RESULTS, measure, parse, stored_rows, write
from datasets import positives
from table4 import make

from everypair.data import split_entries

METHODS = ("Full", "Ensemble")


def report(data: str, rows: list[dict[str, Any]]) -> str:
    lines = [f"# Full − Ensemble on shares of the users of {data}, nDCG@10", ""]
    lines += ["| share of users | positives | Full | Ensemble | difference, each draw |", "|---|---|---|---|---|"]
    for share in dict.fromkeys(row["share"] for row in rows):
        draws = [row for row in rows if row["share"] == share]
        means = [np.mean([draw[method] for draw in draws]) for method in METHODS]
        gaps = ", ".join(f"{draw['Full'] - draw['Ensemble']:+.2f}" for draw in draws)
        lines.append(f"| {share:g} | {draws[0]['positives']:,} | {means[0]:.2f} | {means[1]:.2f} | {gaps} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml1m")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.125, 0.25, 0.5, 1.0])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, shares=[0.5, 1.0])
    name = f"growth_{options.data}"
    rows = stored_rows(options.results, name, needed=True) if options.report else []
    chosen = {
        row["method"]: row["point"] for row in stored_rows(options.results, f"table4_{options.data}", needed=True)
    }
    every = None if options.report else positives(options.data)
    for share in () if options.report else options.shares:
        for draw in range(options.draws):
            random = np.random.default_rng(draw)
            users = np.sort(random.choice(every.shape[0], round(share * every.shape[0]), replace=False))
            train, test = split_entries(every[users], 0.1, random_state=draw)
            found = {
                method: measure(make(method, chosen[method]).fit(train), train, test)["ndcg@10"] for method in METHODS
            }
            rows.append({"share": share, "draw": draw, "positives": train.nnz, **found})
            print(rows[-1], flush=True)
    write(options.results, name, {"rows": rows, "points": {method: chosen[method] for method in METHODS}},
          report(options.data, rows))  # fmt: skip


if __name__ == "__main__":
    main()
