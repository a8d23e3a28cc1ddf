"""Claims 7 and 8 and Theorem 4 on data drawn as their proofs draw them, and what a product costs by Algorithm 2.

    python experiments/leml/theory.py [--draws 200] [--rounds 5]

With the proofs' linear loss the gap between the empirical and the population risk of the empirical minimiser over a
unit ball is the dual norm of M/n, M = Σ_i x_i e_{l_i}ᵀ (l_i the label that row i shows): ‖M‖_F/n for the Frobenius
ball, ‖M‖₂/n for the ball of the trace norm. The claims say that gap·√n has a positive lower bound on one direction
(Claim 7) and, for the Frobenius ball, on isotropic rows (Claim 8), where that of the trace norm falls as 1/√(nL)
(Theorem 4).

The product XᵀX S HᵀH is timed beside the same product through all n·L scores. Writes theory.json and theory.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import common
import numpy as np
import scipy.sparse as sp
from common import RESULTS

SIZES = ((1000, 64, 16), (1000, 64, 64), (4000, 64, 64), (1000, 64, 256), (4000, 64, 256), (4000, 256, 256))
PRODUCTS = ((2000, 2000, 200), (2000, 2000, 800), (2000, 2000, 3200), (8000, 2000, 800))
ROW_ENTRIES, RANK = 50, 50


def gaps(n: int, d: int, labels: int, draws: int, random: np.random.Generator) -> dict[str, list[float]]:
    """Gaps of every draw, scaled as the claims say: one direction, isotropic Frobenius, isotropic trace norm."""
    found: dict[str, list[float]] = {"one direction, trace norm": [], "Frobenius": [], "trace norm": []}
    for _ in range(draws):
        shown = sp.csr_array((np.ones(n), random.integers(labels, size=n), np.arange(n + 1)), shape=(n, labels))
        direction = random.choice([-1.0, 1.0], size=n)
        rows = random.choice([-1.0, 1.0], size=(n, d)) / np.sqrt(d)
        found["one direction, trace norm"].append(float(np.linalg.norm(shown.T @ direction) / n * np.sqrt(n)))
        M = shown.T @ rows
        found["Frobenius"].append(float(np.linalg.norm(M) / n * np.sqrt(n)))
        found["trace norm"].append(float(np.linalg.norm(M, 2) / n * np.sqrt(n * labels)))
    return found


def risk_rows(draws: int) -> list[dict[str, Any]]:
    random = np.random.default_rng(0)
    rows = []
    for n, d, labels in SIZES:
        every = gaps(n, d, labels, draws, random)
        spread = {name: [float(np.quantile(values, share)) for share in (0.25, 0.5, 0.75)]
                  for name, values in every.items()}  # fmt: skip
        rows.append({"n": n, "d": d, "labels": labels, "draws": draws, "quartiles": spread})
    return rows


def seconds_of(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def product_rows(rounds: int) -> list[dict[str, Any]]:
    """CPU seconds of XᵀX S HᵀH by the order of Algorithm 2, and through X S Hᵀ, which has n·L entries."""
    random = np.random.default_rng(1)
    rows = []
    for n, d, labels in PRODUCTS:
        X = sp.random_array((n, d), density=ROW_ENTRIES / d, format="csr", rng=random)
        S, H = random.standard_normal((d, RANK)), random.standard_normal((labels, RANK))
        ways = {
            "Algorithm 2": lambda X=X, S=S, H=H: X.T @ ((X @ S) @ (H.T @ H)),
            "all scores": lambda X=X, S=S, H=H: X.T @ (((X @ S) @ H.T) @ H),
        }
        np.testing.assert_allclose(ways["Algorithm 2"](), ways["all scores"](), rtol=1e-6, atol=1e-6)
        every = [[seconds_of(way) for way in ways.values()] for _ in range(rounds)]
        least = dict(zip(ways, np.min(every, axis=0).tolist()))
        rows.append({"n": n, "d": d, "labels": labels, "rank": RANK, "seconds": least})
    return rows


def report(rows: list[dict[str, Any]]) -> str:
    risks = [
        (*(str(row[name]) for name in ("n", "d", "labels")),
         *(f"{q[1]:.2f} ({q[0]:.2f} to {q[2]:.2f})" for q in row["quartiles"].values()))
        for row in rows if "quartiles" in row
    ]  # fmt: skip
    products = [
        (str(row["n"]), str(row["labels"]), *(f"{1000 * one:.1f}" for one in row["seconds"].values()),
         f"{row['seconds']['all scores'] / row['seconds']['Algorithm 2']:.1f}")
        for row in rows if "seconds" in row
    ]  # fmt: skip
    head = ("n", "d", "L", "one direction: gap·√n", "isotropic, Frobenius: gap·√n", "isotropic, trace norm: gap·√(nL)")
    return (
        f"# Claims 7 and 8, Theorem 4\n\nMedian (quartiles) over {rows[0]['draws']} draws.\n\n"
        + common.table(head, risks)
        + f"\n# The order of products, rank {RANK}, {ROW_ENTRIES} features a row\n\nCPU milliseconds, the least of "
        "several rounds, one thread.\n\n"
        + common.table(("n", "L", "Algorithm 2", "through all scores", "times"), products)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = common.parse(parser, RESULTS, draws=3, rounds=1)
    rows = [*risk_rows(options.draws), *product_rows(options.rounds)]
    common.write(options.results, "theory", rows, report(rows))
    print(report(rows))


if __name__ == "__main__":
    main()
