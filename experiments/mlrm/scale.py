"""Time and memory of MLRM on a growing series of generated matrices of rank 20, and on ml100k.

    python experiments/mlrm/scale.py                      # the series up to 20,000 × 5,000
    python experiments/mlrm/scale.py --only ml100k

Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp
from common import RESULTS, arguments, ratings

from everypair import MLRM
from everypair.data.observed import Observed
from everypair.metrics import entry_metrics

RANK = 20
PER_ROW = 100  # observed entries of a row, so that the planted part stays as far above the noise at every size
ABOVE_NOISE = 0.7  # share of the largest singular value that is taken off
SIZES = ((1250, 312), (2500, 625), (5000, 1250), (10_000, 2500), (20_000, 5000))


def generated_pairs(n: int, m: int, count: int) -> tuple[Observed, Observed, np.ndarray]:
    """Observed entries of a rank-20 matrix with noise, as many hidden ones, and features that explain half of it."""
    random = np.random.default_rng(0)
    left, right = random.standard_normal((n, RANK)), random.standard_normal((m, RANK))
    places = random.permutation(np.unique(random.integers(0, n * m, 4 * count)))[: 2 * count]
    halves = []
    for part in np.split(places, 2):
        part = np.sort(part)
        i, j = np.divmod(part, m)
        values = np.einsum("tf,tf->t", left[i], right[j]) / np.sqrt(RANK) + 0.1 * random.standard_normal(len(part))
        halves.append(Observed.from_matrix(sp.csr_array((values, (i, j)), shape=(n, m))))
    return halves[0], halves[1], left[:, : RANK // 2]


def one(n: int, m: int) -> dict[str, float]:
    observed, hidden, features = generated_pairs(n, m, n * PER_ROW)
    Y = observed.to_csr()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    probe = MLRM()
    nuclear, l1 = probe._prepare(probe._data(observed, features, None)).ranking.strongest()
    start, wall = time.process_time(), time.perf_counter()
    model = MLRM(nuclear_reg=ABOVE_NOISE * nuclear, l1_reg=0.05 * l1, max_iter=30).fit(Y, left_features=features)
    seconds, elapsed = time.process_time() - start, time.perf_counter() - wall
    found = entry_metrics(model.predict(hidden.rows, hidden.indices), hidden.values)
    return {
        "rows": n, "columns": m, "observed": observed.nnz, "iterations": model.n_iter_, "rank": model.rank_,
        "cpu_seconds": seconds, "wall_seconds": elapsed, "cpu_per_iteration": seconds / model.n_iter_,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10, "mb_before_fit": before,
        "dense_mb": n * m * 8 / 2**20, "pairs_mb": n * m * (m - 1) / 2 * 8 / 2**20, "r2_hidden": found["r2"],
    }  # fmt: skip


def ml100k() -> dict[str, float]:
    """With features, the regularisation chosen by the path: everything that a default fit does."""
    case = ratings()
    mask = case.draw(0.8, 0)
    start, wall = time.process_time(), time.perf_counter()
    model = MLRM().fit(sp.csr_array(np.where(mask, case.truth, 0)), left_features=case.left, right_features=case.right)
    seconds, elapsed = time.process_time() - start, time.perf_counter() - wall
    rows, columns = np.nonzero(case.hidden(mask))
    found = entry_metrics(model.predict(rows, columns), case.truth[rows, columns])
    return {
        "rows": 943, "columns": 1682, "observed": int(mask.sum()), "path": len(model.path_),
        "iterations": model.n_iter_, "rank": model.rank_, "cpu_seconds": seconds, "wall_seconds": elapsed,
        "mae_hidden": found["mae"], "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
    }  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", default=[str(number) for number in range(len(SIZES))] + ["ml100k"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.smoke:
        print("generated", one(400, 300))
        return
    if args.child is not None:
        print(json.dumps(ml100k() if args.child == "ml100k" else one(*SIZES[int(args.child)])))
        return
    path = RESULTS / "scale.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in args.only:
        run = subprocess.run([sys.executable, __file__, "--child", name], capture_output=True, text=True, check=True)
        found[name] = json.loads(run.stdout)
        print(name, found[name], flush=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
    heads = (
        "rows × columns", "observed", "iterations", "rank", "CPU s", "CPU s / iteration", "peak MB", "dense n × m MB",
        "pair columns MB", "r² hidden",
    )  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for name in map(str, range(len(SIZES))):
        if name in found:
            r = found[name]
            lines.append(
                f"| {r['rows']:,} × {r['columns']:,} | {r['observed']:,} | {r['iterations']} | {r['rank']} | "
                f"{r['cpu_seconds']:.1f} | {r['cpu_per_iteration']:.2f} | {r['peak_mb']:,.0f} | {r['dense_mb']:,.0f} | "
                f"{r['pairs_mb']:,.0f} | {r['r2_hidden']:.3f} |"
            )
    if "ml100k" in found:
        r = found["ml100k"]
        lines += [
            "",
            f"ml100k, default fit with features ({r['path']} points of the path): {r['cpu_seconds']:.1f} s CPU, "
            f"{r['wall_seconds']:.1f} s wall on a shared machine, peak {r['peak_mb']:,.0f} MB, "
            f"MAE {r['mae_hidden']:.4f}.",
        ]
    (RESULTS / "scale.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
