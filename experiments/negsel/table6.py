"""Table 6: the five sampling schemes of Subsampled.

    python experiments/negsel/table6.py [--data ml1m] [--regs 0.03 0.1] [--ranks 16 64] [--ratios 1 2]

For each scheme the parameters that are best on the test entries, as in the paper.
"""

from __future__ import annotations

import argparse
import itertools

from common import markdown, measure, published, split, write

from everypair import SubsampledMF

SCHEMES = ("user", "item-f", "item-w", "item-s", "uniform")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="ml1m")
    parser.add_argument("--regs", type=float, nargs="+", default=[0.03, 0.1])
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--ratios", type=float, nargs="+", default=[1, 2])
    options = parser.parse_args()
    train, test = split(options.data)
    rows = []
    for scheme in SCHEMES:
        tried = []
        for reg, rank, ratio in itertools.product(options.regs, options.ranks, options.ratios):
            model = SubsampledMF(rank=rank, reg=reg, ratio=ratio, scheme=scheme, random_state=0).fit(train)
            figures = {"test": measure(model, train, test), "all": measure(model, train, test, "all")}
            tried.append({"parameters": f"reg {reg:g}, rank {rank}, ratio {ratio:g}", **figures})
            print(scheme, tried[-1]["parameters"], f"{tried[-1]['test']['ndcg@10']:.2f}", flush=True)
        best = max(tried, key=lambda point: point["test"]["ndcg@10"])
        rows.append({"method": scheme, "published": published(options.data, scheme), **best, "tried": tried})
    note = f"{options.data}, 9:1, percent; parameters best on the test entries. The split is ours, not the paper's."
    write(f"table6_{options.data}", {"options": vars(options), "rows": rows}, markdown("Table 6", note, rows))


if __name__ == "__main__":
    main()
