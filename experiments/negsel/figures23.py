"""Figures 2 and 3: nDCG@10 against α on synthetic matrices, for several shares ρ̄ of observed positives.

    python experiments/negsel/figures23.py [--size 500] [--powers -20 -16 -12 -8 -4 0 4 8]

The truth is the largest fifth of W Hᵀ, W and H uniform in [0, 1] with k = 10; a share ρ̄ of its positives is observed.
Full, squared loss, each α with the best λ of a grid. As in the paper, observed items are not excluded from the ranking.
"""

from __future__ import annotations

import argparse

import numpy as np
from common import RESULTS, write

from everypair import OneClassMF
from everypair.metrics import ndcg_at_k

SHARES = (0.95, 0.1, 0.05, 0.01)
REGS = tuple(10.0**-power for power in range(1, 13, 3))


def truth(size: int, random: np.random.Generator) -> np.ndarray:
    scores = random.random((size, 10)) @ random.random((size, 10)).T
    return scores >= np.quantile(scores, 0.8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--powers", type=int, nargs="+", default=list(range(-20, 9, 4)))
    options = parser.parse_args()
    random = np.random.default_rng(0)
    positive = truth(options.size, random)
    curves: dict[float, list[float]] = {}
    for share in SHARES:
        observed = positive & (random.random(positive.shape) < share)
        curves[share] = []
        for power in options.powers:
            qualities = []
            for reg in REGS:
                model = OneClassMF(
                    rank=10, loss="squared", negative_weight=2.0**power, reg=reg, reg_exponent="count", max_iter=30,
                    random_state=0,
                )  # fmt: skip
                scores = model.fit(observed.astype(np.float32)).score_users()
                qualities.append(100 * ndcg_at_k(scores, positive.astype(np.float32), 10))
            curves[share].append(max(qualities))
        print(share, [f"{value:.1f}" for value in curves[share]], flush=True)
    lines = [f"# Figures 2 and 3: nDCG@10 against α, m = n = {options.size}, best λ of {len(REGS)}", ""]
    lines.append("| ρ̄ | " + " | ".join(f"α = 2^{power}" for power in options.powers) + " |")
    lines.append("|" + "---|" * (len(options.powers) + 1))
    lines += [f"| {share} | " + " | ".join(f"{value:.1f}" for value in curve) + " |" for share, curve in curves.items()]
    name = f"figures23_{options.size}"
    write(name, {"options": vars(options), "curves": {str(k): v for k, v in curves.items()}}, "\n".join(lines) + "\n")
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, axis = plt.subplots()
    for share, curve in curves.items():
        axis.plot(options.powers, curve, marker=".", label=f"ρ̄ = {share}")
    axis.set(xlabel="log₂ α", ylabel="nDCG@10")
    axis.legend()
    figure.savefig(RESULTS / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main()
