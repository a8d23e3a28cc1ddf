"""Tables 3 and 6 to 10: every label known, rank from a fifth of the labels up to all of them.

    python experiments/leml/full_labels.py [--data bibtex] [--methods LEML-SQ …] [--ranks 20 40 60 80 100]

Ranks are in percent of the number of labels. Writes full_labels_<data>.json and .md after each method and rank.
"""

from __future__ import annotations

from typing import Any

import common
from common import FIGURES, METHODS, RESULTS, MultiLabel
from published import FULL

RANKS = {"bibtex": (20, 40, 60, 80, 100), "delicious": (20, 40)}
DEFAULTS = ("LEML-SQ", "CPLST", "CPLST, λ = 0", "BR-SQ", "BCS", "WSABIE", "LEML-LR", "LEML-SH")
KEYS = ("method", "percent")


def as_printed(values: tuple[float, ...] | None) -> dict[str, float]:
    """Published figures by name, accuracies as shares."""
    if values is None:
        return {}
    names = FIGURES if len(values) == len(FIGURES) else tuple(name for name in FIGURES if name != "hamming_loss")
    return {name: value / 100 if name.startswith("top") else value for name, value in zip(names, values, strict=True)}


def report(data: str, rows: list[dict[str, Any]]) -> str:
    """Our figures, each with the published one in brackets."""
    order = list(METHODS)
    cells = []
    for row in sorted(rows, key=lambda row: (order.index(row["method"]), row["percent"])):
        method = common.published_name(row["method"])
        paper = as_printed(FULL.get(data, {}).get(method, {}).get(row["percent"]))
        printed = {name: f" ({common.shown(name, paper[name])})" for name in paper}
        figures = [common.shown(name, row["test"].get(name)) + printed.get(name, "") for name in FIGURES]
        rank = f"{row['percent']} %" if row["percent"] else "–"
        cells.append((row["method"], rank, *figures, f"{row['cpu_seconds']:.1f}", common.described(row)))
    head = ("method", "k/L", "top-1", "top-3", "top-5", "Hamming", "AUC", "CPU s", "chosen")
    return (
        f"# Full labels, {data}\n\nOurs (published). Made by `full_labels.py`; how parameters are chosen and what "
        "differs from the paper is in the README. CPU seconds of the last fit and of scoring, one thread. "
        f"{common.MARKED}\n\n"
    ) + common.table(head, cells)


def main() -> None:
    parser = common.arguments(__doc__, RANKS, DEFAULTS)
    parser.add_argument("--ranks", nargs="+", type=int, help="in percent of the number of labels")
    options = common.parse(parser, RESULTS, ranks=[40])
    name = f"full_labels_{options.data}"
    rows = common.stored_rows(options.results, name, needed=options.report)
    if not options.report:
        data = MultiLabel.load(options.data)
        for method in options.methods:
            ranks = options.ranks or RANKS[options.data]
            for percent in ranks if METHODS[method].ranked else (0,):
                rank = max(1, round(percent / 100 * data.Y.shape[1]))
                row = {**common.measure(method, data, rank), "percent": percent}
                rows = common.with_row(rows, KEYS, row)
                common.write(options.results, name, rows, report(options.data, rows))
                print(method, percent, common.described(row), row["test"], flush=True)
    common.write(options.results, name, rows, report(options.data, rows))


if __name__ == "__main__":
    main()
