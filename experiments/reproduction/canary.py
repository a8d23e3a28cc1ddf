"""Small fits of what the papers' experiments train: their scores change if what training computes does.

    python experiments/reproduce.py --canary      stores today's scores: results of papers whose scores moved are stale

A change of the library that leaves these fits as they are (speed, messages, questions to a trained model) leaves the
stored results of the experiments as they are too. A test compares what is stored with what the code gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).parent / "canaries.json"
TOLERANCE = 0.02  # of a score: single precision, and other machines
STEPS = 3


def _likes() -> tuple[Any, Any]:
    """Users × items of low rank, and features of the users."""
    random = np.random.default_rng(0)
    taste = random.standard_normal((40, 3))
    scores = taste @ random.standard_normal((3, 30))
    return (scores > np.quantile(scores, 0.8)).astype(np.float32), taste @ random.standard_normal((3, 6))


def _of(scores: Any) -> list[float]:
    """A few numbers that say what a matrix of scores is."""
    scores = np.asarray(scores, np.float64)
    return [float(f"{one:.5g}") for one in (scores.mean(), scores.std(), scores[1, 0], scores[-1, 1])]


def _negsel() -> Iterable[tuple[str, Any]]:
    from everypair import BPR, EnsembleMF, OneClassMF, SubsampledMF

    likes, _ = _likes()
    for solver in ("auto", "newton", "als", "cd", "sg-reform"):
        model = OneClassMF(rank=4, loss="squared", negative_weight=0.1, reg=0.1, reg_exponent="count", solver=solver,
                           max_iter=STEPS, tol=0, random_state=0)  # fmt: skip
        yield f"OneClassMF, {solver}", model.fit(likes).score_users()
    yield "SubsampledMF", SubsampledMF(rank=4, reg=0.1, max_iter=STEPS, random_state=0).fit(likes).score_users()
    yield "EnsembleMF", EnsembleMF(rank=4, reg=0.1, max_iter=STEPS, random_state=0).fit(likes).score_users()
    yield "BPR", BPR(rank=4, max_iter=STEPS, random_state=0).fit(likes).score_users()


def _ocsmf() -> Iterable[tuple[str, Any]]:
    from everypair import OneClassMF, Side
    from everypair.features import knn_graph
    from everypair.models.recommend.rivals.same_loss import SameLossMF

    likes, features = _likes()
    fixed = {"rank": 4, "reg": 1.0, "reg_exponent": 0, "max_iter": STEPS, "tol": 0, "random_state": 0}
    alone = Side(own_vectors=False, normalize=False, fit_intercept=False, feature_reg=1.0)
    for loss in ("squared", "logistic"):
        model = OneClassMF(loss=loss, negative_weight=0.1, negative_value=-1, users=alone, **fixed)
        yield f"OneClassMF, {loss}", model.fit(likes, user_features=features).score_users(features=features)
    model = SameLossMF(loss="logistic", negative_weight=0.1, negative_value=-1, users=alone, **fixed)
    yield "SameLossMF", model.fit(likes, user_features=features).score_users(features=features)
    model = OneClassMF(loss="logistic", negative_weight=0.1, users=Side(graph_reg=1.0), solver="tron", **fixed)
    yield "graph", model.fit(likes, user_graph=knn_graph(features, 5)).score_users()


def _leml() -> Iterable[tuple[str, Any]]:
    from everypair import MultiLabelMF
    from everypair.models.multilabel.rivals import CPLST, WSABIE, BayesianCompressedSensing, BinaryRelevance

    Y, X = _likes()
    known = np.random.default_rng(1).random(Y.shape) < 0.5
    raw = {"normalize": False, "fit_intercept": False, "n_threads": 1}
    for loss in ("squared", "logistic", "squared_hinge"):
        model = MultiLabelMF(
            rank=4, loss=loss, unlabeled="missing", reg=1.0, max_iter=STEPS, tol=0, random_state=0, **raw
        )
        yield f"MultiLabelMF, {loss}", model.fit(X, Y, mask=known).predict_scores(X)
    for model in (
        CPLST(rank=4, reg=1.0, **raw), WSABIE(rank=4, learning_rate=0.01, max_iter=STEPS, random_state=0, **raw),
        BayesianCompressedSensing(rank=4, random_state=0, **raw), BinaryRelevance(loss="squared", reg=1.0, **raw),
    ):  # fmt: skip
        yield type(model).__name__, model.fit(X, Y).predict_scores(X)


def _labels() -> Iterable[tuple[str, Any]]:
    from everypair.models.multilabel.rivals import SLEEC, FastXML

    Y, X = _likes()
    for model in (FastXML(random_state=0, n_threads=1), SLEEC(random_state=0, n_threads=1)):
        yield type(model).__name__, model.fit(X, Y).predict_scores(X)


def _mlrm() -> Iterable[tuple[str, Any]]:
    from everypair.models.completion import MLRM
    from everypair.models.completion.rivals import FNNM, FPCA, IMC, SIMC

    Y, X = _likes()
    known = np.random.default_rng(1).random(Y.shape) < 0.5
    limits = {"max_iter": 20, "tol": 0}
    both = {"nuclear_reg": 1.0, "l1_reg": 0.5}
    for variant in ("local", "noise", "global"):
        model = MLRM(variant=variant, coding=None, accelerate=False, **both, **limits)
        yield f"MLRM, {variant}", model.fit(Y, known, left_features=X).complete()
    yield "MLRM, transductive", MLRM(variant="transductive", coding=None, nuclear_reg=1.0).fit(Y, known).complete()
    for model in (FNNM(**both, **limits), FNNM(accelerate=True, **both, **limits), SIMC(**both, **limits),
                  IMC(reg=1.0, **limits)):  # fmt: skip
        name = type(model).__name__ + (", momentum" if getattr(model, "accelerate", False) else "")
        yield name, model.fit(Y, known, left_features=X).complete()
    yield "FPCA", FPCA(nuclear_reg=1.0, **limits).fit(Y, known).complete()


def _esl() -> Iterable[tuple[str, Any]]:
    from everypair.data import Pairs
    from everypair.neural.inputs import Inputs
    from everypair.neural.layers import Layers
    from everypair.neural.objective import TowerObjective
    from everypair.neural.optimizers.choose import make_optimizer
    from everypair.neural.penalties import Penalties
    from everypair.neural.towers import Perceptron
    from everypair.problem.losses import get_loss
    from everypair.problem.negatives import Negatives

    pairs = Pairs.from_matrix(_likes()[0])
    towers = tuple(Perceptron(Inputs(size), Layers((5,), 4), np.dtype("float32")) for size in pairs.shape)
    ridge = (Penalties(1.0, 1.0, 1.0, 1.0),) * 2
    negatives = Negatives.from_scheme(pairs, 0.1, "uniform", -1.0)
    objective = TowerObjective(pairs, get_loss("logistic"), negatives, towers, ridge, dtype=np.float32)
    random = np.random.default_rng(0)
    theta = tuple(tower.start(random) for tower in towers)
    for name in ("gd", "gd-diag", "newton", "sogram-diag", "sampling-diag", "sogram", "sampling", "sg46", "naive"):
        optimizer = make_optimizer(name, objective, 0.01 if name.endswith("-diag") else 1e-4)
        state = optimizer.step(optimizer.fresh(theta))
        yield name, state.left @ state.right.T


PAPERS: dict[str, Callable[[], Iterable[tuple[str, Any]]]] = {
    "negsel": _negsel, "ocsmf": _ocsmf, "leml": _leml, "labels": _labels, "mlrm": _mlrm, "esl": _esl,
}  # fmt: skip


def sung(paper: str) -> dict[str, list[float]]:
    """What a paper's small fits give with the code at hand."""
    return {name: _of(scores) for name, scores in PAPERS[paper]()}


def stored() -> dict[str, dict[str, list[float]]]:
    """What they gave when it was last stored."""
    return dict(json.loads(STORED.read_text()))


def moved(now: dict[str, list[float]], before: dict[str, list[float]]) -> list[str]:
    """The fits whose scores are others than before."""
    return [
        name for name, scores in now.items()
        if name not in before or not np.allclose(scores, before[name], rtol=TOLERANCE, atol=1e-3)
    ]  # fmt: skip


def store() -> list[str]:
    """Store today's scores of papers where they moved; return the names of what did."""
    before = stored() if STORED.exists() else {}
    names = []
    for paper in PAPERS:
        now = sung(paper)
        if gone := moved(now, before.get(paper, {})):
            before[paper] = now
            names += [f"{paper}: {one}" for one in gone]
    STORED.write_text(json.dumps(before, indent=1) + "\n")
    return names
