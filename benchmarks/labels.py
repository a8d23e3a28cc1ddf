"""Multi-label learning at size.

python benchmarks/labels.py missing     a gradient and a Hessian·vector product with missing labels against
                                        |Ω| + nnz(X) + d + L
python benchmarks/labels.py wiki        a generated tenth of a wiki: 88,000 rows, 37,000 features, 21,000 labels
python benchmarks/labels.py hundred     100,000 rows: KernelLabels by landmarks, MultiLabelMF, a model per label

``hundred`` needs the data folder (EVERYPAIR_DATA): its rows are training rows of delicious drawn again and again, a
third of each one's words left out at random, with the 100 commonest labels; test rows are the published ones. Each
method runs in a process of its own (--method), and results go into results/labels_hundred.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
import datasets
from smoke import parse

from everypair import KernelLabels, MultiLabelMF
from everypair.data import Pairs
from everypair.features.matrix import Features
from everypair.metrics import multilabel_metrics
from everypair.models.multilabel.rivals import BinaryRelevance
from everypair.problem import Negatives, Objective, Ridge
from everypair.problem.embedding import SideInformation
from everypair.problem.layout import LEFT, Layout
from everypair.solvers.alternating import Alternating
from everypair.solvers.half_step import RowSteps
from everypair.training.start import random_start

RESULTS = Path(__file__).parent / "results"
MODELS = {
    "KernelLabels": lambda: KernelLabels(n_threads=1),
    "MultiLabelMF": lambda: MultiLabelMF(random_state=0, n_threads=1),
    "BinaryRelevance": lambda: BinaryRelevance(n_threads=1),
}
LABELS, LEFT_OUT = 100, 1 / 3


def skewed(rows: int, columns: int, per_row: int, random: np.random.Generator) -> Any:
    """Ones in ``per_row`` places of every row, columns drawn by a power law."""
    popularity = 1 / np.arange(1, columns + 1) ** 0.8
    chosen = random.choice(columns, size=rows * per_row, p=popularity / popularity.sum())
    matrix = sp.csr_array((np.ones(rows * per_row, np.float32), (np.repeat(np.arange(rows), per_row), chosen)),
                          shape=(rows, columns))  # fmt: skip
    matrix.data[:] = 1
    return matrix


def objective_of(X: Any, labels: Any, loss: str, weight: float, rank: int, reg: float) -> Objective:
    """LEML: features on the left, labels on the right, one ridge; weight 0 counts known labels only."""
    pairs = Pairs.from_matrix(labels)
    return Objective(
        pairs, loss, Negatives.from_scheme(pairs, weight), Ridge.checked(reg, 0), n_threads=2,
        side_information=(SideInformation(Features(X, np.float32), reg, own=False), None),
    )  # fmt: skip


def missing(rounds: int, rank: int, heights: list[int]) -> None:
    """Seconds of a gradient and a product, over several sizes with all parts growing."""
    random, sizes, seconds = np.random.default_rng(0), [], []
    for rows in heights:
        X = skewed(rows, rows // 4, 40, random)
        known = skewed(rows, rows // 8, 25, random)
        known.data[random.random(known.nnz) < 0.7] = -1  # known negatives
        objective = objective_of(X, known, "logistic", 0.0, rank, 1.0)
        state = random_start(objective, Layout(rank), random)
        theta = state.parameters(LEFT) + np.float32(0.01)
        times = {"gradient": [], "product": []}
        for _ in range(rounds + 1):
            begin = time.process_time()
            direction = objective.gradient(LEFT, theta, state.right)
            middle = time.process_time()
            objective.hessian_vector(LEFT, direction, theta, state.right)
            times["gradient"].append(middle - begin)
            times["product"].append(time.process_time() - middle)
        sizes.append(known.nnz + X.nnz + sum(X.shape[1:]) + known.shape[1])
        seconds.append(min(times["gradient"]) + min(times["product"]))
        print(f"|Ω| {known.nnz:>9,}  nnz(X) {X.nnz:>9,}  n·L {rows * known.shape[1]:>13,}  gradient "
              f"{min(times['gradient']):.3f}  product {min(times['product']):.3f} CPU s", flush=True)  # fmt: skip
    fit = np.polyfit(sizes, seconds, 1)
    rest = np.asarray(seconds) - np.polyval(fit, sizes)
    print(f"affine fit: R² = {1 - rest.var() / np.var(seconds):.4f}")


def wiki(rank: int, sweeps: int, share: float) -> None:
    """Squared loss on every pair, alternating iterations from a cold start; ``share`` of the full size."""
    random = np.random.default_rng(0)
    rows, features, labels = (max(10, int(share * size)) for size in (88_000, 37_000, 21_000))
    X = skewed(rows, features, 147, random)
    X.data[:] = 1 / np.sqrt(147)
    objective = objective_of(X, skewed(rows, labels, 7, random), "squared", 1.0, rank, 1.0)
    begin = time.process_time(), time.perf_counter()
    solver = Alternating(objective, RowSteps(cg=3))
    print(f"prepared in {time.process_time() - begin[0]:.1f} CPU s", flush=True)
    state = random_start(objective, Layout(rank), random)
    for sweep in range(1, sweeps + 1):
        begin = time.process_time(), time.perf_counter()
        state = solver.step(state)
        print(f"iteration {sweep}: {time.process_time() - begin[0]:.1f} CPU s, {time.perf_counter() - begin[1]:.1f} s, "
              f"objective {state.objective:,.0f}", flush=True)  # fmt: skip
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def hundred(folder: Path, method: str, rows: int) -> None:
    """CPU seconds, peak memory and precision of one method on many rows."""
    archive = datasets.read("ml_delicious")
    X, Y, Z, truth = (datasets.sparse(archive, part) for part in ("X_train", "Y_train", "X_test", "Y_test"))
    commonest = np.sort(np.argsort(-np.asarray(Y.sum(axis=0)).ravel(), kind="stable")[:LABELS])
    random = np.random.default_rng(0)
    drawn = random.integers(X.shape[0], size=rows)
    X, Y, truth = sp.csr_array(X[drawn], dtype=np.float32), Y[drawn][:, commonest], truth[:, commonest]
    X.data[random.random(X.nnz) < LEFT_OUT] = 0
    X.eliminate_zeros()
    begin = time.process_time()
    model = MODELS[method]().fit(X, Y)
    fitted = time.process_time()
    scores = model.predict_scores(sp.csr_array(Z, dtype=np.float32))
    answered = time.process_time()
    found = multilabel_metrics(scores, truth, ks=(1, 3, 5))
    record = {name: round(100 * found[name], 2) for name in ("precision@1", "precision@3", "precision@5", "ndcg@5")}
    record |= {
        "rows": rows, "cpu_seconds": round(fitted - begin, 1),
        "milliseconds_a_row": round(1000 * (answered - fitted) / Z.shape[0], 3),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }  # fmt: skip
    path = folder / "labels_hundred.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results[method] = record
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(method, record, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("missing", "wiki", "hundred"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rank", type=int, help="64 for missing, 100 for wiki")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000, 40_000, 80_000], help="of missing")
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--method", choices=tuple(MODELS), default="KernelLabels", help="of hundred")
    parser.add_argument("--share", type=float, default=1.0, help="of the full size of wiki")
    options = parse(parser, RESULTS, rounds=1, rank=4, rows=[200, 300, 400], sweeps=2, share=0.002)
    if options.what == "missing":
        missing(options.rounds, options.rank or 64, options.rows)
    elif options.what == "hundred":
        hundred(options.results, options.method, 500 if options.smoke else 100_000)
    else:
        wiki(options.rank or 100, options.sweeps, options.share)


if __name__ == "__main__":
    main()
