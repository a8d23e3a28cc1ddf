"""Figures 1 to 3 as tables and plots: transductive MLRM against FPCA, global MLRM against SIMC, MLRM against MLRM'.

Ratings are measured by MAE (of corrected values within 1 to 5), interactions by pooled AUC. The figures themselves are
not in the text of the paper, so there is nothing published to put beside.
"""

from __future__ import annotations

from typing import Any

from common import RESULTS, Case, Store, arguments, generated, interactions, mean_and_spread, ratings, run_cell
from published import RATES

FIGURES = {
    "Figure 1": ("FPCA", "MLRM transductive"),
    "Figure 2": ("SIMC", "MLRM global"),
    "Figure 3": ("MLRM", "MLRM'"),
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--figures", nargs="+", default=list(FIGURES), choices=list(FIGURES))
    parser.add_argument("--data", nargs="+", default=["ml100k", "GPCRs", "Enzymes"])
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES))
    parser.add_argument("--draws", type=int, default=1)
    args = parser.parse_args()
    store = Store("figures", args.smoke)
    names, rates = (["generated"], [0.5]) if args.smoke else (args.data, args.rates)
    for name in names:
        case = load(name)
        metric, shown = ("r2", ("mae", "rmse")) if case.known is not None else ("auc", ("auc", "aupr", "row_auc"))
        for figure in args.figures:
            for method in FIGURES[figure]:
                if name == "ml100k" and method == "SIMC":  # dense, with an SVD of 943 × 1,682 in every iteration
                    continue
                for rate in rates:
                    store.get(
                        f"{name} {rate} {method}",
                        lambda c=case, m=method, r=rate, q=metric, s=shown: run_cell(c, m, r, args.draws, q, s),
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
    """(data, rate, first method, second method, whether the second wins) of a figure."""
    first, second = FIGURES[figure]
    found = []
    for key, cell in store.cells.items():
        name, rate, method = key.split(" ", 2)
        other = store.cells.get(f"{name} {rate} {second}")
        if method != first or other is None:
            continue
        shown = "mae" if "mae" in cell["runs"][0] else "auc"
        one, two = (mean_and_spread(c, shown)[0] for c in (cell, other))
        found.append((name, rate, one, two, two < one if shown == "mae" else two > one))
    return found


def report(store: Store) -> list[str]:
    lines = []
    for figure, (first, second) in FIGURES.items():
        rows = points(store, figure)
        if not rows:
            continue
        lines += [f"## {figure}", "", f"| data | ω | {first} | {second} | better |", "|---|---|---|---|---|"]
        lines += [f"| {n} | {r} | {a:.4f} | {b:.4f} | {second if won else first} |" for n, r, a, b, won in rows]
        lines += ["", f"{second} is better in {sum(won for *_, won in rows)} of {len(rows)} cases.", ""]
    return lines


def plot(store: Store) -> None:
    """One square per figure and kind of data, as in the paper: the first method across, the second upwards."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for number, figure in enumerate(FIGURES, start=1):
        rows = points(store, figure)
        kinds: dict[str, list[Any]] = {}
        for row in rows:
            kinds.setdefault("MAE, ml100k" if row[0] == "ml100k" else "AUC, interactions", []).append(row)
        shown, axes = pyplot.subplots(1, max(1, len(kinds)), figsize=(5 * max(1, len(kinds)), 5), squeeze=False)
        for axis, (kind, members) in zip(axes[0], kinds.items()):
            ends = [min(min(r[2], r[3]) for r in members), max(max(r[2], r[3]) for r in members)]
            axis.plot(ends, ends, color="grey", linewidth=1)
            for name, rate, one, two, won in members:
                marker = {"Enzymes": "^", "GPCRs": "s"}.get(name, "o")
                axis.scatter(one, two, s=40 + 160 * float(rate), marker=marker, color="tab:red" if won else "tab:blue")
            axis.set(title=f"{figure}: {kind}", xlabel=FIGURES[figure][0], ylabel=FIGURES[figure][1])
        shown.tight_layout()
        shown.savefig(RESULTS / f"figure{number}.png", dpi=80)
        pyplot.close(shown)


if __name__ == "__main__":
    main()
