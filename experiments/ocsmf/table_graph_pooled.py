"""Table Supp-1 with one choice for all splits: the point of the best *mean* validation precision@5.

    python experiments/ocsmf/table_graph_pooled.py [--data ml100k] [--report]

On a small data set the choice made for each split alone is mostly noise. This script reads the validation curves that
``table_graph.py`` has stored in the same folder, averages them over the splits, takes one point and number of sweeps
for all of them, and measures it on the test entries of each.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import common
import numpy as np
from common import COLUMNS, KS, RESULTS, SWEEPS
from datasets import positives
from table_graph import RANKS, RULE, fitted, graph_of, measured, rank_of

from everypair.data import split_entries


def pooled(splits: list[dict[str, Any]]) -> tuple[dict[str, Any], int] | None:
    """Return the point that was tried in every split with the best mean curve, and the best number of sweeps.

    With a graph only the best points of each split are tried, so there may be none: then None.
    """
    curves: dict[str, list[list[float]]] = {}
    for split in splits:
        for entry in split["tried"]:
            curve = entry[RULE] + [entry[RULE][-1]] * (SWEEPS - len(entry[RULE]))  # stopped early: it stays
            curves.setdefault(json.dumps(entry["point"], sort_keys=True), []).append(curve)
    means = {name: np.mean(tried, axis=0) for name, tried in curves.items() if len(tried) == len(splits)}
    if not means:
        return None
    best = max(means, key=lambda name: means[name].max())
    return json.loads(best), int(means[best].argmax()) + 1


def measured_rows(stored: list[dict[str, Any]], options: Any) -> list[dict[str, Any]]:
    """Every stored row with its pooled choice, measured on the test entries of each split."""
    every, graph, rows = positives(options.data), graph_of(options.data), []
    for row in stored:
        choice = pooled(row["splits"])
        if choice is None:
            print(f"{row['formulation']}: no point was tried in every split; this row is left out.")
            continue
        point, sweeps = choice
        rest = {
            "max_iter": sweeps,
            "rank": rank_of(options),
            "n_threads": options.threads,
            "reg_exponent": row["power"],
            "solver": "tron",
        }
        tests = []
        for seed in range(len(row["splits"])):
            train, test = split_entries(every, 0.1, random_state=seed)
            tests.append(measured(fitted(row["formulation"], point, train, graph, **rest), train, test))
        kept = {name: row[name] for name in ("formulation", "graph", "power")}
        rows.append({**kept, "point": point, "sweeps": sweeps, "test": tests})
    return rows


def report(name: str, rows: list[dict[str, Any]], stored: list[dict[str, Any]]) -> str:
    cells = []
    for row in rows:
        same = [one for one in stored if all(one[key] == row[key] for key in ("formulation", "power"))]
        tried = [entry for one in same for split in one["splits"] for entry in split["tried"]]
        figures = [float(np.mean([found[column] for found in row["test"]])) for column in COLUMNS]
        where = (common.swept(row["sweeps"]), common.described(row["point"], tried))
        cells.append((row["formulation"], "yes" if row["graph"] else "no", f"{row['power']:g}", *figures, *where))
    head = ("formulation", "graph", "ridge power", *(f"p@{k}" for k in KS), *(f"n@{k}" for k in KS), "sweeps", "chosen")
    count = len(rows[0]["test"])
    note = (
        f"Percent, mean of {count} splits; one point for all of them, by the mean validation {RULE}. The validation "
        f"entries of a split are test entries of others. {common.MARKED}\n\n"
    )
    return f"# Table Supp-1 on {name}, one choice for all splits\n\n{note}" + common.table(head, cells)


def main() -> None:
    parser = common.arguments(__doc__, RANKS)
    parser.add_argument("--rank", type=int, help="instead of the paper's")
    options = common.parse(parser, RESULTS, rank=4)
    name = f"table_graph_pooled_{options.data}"
    stored = common.stored_rows(options.results, f"table_graph_{options.data}")
    if not stored:
        sys.exit(f"Run table_graph.py --data {options.data} with the same --results first.")
    rows = common.stored_rows(options.results, name, needed=True) if options.report else measured_rows(stored, options)
    common.write(options.results, name, {"rows": rows}, report(options.data, rows, stored))


if __name__ == "__main__":
    main()
