"""Side information at work: CPU seconds, CG steps and cost against size.

    python benchmarks/multilabel.py peers      to the best validation point, beside scikit-learn's one-vs-rest and PECOS
    python benchmarks/multilabel.py cg         CG steps per Newton step, with and without the all-pairs preconditioner
    python benchmarks/multilabel.py cost       one sweep against nnz(X) + |Ω⁺| + nnz(L)

``peers`` and ``cg`` need the data folder (EVERYPAIR_DATA); PECOS is measured where it is installed.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from everypair.data.pairs import Pairs
from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.features.scaling import prepare_features
from everypair.metrics import multilabel_metrics
from everypair.problem.embedding import SideInformation
from everypair.problem.negatives import Negatives
from everypair.problem.objective import LEFT, RIGHT, Objective
from everypair.problem.ridge import Ridge
from everypair.solvers.alternating import Alternating
from everypair.solvers.block import BlockSteps
from everypair.solvers.half_step import RowSteps
from everypair.training.start import random_start

# rank, negative weight, ridge (both sides) and sweeps, chosen on a fifth of the training rows (experiments/ocsmf)
CHOSEN = {"bibtex": (150, 2.0**-6, 0.5, 3), "delicious": (300, 2.0**-2, 2.0, 5)}


def load(name: str) -> dict[str, Any]:
    """Sparse matrices of a stored data set."""
    folder = os.environ.get("EVERYPAIR_DATA")
    if not folder:
        raise SystemExit("set EVERYPAIR_DATA to the folder of the data sets (see docs/data.md).")
    stored = np.load(Path(folder) / f"{name}.npz")
    names = [key.removesuffix("_indptr") for key in stored.files if key.endswith("_indptr")]
    return {
        key: sp.csr_array(
            (stored[f"{key}_data"].astype(np.float32), stored[f"{key}_indices"], stored[f"{key}_indptr"]),
            shape=tuple(stored[f"{key}_shape"]),
        )
        for key in names
    }


def linear_left(Y: Any, X: Any, rank: int, weight: float, reg: float, threads: int = 2) -> Objective:
    """LR-wSQ with features on the left."""
    pairs = Pairs.from_matrix(Y)
    negatives = Negatives.from_scheme(pairs, weight, "constant", -1.0)
    known = (SideInformation(Features(X, np.float32), reg, own=False), None)
    return Objective(pairs, "logistic", negatives, Ridge.checked(reg, 0), rank=rank, n_threads=threads, known=known)


def train(objective: Objective, rank: int, sweeps: int, precondition: bool = True) -> tuple[Any, Alternating]:
    """Sweep from a cold start."""
    solver = Alternating(objective, RowSteps(cg=5), 2, BlockSteps(precondition=precondition, cg_steps=200))
    state = random_start(objective, rank, np.random.default_rng(0))
    for _ in range(sweeps):
        state = solver.step(state)
    return state, solver


def quality(scores: Any, truth: Any) -> str:
    """Precision at 1, 3 and 5 in per cent."""
    found = multilabel_metrics(scores, truth, k=(1, 3, 5))
    return "/".join(f"{100 * found[f'precision@{k}']:.1f}" for k in (1, 3, 5))


def peers(rounds: int) -> None:
    """CPU seconds of the same prepared rows."""
    for name, (rank, weight, reg, sweeps) in CHOSEN.items():
        data = load(f"ml_{name}")
        X, Xt = (prepare_features(data[part], True, True) for part in ("X_train", "X_test"))
        Y, truth = data["Y_train"], data["Y_test"]

        def ours(X: Any = X, Xt: Any = Xt, Y: Any = Y) -> Any:
            state, _ = train(linear_left(Y, X, rank, weight, reg), rank, sweeps)  # noqa: B023
            return (Xt @ state.parameters(LEFT)) @ state.right.T

        def one_vs_rest(X: Any = X, Xt: Any = Xt, Y: Any = Y) -> Any:
            model = OneVsRestClassifier(LogisticRegression(C=10.0, solver="liblinear", fit_intercept=False))
            return model.fit(X, Y.toarray().astype(int)).decision_function(Xt)

        runs = {"everypair": ours, "scikit-learn one-vs-rest": one_vs_rest}
        try:
            from pecos.xmc import MLModel, MLProblem
        except ImportError:
            print("PECOS is not installed here.")
        else:

            def pecos(X: Any = X, Xt: Any = Xt, Y: Any = Y) -> Any:
                model = MLModel.train(MLProblem(sp.csr_matrix(X), sp.csc_matrix(Y)), threads=2)
                return model.predict(sp.csr_matrix(Xt), pred_params=MLModel.PredParams(only_topk=20)).toarray()

            runs["PECOS one-versus-all"] = pecos
        ours()  # warm kernels
        for title, run in runs.items():
            seconds = []
            for _ in range(rounds):
                begin = time.process_time()
                scores = run()
                seconds.append(time.process_time() - begin)
            print(f"{name:10} {title:26} {np.median(seconds):8.1f} CPU s   {quality(scores, truth)}", flush=True)


def cg() -> None:
    """CG steps per Newton step to a preconditioned residual of 0.1."""
    for name, (rank, weight, reg, sweeps) in CHOSEN.items():
        data = load(f"ml_{name}")
        objective = linear_left(data["Y_train"], prepare_features(data["X_train"], True, True), rank, weight, reg)
        for precondition in (True, False):
            _, solver = train(objective, rank, max(sweeps, 4), precondition)
            _report(name, precondition, solver, LEFT)
    data = load("citeulike_t")
    words = sp.csr_array(TfidfTransformer().fit_transform(data["item_words"])).astype(np.float32)
    for split, reg in (("train_p1", 1.0), ("train_p10", 0.1)):
        pairs = Pairs.from_matrix(data[split])
        weight = pairs.n_positives / np.prod(pairs.shape)
        for own in (False, True):
            known = (None, SideInformation(Features(words, np.float32), reg, own=own))
            negatives = Negatives.from_scheme(pairs, weight, "constant", -1.0)
            objective = Objective(
                pairs, "logistic", negatives, Ridge.checked(0.03, 0.75), rank=64, n_threads=2, known=known
            )
            for precondition in (True, False):
                _, solver = train(objective, 64, 4, precondition)
                _report(f"citeulike {split}{' + own' if own else ''}", precondition, solver, RIGHT)


def _report(name: str, precondition: bool, solver: Alternating, side: int) -> None:
    block = solver.blocks[side]
    assert block is not None
    steps = block.products
    print(
        f"{name:28} {'all-pairs' if precondition else 'none':10} mean {np.mean(steps):5.1f}  max {max(steps)}",
        flush=True,
    )


def cost(rounds: int) -> None:
    """Seconds of a sweep with features and a graph on the left, over four sizes of one problem."""
    random, sizes, seconds = np.random.default_rng(0), [], []
    rank, features = 32, 2000
    for rows in (10_000, 20_000, 40_000, 80_000):
        X = sp.random_array((rows, features), density=0.01, format="csr", dtype=np.float32, random_state=random)
        Y = sp.random_array((rows, rows // 2), density=10 / rows, format="csr", dtype=np.float32, random_state=random)
        Y.data[:] = 1
        graph = sp.random_array((rows, rows), density=10 / rows, format="csr", random_state=random)
        laplacian = Laplacian.from_similarity(graph)
        pairs = Pairs.from_matrix(Y)
        known = (SideInformation(Features(X, np.float32), 1.0, True, laplacian, 0.1), None)
        objective = Objective(
            pairs, "logistic", Negatives.from_scheme(pairs, 0.01, "constant", -1.0), Ridge.checked(0.1, 0.5), rank=rank,
            n_threads=2, known=known,
        )  # fmt: skip
        solver = Alternating(objective, RowSteps(), 2, BlockSteps(cg_tol=0.0, cg_steps=5))
        state = solver.step(random_start(objective, rank, np.random.default_rng(0)))
        times = []
        for _ in range(rounds):
            begin = time.process_time()
            state = solver.step(state)
            times.append(time.process_time() - begin)
        sizes.append(X.nnz + Y.nnz + laplacian.matrix.nnz)
        seconds.append(min(times))
        print(f"nnz(X) {X.nnz:>9,}  |Ω⁺| {Y.nnz:>7,}  nnz(L) {laplacian.matrix.nnz:>9,}  m·n {rows * rows // 2:>13,}  "
              f"{seconds[-1]:.3f} CPU s", flush=True)  # fmt: skip
    fit = np.polyfit(sizes, seconds, 1)
    rest = np.asarray(seconds) - np.polyval(fit, sizes)
    print(f"affine fit: R² = {1 - rest.var() / np.var(seconds):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("peers", "cg", "cost"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    {"peers": lambda: peers(options.rounds), "cg": cg, "cost": lambda: cost(options.rounds)}[options.what]()
