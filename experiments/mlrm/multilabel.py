"""Multi-label completion: average precision of hidden labels at five rates, features on the left, C = I."""

from __future__ import annotations

from common import Store, arguments, generated, labels, mean_and_spread, run_cell
from published import RATES

DATA = ("emotions", "birds", "yeast", "scene", "medical")
NAMES = ("FPCA", "SIMC", "FNNM", "Maxide", "MLRM global", "MLRM", "MLRM'")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--methods", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES))
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--prepared", action="store_true", help="features scaled and centred, with a constant")
    args = parser.parse_args()
    title = "multilabel_prepared" if args.prepared else "multilabel"
    store = Store(title, args.smoke, folder=args.results, anew=args.anew)
    names, rates = (["generated"], [0.5]) if args.smoke else (args.data, args.rates)
    for name in names:
        case = generated() if args.smoke else labels(name, args.prepared)
        for method in args.methods:
            for rate in rates:
                store.get(
                    f"{name} {rate} {method}",
                    lambda before, c=case, m=method, r=rate: run_cell(
                        c, m, r, args.draws, "average_precision", ("average_precision", "row_auc", "auc"), before
                    ),
                    args.draws,
                )
    lines = ["| data | ω | " + " | ".join(NAMES) + " |", "|---" * (len(NAMES) + 2) + "|"]
    for name in names if args.smoke else DATA:
        for rate in (0.5,) if args.smoke else RATES:
            cells = [store.cells.get(f"{name} {rate} {method}") for method in NAMES]
            if not any(cells):
                continue
            values = [None if c is None else mean_and_spread(c, "average_precision")[0] for c in cells]
            best = None if None in values else max(values)  # no winner where something was not run
            texts = [
                ""
                if v is None
                else (f"**{v:.4f}**" if v == best else f"{v:.4f}") + ("*" if c["at_end_of_grid"] else "")
                for v, c in zip(values, cells)
            ]
            lines.append(f"| {name} | {rate} | " + " | ".join(texts) + " |")
    store.write(f"{title}.md", lines)


if __name__ == "__main__":
    main()
