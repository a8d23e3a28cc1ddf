"""Ranking, multi-label and completion metrics against loops over sorted lists."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from trials import Case, Room

from everypair import metrics
from metrics import test_functions as loops


def trial(case: Case, folder: Path) -> str:
    chance = np.random.default_rng(case["seed"])
    {"ranking": ranking, "labels": labels, "completion": completion}[case["kind"]](case, chance)
    return str(case["kind"])


def scores_of(case: Case, chance: np.random.Generator) -> np.ndarray:
    """Scores of few levels, so that many are tied, some of them −∞."""
    scores = chance.integers(0, case["levels"], size=case["shape"]).astype(case["dtype"])
    scores[chance.random(scores.shape) < case["nothing"]] = -np.inf
    return scores


def ranking(case: Case, chance: np.random.Generator) -> None:
    """Every function and the stream of blocks against their definitions."""
    scores, shape = scores_of(case, chance), tuple(case["shape"])
    kinds = chance.choice(4, p=[0.5, 0.2, 0.2, 0.1], size=shape)
    truth = np.where(kinds == 1, 1, np.where(kinds == 3, -1, 0))
    seen = np.where(kinds == 2, chance.choice([-1.0, 2.0], size=shape), 0)
    truth[0, 0], seen[0, 0] = 1, 0
    truth[chance.random(shape[0]) < 0.2] = 0
    if not (truth > 0).any():
        return
    k, average = case["k"], case["average"]
    want = {name: value for name, value in defined(scores, truth, seen, k, average).items() if value is not None}
    got = {name: f(scores, truth, k, exclude=seen, average=average) for name, (f, _) in loops.AT_K.items()}
    got |= {name: f(scores, truth, exclude=seen, average=average) for name, f in loops.WHOLE.items()}
    got["coverage@"] = metrics.coverage_at_k(scores, truth, k, exclude=seen)
    assert {name: got[name] for name in want} == pytest.approx(want, rel=1e-12, abs=1e-14), "functions"
    streamed = metrics.stream_metrics(
        lambda rows: scores[rows], seen, truth, ks=(k,), average=average, n_threads=case["threads"]
    )
    assert all(streamed[f"{name}{k}" if "@" in name else name] == got[name] for name in want), (
        "the stream has other bits"
    )


def defined(scores: np.ndarray, truth: np.ndarray, seen: np.ndarray, k: int, average: str) -> dict[str, float | None]:
    """The metrics by their definitions; None where no row has one."""
    try:
        return dict(loops.expected(scores, truth, seen, k, average))
    except ZeroDivisionError:  # no row has a pair of a positive and a negative
        return {"coverage@": None}


def labels(case: Case, chance: np.random.Generator) -> None:
    """Multi-label metrics, with and without a threshold and propensities."""
    scores, (n, m) = scores_of(case, chance), case["shape"]
    truth = (chance.random((n, m)) < 0.3).astype(int)
    truth[0, 0] = 1
    k, level = case["k"], case["levels"] / 2
    chances = chance.uniform(0.1, 1, m)
    got = metrics.multilabel_metrics(
        scores, truth, [k], threshold=level, propensities=chances, block_rows=case["block"], n_threads=case["threads"]
    )
    order = np.lexsort((np.tile(np.arange(m), (n, 1)), -scores))
    precision, gains, top, best = [], [], 0.0, 0.0
    for row, line in zip(truth, order):
        first, own = line[:k], int(row.sum())
        right = [place for place, label in enumerate(first) if row[label]]
        precision.append(len(right) / k)
        if own:
            ideal = sum(1 / math.log2(place + 2) for place in range(min(k, own)))
            gains.append(sum(1 / math.log2(place + 2) for place in right) / ideal)
        top += sum(1 / chances[label] for label in first if row[label])
        best += sum(sorted((1 / chances[row > 0]).tolist(), reverse=True)[:k])
    some = truth.sum(axis=1) > 0
    predicted = scores > level
    true, both = truth.sum(axis=0), (predicted & (truth > 0)).sum(axis=0)
    either = true + predicted.sum(axis=0)
    want = {
        f"precision@{k}": np.mean(np.asarray(precision)[some]), f"top-{k}": np.mean(precision),
        f"ndcg@{k}": np.mean(gains), f"psp@{k}": top / best, "hamming_loss": np.mean(predicted != (truth > 0)),
        "micro_f1": 2 * both.sum() / either.sum(),
        "macro_f1": np.mean([2 * b / e if e else 0.0 for b, e in zip(both, either)]),
    }  # fmt: skip
    assert {name: got[name] for name in want} == pytest.approx(want, rel=1e-10, abs=1e-12)


def completion(case: Case, chance: np.random.Generator) -> None:
    """Errors, areas and precision of a completed matrix."""
    shape = tuple(case["shape"])
    predicted = chance.integers(0, case["levels"], size=shape) / 2.0
    truth = (chance.random(shape) < 0.4).astype(float) if case["binary"] else chance.normal(size=shape)
    where = chance.random(shape) < 0.7
    where[0, 0] = True
    got = metrics.completion_metrics(predicted, truth, where)
    s, y = predicted[where], truth[where]
    want = {"mae": np.abs(s - y).mean(), "rmse": math.sqrt(np.square(s - y).mean())}
    if len(set(y.tolist())) == 2 and case["binary"]:
        want |= {"auc": area(s, y), "aupr": precision_area(s, y)}
        rows = [area(predicted[i, where[i]], truth[i, where[i]]) for i in range(shape[0])]
        rows = [one for one in rows if one is not None]
        if rows:
            want["row_auc"] = np.mean(rows)
    assert {name: got[name] for name in want} == pytest.approx(want, rel=1e-10, abs=1e-12)


def area(s: np.ndarray, y: np.ndarray) -> float | None:
    """Pairs (positive, other) in the right order, ties ½."""
    pairs = [(a > b) + 0.5 * (a == b) for a in s[y > 0] for b in s[y == 0]]
    return float(np.mean(pairs)) if pairs else None


def precision_area(s: np.ndarray, y: np.ndarray) -> float:
    """Σ precision × gain of recall, one level of scores after the other."""
    total, before = 0.0, 0
    for level in sorted(set(s.tolist()), reverse=True):
        chosen = s >= level
        right = int(y[chosen].sum())
        total += right / chosen.sum() * (right - before) / y.sum()
        before = right
    return total


ROOM = Room(
    "metrics",
    "A metric is what its definition says, ties, empty rows, dislikes and infinite scores included; by blocks it has "
    "the same bits.",
    "random scores with many ties against loops over sorted lists: ranking, multi-label and completion metrics",
    {
        "kind": ("ranking", "labels", "completion"),
        "shape": ([3, 4], [1, 6], [25, 13], [60, 7], [5, 90]),
        "levels": (4, 1, 2, 1000),
        "nothing": (0.0, 0.1, 0.6),
        "dtype": ("float64", "float32"),
        "k": (1, 3, 5, 20, 100),
        "average": ("test", "all"),
        "binary": (True, False),
        "block": (1, 7, None),
        "threads": (1, 2),
        "seed": range(100_000),
    },
    trial,
)  # fmt: skip
