"""Table 1: pooled AUC of drug–target interactions at five rates of observed entries, beside the published figures.

``--printed`` has MLRM as printed, with zeros where nothing is known and without momentum, and its rivals with fits that
go on until they converge; the transductive and global variants besides, for Figures 1 and 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import METHODS, PLAIN_STEPS, PRINTED, Store, arguments, generated, interactions, mean_and_spread, run_cell
from published import AVERAGE_RANK, RATES, TABLE_1

NAMES = ("FPCA", "SIMC", "FNNM", "IMC", "Maxide", "MLRM", "MLRM'")
FIGURES = ("auc", "aupr", "row_auc")
DRAWS = 10


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", nargs="+", default=["GPCRs", "Enzymes"])
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, *PRINTED])
    parser.add_argument("--printed", action="store_true", help="MLRM as printed, rivals until they converge")
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES))
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--orthonormal", action="store_true", help="singular vectors as features, all of one weight")
    args = parser.parse_args()
    title = "table1_printed" if args.printed else "table1_orthonormal" if args.orthonormal else "table1"
    store = Store(title, args.smoke, folder=args.results, anew=args.anew)
    methods = PRINTED if args.printed else METHODS
    names, rates, draws = args.data, args.rates, args.draws
    if args.smoke:
        names, rates, draws = ["generated"], [0.5], 1
    cases = {
        name: generated() if args.smoke else interactions(name, 0.0 if args.orthonormal else 0.5) for name in names
    }
    for name, case in cases.items():
        for method in args.methods or (PRINTED if args.printed else NAMES):
            for rate in rates:

                def make(before: Any, case: Any = case, method: str = method, rate: float = rate) -> dict[str, Any]:
                    if before is None and method == PLAIN_STEPS:
                        before = {**store.cells[f"{case.name} {rate} FNNM"], "runs": []}
                    return run_cell(case, method, rate, draws, "auc", FIGURES, before, methods)

                store.get(f"{name} {rate} {method}", make, draws)
    store.write(f"{title}.md", report(store, args.smoke))
    if args.smoke:
        return
    store.write(f"{title}_cost.md", cost(store))


def columns(store: Store) -> list[str]:
    """The methods of the table: those of every run, and what this one has besides."""
    found = {key.split(" ", 2)[2] for key in store.cells}
    return [name for name in dict.fromkeys((*NAMES, *PRINTED)) if name in NAMES or name in found]


def report(store: Store, smoke: bool) -> list[str]:
    """Ours and (published: how far ours is above it); * = a parameter is at an end of its grid."""
    names = columns(store)
    data = ["generated"] if smoke else list(TABLE_1)
    rates = (0.5,) if smoke else RATES
    lines = ["| data | ω | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    ranks = []
    for name in data:
        for number, rate in enumerate(rates):
            row = []
            for method in names:
                cell = store.cells.get(f"{name} {rate} {method}")
                if cell is None:
                    row.append("")
                    continue
                mean, spread = mean_and_spread(cell, "auc")
                said = TABLE_1.get(name, {}).get(method)
                text = f"{mean:.4f}" + ("" if np.isnan(spread) else f" ± {spread:.4f}")
                text += "*" if cell["at_end_of_grid"] else ""
                row.append(text + ("" if said is None else f" ({said[number][0]:.4f}: {mean - said[number][0]:+.3f})"))
            compared = [store.cells.get(f"{name} {rate} {method}") for method in AVERAGE_RANK]
            if None not in compared:
                ranks.append(dict(zip(AVERAGE_RANK, ranked(compared))))
            if any(row):
                lines.append(f"| {name} | {rate} | " + " | ".join(row) + " |")
    if ranks:
        row = [
            f"{np.mean([r[method] for r in ranks]):.1f} ({AVERAGE_RANK[method]})" if method in AVERAGE_RANK else ""
            for method in names
        ]
        lines.append("| average rank | | " + " | ".join(row) + " |")
    return [
        *lines,
        "",
        "Ranks are those of means over the draws that all five have.",
        f"Mean ± standard deviation of {fewer_draws(store)}.",
    ]


def ranked(cells: list[dict[str, Any]]) -> Any:
    """1 for the greatest mean AUC, over the draws that all cells have."""
    draws = min(len(cell["runs"]) for cell in cells)
    means = np.array([np.mean([run["auc"] for run in cell["runs"][:draws]]) for cell in cells])
    return np.argsort(np.argsort(-means)) + 1


def fewer_draws(store: Store) -> str:
    """How many draws there are, and the cells that have fewer, in words."""
    most = max((len(cell["runs"]) for cell in store.cells.values()), default=0)
    found: dict[tuple[str, str, int], list[str]] = {}
    for key, cell in sorted(store.cells.items()):
        name, rate, method = key.split(" ", 2)
        if len(cell["runs"]) < most:
            found.setdefault((name, method, len(cell["runs"])), []).append(rate)
    words = [f"{name} {method} at ω = {', '.join(rates)}: {n}" for (name, method, n), rates in found.items()]
    return f"{most} draws" + ("; of fewer: " + "; ".join(words) if words else "")


def cost(store: Store) -> list[str]:
    """Mean iterations and CPU seconds of a fit at the chosen point, and draws."""
    names = columns(store)
    lines = ["| data | ω | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for name in TABLE_1:
        for rate in RATES:
            row = []
            for method in names:
                cell = store.cells.get(f"{name} {rate} {method}")
                if cell is None:
                    row.append("")
                    continue
                steps, seconds = mean_and_spread(cell, "iterations")[0], mean_and_spread(cell, "cpu")[0]
                row.append(f"{steps:.0f} / {seconds:.1f} s ({len(cell['runs'])})")
            if any(row):
                lines.append(f"| {name} | {rate} | " + " | ".join(row) + " |")
    return lines


if __name__ == "__main__":
    main()
