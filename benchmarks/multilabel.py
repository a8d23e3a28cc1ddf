"""Side information at work: CPU seconds, CG steps and cost against size.

    python benchmarks/multilabel.py peers      to the best validation point, beside scikit-learn's one-vs-rest and PECOS
    python benchmarks/multilabel.py cg         CG steps per Newton step, with and without the all-pairs preconditioner
    python benchmarks/multilabel.py methods    ways to move a side, CPU seconds to near the best objective of bibtex
    python benchmarks/multilabel.py cost       one sweep against nnz(X) + |Ω⁺| + nnz(L)

``peers``, ``cg`` and ``methods`` need the data folder (EVERYPAIR_DATA); PECOS is measured where it is installed.
Only our parameters were chosen by validation: scikit-learn has C = 10 and PECOS its defaults, untuned.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from datasets import read, sparse
from smoke import parse

from everypair import Newton, OneClassMF, Side
from everypair.data import Pairs
from everypair.features.laplacian import Laplacian
from everypair.features.matrix import Features
from everypair.features.scaling import prepare_features
from everypair.metrics import multilabel_metrics
from everypair.problem import Negatives, Objective, Ridge
from everypair.problem.embedding import SideInformation
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.solvers.alternating import SIDE_METHODS, Alternating
from everypair.solvers.choose import GRADIENT_STEPS
from everypair.solvers.first_order import FIRST_ORDER
from everypair.solvers.half_step import RowSteps
from everypair.solvers.side import SideSteps
from everypair.training.start import random_start

# rank, negative weight, ridge (both sides) and sweeps, chosen on a fifth of the training rows (experiments/ocsmf)
CHOSEN = {"bibtex": (150, 2.0**-6, 0.5, 3), "delicious": (300, 2.0**-2, 2.0, 5)}


def linear_left(Y: Any, X: Any, rank: int, weight: float, reg: float, threads: int = 2) -> Objective:
    """LR-wSQ with features on the left."""
    pairs = Pairs.from_matrix(Y)
    negatives = Negatives.from_scheme(pairs, weight, "uniform", -1.0)
    known = (SideInformation(Features(X, np.float32), reg, own=False), None)
    return Objective(pairs, "logistic", negatives, Ridge.checked(reg, 0), n_threads=threads, side_information=known)


def train(objective: Objective, rank: int, sweeps: int, precondition: bool = True) -> tuple[Any, Alternating]:
    """Sweep from a cold start."""
    solver = Alternating(objective, RowSteps(cg=5), SideSteps(precondition=precondition, cg_steps=200))
    state = random_start(objective, Layout(rank), np.random.default_rng(0))
    for _ in range(sweeps):
        state = solver.step(state)
    return state, solver


def quality(scores: Any, truth: Any) -> str:
    """Precision at 1, 3 and 5 in per cent."""
    found = multilabel_metrics(scores, truth, ks=(1, 3, 5))
    return "/".join(f"{100 * found[f'precision@{k}']:.1f}" for k in (1, 3, 5))


def peers(options: Any) -> None:
    """CPU seconds of the same prepared rows."""
    for name, (rank, weight, reg, sweeps) in CHOSEN.items():
        archive = read(f"ml_{name}")
        X, Xt = (prepare_features(sparse(archive, part), True, True) for part in ("X_train", "X_test"))
        Y, truth = sparse(archive, "Y_train"), sparse(archive, "Y_test")
        ours_is = OneClassMF(
            rank=options.rank or rank, loss="logistic", negative_weight=weight, reg=reg, reg_exponent=0,
            users=Side(own_vectors=False, feature_reg=reg), solver=Newton(cg_steps=5), max_iter=sweeps, tol=0,
            random_state=0, n_threads=2,
        )  # fmt: skip

        def ours(X: Any = X, Xt: Any = Xt, Y: Any = Y, model: OneClassMF = ours_is) -> Any:
            return model.fit(Y, user_features=X).score_users(features=Xt)

        def one_vs_rest(X: Any = X, Xt: Any = Xt, Y: Any = Y) -> Any:
            model = OneVsRestClassifier(LogisticRegression(C=10.0, solver="liblinear", fit_intercept=False))
            return model.fit(X, Y.toarray().astype(int)).decision_function(Xt)

        runs = {"everypair": ours, "scikit-learn one-vs-rest": one_vs_rest}
        try:
            from pecos.xmc import MLModel, MLProblem
        except ImportError:
            print("PECOS is not installed: it is left out.")
        else:

            def pecos(X: Any = X, Xt: Any = Xt, Y: Any = Y) -> Any:
                model = MLModel.train(MLProblem(sp.csr_matrix(X), sp.csc_matrix(Y)), threads=2)
                return model.predict(sp.csr_matrix(Xt), pred_params=MLModel.PredParams(only_topk=20)).toarray()

            runs["PECOS one-versus-all"] = pecos
        ours()  # warm kernels
        for title, run in runs.items():
            seconds = []
            for _ in range(options.rounds):
                begin = time.process_time()
                scores = run()
                seconds.append(time.process_time() - begin)
            print(f"{name:10} {title:26} {np.median(seconds):8.1f} CPU s   {quality(scores, truth)}", flush=True)


def cg(options: Any) -> None:
    """CG steps per Newton step to a preconditioned residual of 0.1."""
    for name, (paper_rank, weight, reg, sweeps) in CHOSEN.items():
        archive, rank = read(f"ml_{name}"), options.rank or paper_rank
        X = prepare_features(sparse(archive, "X_train"), True, True)
        objective = linear_left(sparse(archive, "Y_train"), X, rank, weight, reg)
        for precondition in (True, False):
            _, solver = train(objective, rank, max(sweeps, 4), precondition)
            _report(name, precondition, solver, LEFT)
    archive, rank = read("citeulike_t"), options.rank or 64
    words = sp.csr_array(TfidfTransformer().fit_transform(sparse(archive, "item_words"))).astype(np.float32)
    for split, reg in (("train_p1", 1.0), ("train_p10", 0.1)):
        pairs = Pairs.from_matrix(sparse(archive, split))
        weight = pairs.n_positives / np.prod(pairs.shape)
        for own in (False, True):
            known = (None, SideInformation(Features(words, np.float32), reg, own=own))
            negatives = Negatives.from_scheme(pairs, weight, "uniform", -1.0)
            objective = Objective(
                pairs, "logistic", negatives, Ridge.checked(0.03, 0.75), n_threads=2, side_information=known
            )
            for precondition in (True, False):
                _, solver = train(objective, rank, 4, precondition)
                _report(f"citeulike {split}{' + own' if own else ''}", precondition, solver, RIGHT)


def _report(name: str, precondition: bool, solver: Alternating, side: int) -> None:
    block = solver.side_solvers[side]
    assert block is not None
    steps = block.products
    print(
        f"{name:28} {'all-pairs' if precondition else 'none':10} mean {np.mean(steps):5.1f}  max {max(steps)}",
        flush=True,
    )


def methods(options: Any) -> None:
    """CPU seconds until the objective of bibtex is within 5, 1 and 0.2 % of the lowest that any method found."""
    rank, weight, reg, _ = CHOSEN["bibtex"]
    archive, rank = read("ml_bibtex"), options.rank or rank
    X = prepare_features(sparse(archive, "X_train"), True, True)
    objective = linear_left(sparse(archive, "Y_train"), X, rank, weight, reg)
    start = random_start(objective, Layout(rank), np.random.default_rng(0))
    traces: dict[str, list[tuple[float, float]]] = {}
    for method, precondition in [(method, True) for method in SIDE_METHODS] + [
        (method, False) for method in ("tron", *FIRST_ORDER) if method != "gradient"
    ]:
        steps = SideSteps(method, GRADIENT_STEPS if method in FIRST_ORDER else 2, precondition=precondition)
        solver, state = Alternating(objective, RowSteps(cg=5), steps), start
        solver.step(start)  # warm kernels
        trace = traces.setdefault(method if precondition else f"{method}, P = I", [])
        begin = time.process_time()
        while not trace or trace[-1][0] < options.seconds:
            state = solver.step(state)
            trace.append((time.process_time() - begin, float(state.objective or 0.0)))
    lowest = min(value for trace in traces.values() for _, value in trace)
    for title, trace in traces.items():
        reached = ["   never"] * 3
        for place, share in enumerate((0.05, 0.01, 0.002)):
            times = [seconds for seconds, value in trace if value <= (1 + share) * lowest]
            reached[place] = f"{times[0]:8.1f}" if times else reached[place]
        print(f"{title:24} {''.join(reached)} CPU s   {len(trace)} sweeps, {trace[-1][1] / lowest - 1:.2%} above")


def cost(options: Any) -> None:
    """Seconds of a sweep with features and a graph on the left, over several sizes of one problem."""
    random, sizes, seconds = np.random.default_rng(0), [], []
    rank, features = options.rank or 32, options.features
    for rows in options.rows:
        X = sp.random_array((rows, features), density=0.01, format="csr", dtype=np.float32, random_state=random)
        Y = sp.random_array((rows, rows // 2), density=10 / rows, format="csr", dtype=np.float32, random_state=random)
        Y.data[:] = 1
        graph = sp.random_array((rows, rows), density=10 / rows, format="csr", random_state=random)
        laplacian = Laplacian.from_similarity(graph)
        pairs = Pairs.from_matrix(Y)
        known = (SideInformation(Features(X, np.float32), 1.0, True, laplacian, 0.1), None)
        objective = Objective(
            pairs, "logistic", Negatives.from_scheme(pairs, 0.01, "uniform", -1.0), Ridge.checked(0.1, 0.5),
            n_threads=2, side_information=known,
        )  # fmt: skip
        solver = Alternating(objective, RowSteps(), SideSteps(cg_tol=0.0, cg_steps=5))
        state = solver.step(random_start(objective, Layout(rank), np.random.default_rng(0)))
        times = []
        for _ in range(options.rounds):
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("peers", "cg", "methods", "cost"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rank", type=int, help="instead of the chosen ones")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000, 40_000, 80_000], help="of cost")
    parser.add_argument("--features", type=int, default=2000, help="of cost")
    parser.add_argument("--seconds", type=float, default=30.0, help="CPU seconds of each of the methods")
    options = parse(parser, rounds=1, seconds=0.1, rank=4, rows=[100, 150, 200], features=50)
    {"peers": peers, "cg": cg, "methods": methods, "cost": cost}[options.what](options)


if __name__ == "__main__":
    main()
