"""Tables 5 and 11 to 15: a share of all n·L labels is known, drawn uniformly; mean over several draws.

    python experiments/leml/missing_labels.py [--data bibtex] [--methods LEML-SQ …] [--ratios 5 10 20 40] [--ranks 40]

Ranks and ratios are in percent. Writes missing_labels_<data>.json and .md after each method, ratio and draw.
"""

from __future__ import annotations

from typing import Any

import common
import numpy as np
from common import FIGURES, METHODS, RESULTS, MultiLabel
from full_labels import as_printed
from published import MISSING

DATA = ("bibtex", "medical", "yeast", "scene", "corel5k", "rcv1subset1")
DEFAULTS = ("LEML-SQ", "BR-SQ", "BR-SQ, λ = ½", "BCS")
KEYS = ("method", "percent", "ratio", "seed")


def report(data: str, rows: list[dict[str, Any]]) -> str:
    """Means over draws (± the greatest distance of a draw from it, for top-3), the published figures in brackets."""
    order = list(METHODS)
    groups: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["ratio"], row["percent"], order.index(row["method"])), []).append(row)
    cells = []
    for (ratio, percent, _), draws in sorted(groups.items(), key=lambda one: (one[0][0], one[0][1] or 101, one[0][2])):
        method = draws[0]["method"]
        of_paper = MISSING.get(common.published_name(method), {}) if data == "bibtex" else {}
        paper = as_printed(of_paper.get((percent, ratio)))
        figures = []
        for name in FIGURES:
            values = [draw["test"][name] for draw in draws]
            spread = f" ± {100 * np.ptp(values) / 2:.2f}" if name == "top-3" and len(values) > 1 else ""
            printed = f" ({common.shown(name, paper[name])})" if paper else ""
            figures.append(common.shown(name, float(np.mean(values))) + spread + printed)
        chosen = "; ".join(sorted({common.described(draw) for draw in draws}))
        seconds = f"{np.mean([draw['cpu_seconds'] for draw in draws]):.1f}"
        rank = f"{percent} %" if percent else "–"
        cells.append((f"{ratio} %", rank, method, str(len(draws)), *figures, seconds, chosen))
    head = ("observed", "k/L", "method", "draws", "top-1", "top-3", "top-5", "Hamming", "AUC", "CPU s", "chosen")
    return (
        f"# Missing labels, {data}\n\nOurs (published), means over draws of the known entries; ± is half the range "
        "over draws. Made by `missing_labels.py`; how parameters are chosen and what differs from the paper is in the "
        f"README. {common.MARKED}\n\n"
    ) + common.table(head, cells)


def main() -> None:
    parser = common.arguments(__doc__, DATA, DEFAULTS)
    parser.add_argument("--ratios", nargs="+", type=int, default=[20, 40, 10, 5], help="known labels in percent")
    parser.add_argument("--ranks", nargs="+", type=int, default=[40], help="in percent of the number of labels")
    parser.add_argument("--draws", type=int, default=3)
    options = common.parse(parser, RESULTS, ratios=[50], draws=2)
    name = f"missing_labels_{options.data}"
    rows = common.stored_rows(options.results, name, needed=options.report)
    if not options.report:
        full = MultiLabel.load(options.data)
        for method in options.methods:
            for ratio in options.ratios:
                for percent in options.ranks if METHODS[method].ranked else (0,):
                    rank = max(1, round(percent / 100 * full.Y.shape[1]))
                    for seed in range(options.draws):
                        row = common.measure(method, full.observed(ratio / 100, seed), rank, seed)
                        rows = common.with_row(rows, KEYS, {**row, "percent": percent, "ratio": ratio})
                        common.write(options.results, name, rows, report(options.data, rows))
                        print(method, ratio, percent, seed, common.described(row), row["test"], flush=True)
    common.write(options.results, name, rows, report(options.data, rows))


if __name__ == "__main__":
    main()
