"""Table Supp-1 with one choice for all splits: the point of the best *mean* validation precision@5.

    python experiments/ocsmf/table_graph_pooled.py [--data ml100k]

On a small data set the choice made for each split alone is mostly noise. This script reads the validation curves that
``table_graph.py`` has stored, averages them over the splits, takes one point and number of sweeps for all of them, and
measures it on the test entries of each.
"""

from __future__ import annotations

import json
from typing import Any

import common
import numpy as np
from common import COLUMNS, KS, RESULTS, SWEEPS
from datasets import positives
from table_graph import RANKS, RULE, fitted, graph_of, measured

from everypair.data import split_entries


def pooled(splits: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    """Return the point that was tried in every split with the best mean curve, and the best number of sweeps."""
    curves: dict[str, list[list[float]]] = {}
    for split in splits:
        for entry in split["tried"]:
            curve = entry[RULE] + [entry[RULE][-1]] * (SWEEPS - len(entry[RULE]))  # stopped early: it stays
            curves.setdefault(json.dumps(entry["point"], sort_keys=True), []).append(curve)
    means = {name: np.mean(tried, axis=0) for name, tried in curves.items() if len(tried) == len(splits)}
    best = max(means, key=lambda name: means[name].max())
    return json.loads(best), int(means[best].argmax()) + 1


def main() -> None:
    options = common.arguments(__doc__, RANKS).parse_args()
    stored = json.loads((RESULTS / f"table_graph_{options.data}.json").read_text())
    every, graph, rows, cells = positives(options.data), graph_of(options.data), [], []
    for row in stored["rows"]:
        point, sweeps = pooled(row["splits"])
        tests = []
        for seed in range(len(row["splits"])):
            train, test = split_entries(every, 0.1, random_state=seed)
            rest = {"max_iter": sweeps, "rank": RANKS[options.data], "n_threads": options.threads}
            tests.append(measured(fitted(row["formulation"], point, train, graph, **rest), train, test))
        figures = [float(np.mean([found[column] for found in tests])) for column in COLUMNS]
        rows.append(
            {"formulation": row["formulation"], "graph": row["graph"], "point": point, "sweeps": sweeps, "test": tests}
        )
        cells.append((row["formulation"], "yes" if row["graph"] else "no", *figures, sweeps, common.described(point)))
    head = ("formulation", "graph", *(f"p@{k}" for k in KS), *(f"n@{k}" for k in KS), "sweeps", "chosen")
    count = len(stored["rows"][0]["splits"])
    note = f"Percent, mean of {count} splits; one point for all of them, by the mean validation {RULE}.\n\n"
    title = f"# Table Supp-1 on {options.data}, one choice for all splits\n\n"
    common.write(f"table_graph_pooled_{options.data}", {"rows": rows}, title + note + common.table(head, cells))


if __name__ == "__main__":
    main()
