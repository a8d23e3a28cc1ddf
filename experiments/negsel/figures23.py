"""Figures 2 and 3: quality against α on synthetic matrices, for several shares ρ̄ of observed positives.

    python experiments/negsel/figures23.py [--size 500] [--draws 3] [--powers -20 … 8] [--regs -8 … -1] [--report]

The truth is the largest fifth of W Hᵀ, W and H uniform in [0, 1] with k = 10; a share ρ̄ of its positives is observed.
Full, squared loss, each α with the best λ of a grid by nDCG@10. As in the paper, observed items are not excluded from
the ranking and the best λ is the best by the truth. A draw is a matrix with observed entries of its own. All sweeps are
made, without early stopping: at small α it ends far from the optimum, and the curve then falls where it should not.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, parse, write
from edges import MARK

from everypair import OneClassMF
from everypair.metrics import auc, mean_average_precision, ndcg_at_k, nhlu

SHARES = (0.95, 0.1, 0.05, 0.01)
NEAR = 0.5  # points of nDCG within which two values of α are taken as equally good
MEASURES = {
    "ndcg@10": lambda scores, truth: ndcg_at_k(scores, truth, 10),
    "nhlu": nhlu,
    "map": mean_average_precision,
    "auc": auc,
}


def truth(size: int, random: np.random.Generator) -> np.ndarray:
    scores = random.random((size, 10)) @ random.random((size, 10)).T
    return scores >= np.quantile(scores, 0.8)


def curves(options: Any, draw: int) -> dict[str, list[list[dict[str, float]]]]:
    """Every measure in percent for each share, power of α and power of λ."""
    random = np.random.default_rng(draw)
    positive = truth(options.size, random)
    found: dict[str, list[list[dict[str, float]]]] = {}
    for share in SHARES:
        observed = (positive & (random.random(positive.shape) < share)).astype(np.float32)
        found[str(share)] = []
        for power in options.powers:
            row = []
            for reg in options.regs:
                model = OneClassMF(
                    rank=options.rank, loss="squared", negative_weight=2.0**power, reg=10.0**reg, reg_exponent="count",
                    max_iter=options.sweeps, tol=0, random_state=draw,
                )  # fmt: skip
                scores = model.fit(observed).score_users()
                wanted = positive.astype(np.float32)
                row.append({name: round(100 * measure(scores, wanted), 3) for name, measure in MEASURES.items()})
            found[str(share)].append(row)
        print(draw, share, [f"{max(one['ndcg@10'] for one in row):.1f}" for row in found[str(share)]], flush=True)
    return found


def best_of(rows: list[list[dict[str, float]]]) -> list[dict[str, float]]:
    """Each α's figures at its λ with the best nDCG@10."""
    return [max(row, key=lambda one: one["ndcg@10"]) for row in rows]


def means(draws: list[dict[str, Any]], share: str, measure: str) -> np.ndarray:
    """A curve over α, the mean of the draws."""
    return np.mean([[one[measure] for one in best_of(draw[share])] for draw in draws], axis=0)


def report(options: dict[str, Any], draws: list[dict[str, Any]]) -> str:
    """The best λ for every α, and for every share the α that are nearly as good as the best."""
    powers, regs = options["powers"], options["regs"]
    lines = [
        f"# Figures 2 and 3: quality against α, m = n = {options['size']}",
        "",
        f"Each α with the best λ of 10^{regs[0]} … 10^{regs[-1]} ({len(regs)} values) by nDCG@10, {MARK} where that is "
        f"the first or the last of them in every draw. Means of {len(draws)} draws, {options['sweeps']} sweeps.",
        "",
        "| ρ̄ | measure | " + " | ".join(f"α = 2^{power}" for power in powers) + " |",
        "|" + "---|" * (len(powers) + 2),
    ]
    said = []
    for share in draws[0]:
        ends = [
            all(np.argmax([one["ndcg@10"] for one in draw[share][number]]) in (0, len(regs) - 1) for draw in draws)
            for number in range(len(powers))
        ]
        for measure in draws[0][share][0][0]:
            cells = [f"{value:.1f}{MARK if end else ''}" for value, end in zip(means(draws, share, measure), ends)]
            lines.append(f"| {share} | {measure} | " + " | ".join(cells) + " |")
        best = means(draws, share, "ndcg@10")
        near = [power for power, value in zip(powers, best) if value >= max(best) - NEAR]
        others = ", ".join(f"2^{power}" for power in near)
        said.append(f"- ρ̄ = {share}: best nDCG@10 at α = 2^{powers[int(np.argmax(best))]}; within {NEAR:g}: {others}.")
    return "\n".join([*lines, "", *said]) + "\n"


def plot(path: Path, powers: list[int], draws: list[dict[str, Any]]) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is not installed: no plot (pip install everypair[plot]).")
        return
    figure, axis = plt.subplots()
    for share in draws[0]:
        axis.plot(powers, means(draws, share, "ndcg@10"), marker=".", label=f"ρ̄ = {share}")
    axis.set(xlabel="log₂ α", ylabel="nDCG@10")
    axis.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--powers", type=int, nargs="+", default=list(range(-20, 9, 2)), help="of 2: α")
    parser.add_argument("--regs", type=int, nargs="+", default=list(range(-8, 0)), help="powers of 10: λ")
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--report", action="store_true", help="only write table and plot again, from the JSON")
    options = parse(parser, RESULTS, size=40, rank=4, powers=[-8, 0], regs=[-6, -1], sweeps=20)
    name = f"figures23_{options.size}"
    if options.report:
        record = json.loads((options.results / f"{name}.json").read_text())
    else:
        record = {"options": {key: getattr(options, key) for key in ("size", "powers", "regs", "sweeps")}}
        record["draws"] = [curves(options, draw) for draw in range(options.draws)]
    write(options.results, name, record, report(record["options"], record["draws"]))
    plot(options.results / f"{name}.png", record["options"]["powers"], record["draws"])


if __name__ == "__main__":
    main()
