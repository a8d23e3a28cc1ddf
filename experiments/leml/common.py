"""What the scripts of this folder share: data, methods with their grids, the choice of parameters, results.

Features are as the files have them: no scaling of rows, no intercept. A point of a method's grid, and the number of
sweeps where the method has any, are those of the highest mean of top-1, top-3 and top-5 accuracy on a held-out fifth of
the training rows; the method is then fitted on all of them. With missing labels only known positives of the held-out
rows count as right: as entries are observed uniformly at random, this is the observed ratio times the accuracy that all
labels would give, without bias.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
import edges
from datasets import read, sparse
from smoke import parse

from everypair import MultiLabelMF
from everypair.metrics import multilabel_metrics
from everypair.models.multilabel.rivals import (
    CPLST,
    WSABIE,
    BayesianCompressedSensing,
    BinaryRelevance,
    CompressedSensing,
    LabelCCA,
)

RESULTS = Path(__file__).parent / "results"
FIGURES = ("top-1", "top-3", "top-5", "hamming_loss", "auc")
SWEEPS = 10
LARGEST_RANGE = 4.0**9  # of ridges tried
MARKED = f"{edges.LEGEND} Of sweeps only the {SWEEPS}th is an end."
RAW = {"normalize": False, "fit_intercept": False, "n_threads": 1}
Point = dict[str, float]
__all__ = ["FIGURES", "METHODS", "RESULTS", "MultiLabel", "parse"]


@dataclass(frozen=True)
class MultiLabel:
    """Rows to learn from and rows to score; ``known`` is true where a label of the former is observed, None for all."""

    X: Any
    Y: Any
    X_test: Any
    Y_test: Any
    known: Any = None

    @classmethod
    def load(cls, name: str) -> MultiLabel:
        if name == "rcv1subset1":  # no published split is kept: the halves of the file
            archive = read("ml_rcv1subset1_top944")
            X, Y = sparse(archive, "X_all"), sparse(archive, "Y_all")
            half = X.shape[0] // 2
            return cls(X[:half], Y[:half], X[half:], Y[half:])
        archive = read(f"ml_{name}")
        return cls(*(sparse(archive, part) for part in ("X_train", "Y_train", "X_test", "Y_test")))

    def observed(self, ratio: float, seed: int) -> MultiLabel:
        """The same rows with a share of all n·L labels known, drawn uniformly."""
        known = np.random.default_rng(seed).random(self.Y.shape) < ratio
        return MultiLabel(self.X, sp.csr_array(self.Y.multiply(known)), self.X_test, self.Y_test, known)

    def held_out(self) -> MultiLabel:
        """Learn from four fifths of the training rows, score the others."""
        order = np.random.default_rng(0).permutation(self.X.shape[0])
        out, kept = np.split(order, [len(order) // 5])
        known = None if self.known is None else self.known[kept]
        return MultiLabel(self.X[kept], self.Y[kept], self.X[out], self.Y[out], known)

    @property
    def unlabeled(self) -> str:
        return "negative" if self.known is None else "missing"

    @property
    def mask(self) -> dict[str, Any]:
        """The mask as an argument of ``fit``, where there is one."""
        return {} if self.known is None else {"mask": self.known}


@dataclass(frozen=True)
class Method:
    """A way to build a model from (data, rank, seed, point of the grid), and the grid."""

    make: Callable[[MultiLabel, int, int, Point], Any]
    grid: tuple[Point, ...]
    threshold: float | None = 0.5  # of Hamming loss; None: scores have no scale
    sweeps: int = 0  # measured one by one while validating; 0: the model has none, or they are in the grid
    ranked: bool = True  # whether a rank matters


def powers_of_4(name: str, first: int, last: int) -> tuple[Point, ...]:
    return tuple({name: 4.0**exponent} for exponent in range(first, last + 1))


def low_rank(loss: str) -> Callable[[MultiLabel, int, int, Point], Any]:
    """LEML: every pair has the loss, with missing labels every known one."""

    def make(data: MultiLabel, rank: int, seed: int, point: Point) -> Any:
        if data.known is not None:
            negatives: dict[str, Any] = {"unlabeled": "missing"}
        elif loss == "squared":
            negatives = {"negative_loss": "squared", "negative_weight": 1, "negative_value": 0}
        else:
            negatives = {"negative_loss": "same", "negative_weight": 1}
        cut = 0.5 if loss == "squared" else 0.0
        return MultiLabelMF(rank=rank, loss=loss, **negatives, **point, **RAW, threshold=cut, tol=0, random_state=seed)

    return make


def one_by_one(loss: str) -> Callable[[MultiLabel, int, int, Point], Any]:
    def make(data: MultiLabel, rank: int, seed: int, point: Point) -> Any:
        return BinaryRelevance(loss=loss, **point, **RAW, unlabeled=data.unlabeled, threshold=0.0, tol=1e-3)

    return make


def cplst(data: MultiLabel, rank: int, seed: int, point: Point) -> Any:
    return CPLST(rank=rank, **point, **RAW, threshold=0.5)


def canonical(data: MultiLabel, rank: int, seed: int, point: Point) -> Any:
    return LabelCCA(rank=rank, **point, **RAW, threshold=0.5)


def sensed(data: MultiLabel, rank: int, seed: int, point: Point) -> Any:
    return CompressedSensing(rank=rank, **point, **RAW, threshold=0.5, random_state=seed)


def compressed(data: MultiLabel, rank: int, seed: int, point: Point) -> Any:
    return BayesianCompressedSensing(
        rank=rank, **point, **RAW, unlabeled=data.unlabeled, threshold=0.5, random_state=seed
    )


def wsabie(data: MultiLabel, rank: int, seed: int, point: Point) -> Any:
    fixed = {"unlabeled": data.unlabeled, "threshold": 0.0, "random_state": seed}
    return WSABIE(rank=rank, learning_rate=point["learning_rate"], max_iter=int(point["epochs"]), **RAW, **fixed)


RATES = tuple({"learning_rate": rate, "epochs": epochs} for rate in (3e-4, 1e-3, 3e-3) for epochs in (5, 20, 60))
METHODS = {
    "LEML-SQ": Method(low_rank("squared"), powers_of_4("reg", -1, 3), sweeps=SWEEPS),
    "LEML-LR": Method(low_rank("logistic"), powers_of_4("reg", -1, 2), 0.0, SWEEPS),
    "LEML-SH": Method(low_rank("squared_hinge"), powers_of_4("reg", 0, 3), 0.0, SWEEPS),
    "BCS": Method(compressed, ({},)),
    "CPLST": Method(cplst, powers_of_4("reg", 0, 5)),
    "CPLST, λ = 0": Method(cplst, ({"reg": 0.0},)),  # nothing chosen: near the published figures
    "CCA": Method(canonical, powers_of_4("reg", 0, 5)),
    "CS": Method(sensed, powers_of_4("reg", 0, 5)),
    "WSABIE": Method(wsabie, RATES, None),
    "BR-SQ": Method(one_by_one("squared"), powers_of_4("reg", 0, 5), ranked=False),
    "BR-SQ, λ = ½": Method(one_by_one("squared"), ({"reg": 0.5},), ranked=False),  # likewise
    "BR-LR": Method(one_by_one("logistic"), powers_of_4("reg", -1, 3), 0.0, ranked=False),
    "BR-SH": Method(one_by_one("squared_hinge"), powers_of_4("reg", 0, 4), 0.0, ranked=False),
}


def validated(method: Method, data: MultiLabel, rank: int, seed: int, point: Point) -> list[float]:
    """Mean of top-1, top-3 and top-5 accuracy of the held-out rows, after every sweep if the model has sweeps."""
    model = method.make(data, rank, seed, point)
    if not method.sweeps:
        scores = model.fit(data.X, data.Y, **data.mask).predict_scores(data.X_test)
        figures = multilabel_metrics(scores, data.Y_test, n_threads=1)
        return [float(np.mean([figures[f"top-{k}"] for k in (1, 3, 5)]))]
    model.set_params(max_iter=method.sweeps, patience=4)
    model.fit(data.X, data.Y, **data.mask, validation=(data.X_test, data.Y_test))
    share = float((data.Y_test.sum(axis=1) > 0).mean())  # precision@k is over rows with a label, top-k over all
    return [float(share * np.mean([sweep[f"precision@{k}"] for k in (1, 3, 5)])) for sweep in model.history_]


def beyond(tried: list[tuple[Point, list[float]]]) -> list[Point]:
    """A ridge four times further where the best one is at an end of those tried."""
    regs = sorted(point["reg"] for point, _ in tried if "reg" in point)
    best = max(tried, key=lambda one: max(one[1]))[0].get("reg")
    if best is None or regs[-1] / regs[0] > LARGEST_RANGE:
        return []
    return [{"reg": best / 4}] * (best == regs[0]) + [{"reg": best * 4}] * (best == regs[-1])


def measure(name: str, data: MultiLabel, rank: int, seed: int = 0) -> dict[str, Any]:
    """Choose point and sweeps by validation, fit on all training rows, measure the test rows."""
    method, smaller = METHODS[name], data.held_out()
    start = time.process_time()
    tried: list[tuple[Point, list[float]]] = []
    points = list(method.grid) if len(method.grid) > 1 or method.sweeps else []  # else there is nothing to choose
    while points:
        tried += [(point, validated(method, smaller, rank, seed, point)) for point in points]
        points = beyond(tried)
    tuning = time.process_time() - start
    point, curve = max(tried, key=lambda one: max(one[1])) if tried else (method.grid[0], [0.0])
    model = method.make(data, rank, seed, point)
    sweeps = int(np.argmax(curve)) + 1 if method.sweeps else 0
    if sweeps:
        model.set_params(max_iter=sweeps)
    start = time.process_time()
    scores = model.fit(data.X, data.Y, **data.mask).predict_scores(data.X_test)
    seconds = time.process_time() - start
    figures = multilabel_metrics(scores, data.Y_test, threshold=method.threshold, n_threads=1)
    test = {key: figures[key] for key in FIGURES if key in figures}
    return {
        "method": name, "rank": rank if method.ranked else 0, "seed": seed, "point": point, "sweeps": sweeps,
        "cpu_seconds": seconds, "cpu_seconds_tuning": tuning, "test": test,
        "tried": [{"point": tested, "validated": figures} for tested, figures in tried],
    }  # fmt: skip


def arguments(doc: str | None, data: Iterable[str], methods: Iterable[str]) -> argparse.ArgumentParser:
    """The options both tables have."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=tuple(data), default=next(iter(data)))
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=list(methods))
    parser.add_argument("--report", action="store_true", help="only write the table again, from the JSON")
    return parser


def published_name(method: str) -> str:
    """Without our variant of it."""
    return method.split(",")[0]


def shown(figure: str, value: float | None) -> str:
    """Accuracies in percent, the rest as it is; a dash for what does not exist."""
    if value is None:
        return "–"
    return f"{100 * value:.2f}" if figure.startswith("top") else f"{value:.4f}"


def described(row: dict[str, Any]) -> str:
    """The chosen parameters of a row, for a table's cell; marked at an end of what was tried."""
    cell = edges.marked(row["point"], (tested["point"] for tested in row["tried"]))
    sweeps = f"{row['sweeps']} sweeps{edges.MARK if row['sweeps'] == SWEEPS else ''}" if row["sweeps"] else ""
    return ", ".join(filter(None, (cell, sweeps))) or "defaults"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def stored_rows(folder: Path, name: str, needed: bool = False) -> list[dict[str, Any]]:
    """The rows of an earlier run; none, or the end with a sentence if they are ``needed``, where there was none."""
    path = folder / f"{name}.json"
    if needed and not path.exists():
        sys.exit(f"{path} does not exist: run the script without --report first.")
    return json.loads(path.read_text())["rows"] if path.exists() else []


def with_row(rows: list[dict[str, Any]], keys: tuple[str, ...], row: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows with ``row`` in place of that with the same keys: what is not run now is kept."""
    return [old for old in rows if any(old[key] != row[key] for key in keys)] + [row]


def write(folder: Path, name: str, rows: list[dict[str, Any]], text: str) -> None:
    """Write <name>.json and .md into the folder."""
    (folder / f"{name}.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    (folder / f"{name}.md").write_text(text)
