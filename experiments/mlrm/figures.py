"""Figures 1 to 3 as tables and plots: transductive MLRM against FPCA, global MLRM against SIMC, MLRM against MLRM'.

Ratings are measured by MAE (of corrected values within 1 to 5), interactions by pooled AUC, hidden labels (Figure 2,
from ``multilabel.py``) by average precision. Cells that ``table1.py`` has run are taken from there; two methods are
compared over the draws that both have. The figures themselves are not in the text of the paper, so there is nothing
published to put beside.
"""

from __future__ import annotations

import numpy as np
from common import RESULTS, Case, Store, arguments, generated, interactions, ratings, run_cell
from published import RATES

FIGURES = {
    "Figure 1": ("FPCA", "MLRM transductive"),
    "Figure 2": ("SIMC", "MLRM global"),
    "Figure 3": ("MLRM", "MLRM'"),
}
WORDS = {"mae": "MAE", "auc": "AUC", "average_precision": "average precision"}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--figures", nargs="+", default=list(FIGURES), choices=list(FIGURES))
    every = [method for pair in FIGURES.values() for method in pair]
    parser.add_argument("--methods", nargs="+", default=every, choices=every, help="those of them that are wanted")
    parser.add_argument("--data", nargs="+", default=["ml100k", "GPCRs", "Enzymes"])
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES))
    parser.add_argument("--draws", type=int, default=1)
    args = parser.parse_args()
    store = Store("figures", args.smoke, ("multilabel", "table1"), args.results, args.anew)
    names, rates = (["generated"], [0.5]) if args.smoke else (args.data, args.rates)
    for name in names:
        case = load(name)
        metric, shown = ("r2", ("mae", "rmse")) if case.known is not None else ("auc", ("auc", "aupr", "row_auc"))
        for figure in args.figures:
            for method in (method for method in FIGURES[figure] if method in args.methods):
                for rate in rates:
                    store.get(
                        f"{name} {rate} {method}",
                        lambda before, c=case, m=method, r=rate, q=metric, s=shown: run_cell(
                            c, m, r, args.draws, q, s, before
                        ),
                        args.draws,
                    )
    lines = report(store)
    store.write("figures.md", lines)
    if args.plot and not args.smoke:
        plot(store)


def load(name: str) -> Case:
    if name == "generated":
        return generated()
    return ratings() if name == "ml100k" else interactions(name)


def points(store: Store, figure: str) -> list[tuple[str, str, float, float, bool]]:
    """(data, rate, first method, second method, whether the second wins) of a figure, by data and rate."""
    first, second = FIGURES[figure]
    found, cells = [], store.known()
    for key, cell in cells.items():
        name, rate, method = key.split(" ", 2)
        other = cells.get(f"{name} {rate} {second}")
        if method != first or other is None:
            continue
        shown = measure_of(name)
        draws = min(len(cell["runs"]), len(other["runs"]))  # in the order of their seeds
        one, two = (float(np.mean([run[shown] for run in c["runs"][:draws]])) for c in (cell, other))
        found.append((name, rate, one, two, two < one if shown == "mae" else two > one))
    return sorted(found)


def measure_of(name: str) -> str:
    return "mae" if name == "ml100k" else "auc" if name in ("Enzymes", "GPCRs", "generated") else "average_precision"


def report(store: Store) -> list[str]:
    lines = []
    for figure, (first, second) in FIGURES.items():
        rows = points(store, figure)
        if not rows:
            continue
        lines += [f"## {figure}", "", f"| data | ω | | {first} | {second} | better |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {name} | {rate} | {WORDS[measure_of(name)]} | {one:.4f} | {two:.4f} | "
            f"{'–' if one == two else second if won else first} |"
            for name, rate, one, two, won in rows
        ]
        lines += ["", f"{second} is better in {sum(won for *_, won in rows)} of {len(rows)} cases.", ""]
    return lines


def plot(store: Store) -> None:
    """A panel per data set: both methods of a figure over the share of observed entries."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for number, (figure, methods) in enumerate(FIGURES.items(), start=1):
        rows = points(store, figure)
        names = sorted({row[0] for row in rows})
        if not rows:
            continue
        across = min(4, len(names))
        down = -(-len(names) // across)
        shown, axes = pyplot.subplots(down, across, figsize=(3.2 * across, 2.8 * down), squeeze=False)
        for axis in axes.flat[len(names) :]:
            axis.set_visible(False)
        for axis, name in zip(axes.flat, names):
            own = [row for row in rows if row[0] == name]
            for place, (method, style) in enumerate(zip(methods, ("s--", "o-"))):
                axis.plot([float(row[1]) for row in own], [row[2 + place] for row in own], style, label=method)
            axis.set(title=name, xlabel="observed share ω", ylabel=WORDS[measure_of(name)], xticks=RATES)
        axes[0, 0].legend()
        shown.suptitle(f"{figure}: {methods[1]} and {methods[0]}")
        shown.tight_layout()
        shown.savefig(RESULTS / f"figure{number}.png", dpi=80)
        pyplot.close(shown)


if __name__ == "__main__":
    main()
