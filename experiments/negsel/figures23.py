"""Figures 2 and 3: nDCG@10 against α on synthetic matrices, for several shares ρ̄ of observed positives.

    python experiments/negsel/figures23.py [--size 500] [--powers -20 -18 … 8] [--regs -12 -11 … -1] [--report]

The truth is the largest fifth of W Hᵀ, W and H uniform in [0, 1] with k = 10; a share ρ̄ of its positives is observed.
Full, squared loss, each α with the best λ of a grid. As in the paper, observed items are not excluded from the ranking
and the best λ is the best by the truth. One matrix and one draw of the observed entries.
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
from everypair.metrics import ndcg_at_k

SHARES = (0.95, 0.1, 0.05, 0.01)
NEAR = 0.5  # points of nDCG within which two values of α are taken as equally good


def truth(size: int, random: np.random.Generator) -> np.ndarray:
    scores = random.random((size, 10)) @ random.random((size, 10)).T
    return scores >= np.quantile(scores, 0.8)


def curves(options: Any) -> dict[str, list[list[float]]]:
    """nDCG@10 in percent for each share, power of α and power of λ."""
    random = np.random.default_rng(0)
    positive = truth(options.size, random)
    found: dict[str, list[list[float]]] = {}
    for share in SHARES:
        observed = (positive & (random.random(positive.shape) < share)).astype(np.float32)
        found[str(share)] = []
        for power in options.powers:
            row = []
            for reg in options.regs:
                model = OneClassMF(
                    rank=options.rank, loss="squared", negative_weight=2.0**power, reg=10.0**reg, reg_exponent="count",
                    max_iter=30, random_state=0,
                )  # fmt: skip
                scores = model.fit(observed).score_users()
                row.append(100 * ndcg_at_k(scores, positive.astype(np.float32), 10))
            found[str(share)].append(row)
        print(share, [f"{max(row):.1f}" for row in found[str(share)]], flush=True)
    return found


def report(options: dict[str, Any], found: dict[str, list[list[float]]]) -> str:
    """The best λ for every α, and for every share the α that are nearly as good as the best."""
    powers, regs = options["powers"], options["regs"]
    lines = [
        f"# Figures 2 and 3: nDCG@10 against α, m = n = {options['size']}",
        "",
        f"Each α with the best λ of 10^{regs[0]} … 10^{regs[-1]} ({len(regs)} values), {MARK} where that is the first "
        "or the last of them. One matrix, one draw.",
        "",
        "| ρ̄ | " + " | ".join(f"α = 2^{power}" for power in powers) + " |",
        "|" + "---|" * (len(powers) + 1),
    ]
    said = []
    for share, rows in found.items():
        cells = [f"{max(row):.1f}{MARK if np.argmax(row) in (0, len(row) - 1) else ''}" for row in rows]
        lines.append(f"| {share} | " + " | ".join(cells) + " |")
        best = [max(row) for row in rows]
        near = [power for power, value in zip(powers, best) if value >= max(best) - NEAR]
        others = ", ".join(f"2^{power}" for power in near)
        said.append(f"- ρ̄ = {share}: best at α = 2^{powers[int(np.argmax(best))]}; within {NEAR:g} of it: {others}.")
    return "\n".join([*lines, "", *said]) + "\n"


def plot(path: Path, powers: list[int], found: dict[str, list[list[float]]]) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is not installed: no plot (pip install everypair[plot]).")
        return
    figure, axis = plt.subplots()
    for share, rows in found.items():
        axis.plot(powers, [max(row) for row in rows], marker=".", label=f"ρ̄ = {share}")
    axis.set(xlabel="log₂ α", ylabel="nDCG@10")
    axis.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--powers", type=int, nargs="+", default=list(range(-20, 9, 2)), help="of 2: α")
    parser.add_argument("--regs", type=int, nargs="+", default=list(range(-12, 0)), help="powers of 10: λ")
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--report", action="store_true", help="only write table and plot again, from the JSON")
    options = parse(parser, RESULTS, size=40, rank=4, powers=[-8, 0], regs=[-6, -1])
    name = f"figures23_{options.size}"
    if options.report:
        record = json.loads((options.results / f"{name}.json").read_text())
    else:
        record = {"options": {key: getattr(options, key) for key in ("size", "powers", "regs")}}
        record["curves"] = curves(options)
    write(options.results, name, record, report(record["options"], record["curves"]))
    plot(options.results / f"{name}.png", record["options"]["powers"], record["curves"])


if __name__ == "__main__":
    main()
