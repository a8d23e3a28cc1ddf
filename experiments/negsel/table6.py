"""Table 6: the five sampling schemes of Subsampled, and the users' shares that the paper takes item-f for.

    python experiments/negsel/table6.py [--data ml1m] [--regs 0.03 0.1] [--ranks 16 64] [--ratios 1 2] [--draws 3]

For each scheme the parameters that are best on the test entries, as in the paper, by one draw of the sample and of the
start; they are then fitted with further draws. The baseline that its 2.2 names has
|Ω_i⁻| = |Ω_i⁺| with items by popularity; in its item-f every user draws alike. ``--schemes`` runs some of them and
leaves the other rows of the JSON as they are.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

from common import RESULTS, SCHEMES, markdown, measure, parse, split, stored_rows, write

from everypair import SubsampledMF

EVERY = {**SCHEMES, "user-quota": "user-quota"}


def fitted(scheme: str, point: dict[str, Any], train: Any, seed: int = 0) -> SubsampledMF:
    """A model on a draw of its own."""
    return SubsampledMF(**point, scheme=EVERY[scheme], random_state=seed).fit(train)


def report(data: str, rows: list[dict[str, Any]]) -> str:
    note = f"{data}, 9:1, percent; parameters best on the test entries. The split is ours, not the paper's."
    lines = [markdown("Table 6", note, data, rows), "nDCG@10 of every draw of sample and start:", ""]
    lines += [f"- {row['method']}: {', '.join(format(one['ndcg@10'], '.2f') for one in row['draws'])}" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="ml1m")
    parser.add_argument("--regs", type=float, nargs="+", default=[0.03, 0.1])
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--ratios", type=float, nargs="+", default=[1, 2])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--schemes", nargs="+", choices=EVERY, default=list(EVERY))
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    options = parse(parser, RESULTS, regs=[0.1, 0.3], ranks=[4], ratios=[1.0], draws=2)
    name = f"table6_{options.data}"
    rows = stored_rows(options.results, name, needed=options.report)
    if not options.report:
        rows = [row for row in rows if row["method"] not in options.schemes]
    train, test = (None, None) if options.report else split(options.data)
    for scheme in () if options.report else options.schemes:
        tried = []
        for reg, rank, ratio in itertools.product(options.regs, options.ranks, options.ratios):
            model = fitted(scheme, {"reg": reg, "rank": rank, "ratio": ratio}, train)
            figures = {"test": measure(model, train, test), "all": measure(model, train, test, "all")}
            tried.append({**figures, "point": {"reg": reg, "rank": rank, "ratio": ratio}})
            print(scheme, tried[-1]["point"], f"{tried[-1]['test']['ndcg@10']:.2f}", flush=True)
        best = max(tried, key=lambda entry: entry["test"]["ndcg@10"])
        others = [fitted(scheme, best["point"], train, seed) for seed in range(1, options.draws)]
        draws = [best["test"], *(measure(model, train, test) for model in others)]
        rows.append({"method": scheme, **best, "tried": tried, "draws": draws})
    rows.sort(key=lambda row: list(EVERY).index(row["method"]))
    write(options.results, name, {"rows": rows}, report(options.data, rows))


if __name__ == "__main__":
    main()
