"""Multi-label data sets, their splits, and what is measured of a ranking, row by row."""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))
import datasets

from everypair.data import load_debian

RESULTS = Path(__file__).parent / "results"
DATA = ("bibtex", "delicious", "corel5k", "rcv1subset1_top944", "medical", "scene", "yeast", "birds", "emotions",
        "genbase", "debian")  # fmt: skip
PUBLISHED = "published"
STEPS = 200  # in which a row's nDCG@5 is kept
Parts = tuple[Any, Any, Any, Any]


def load(name: str, split: str = PUBLISHED) -> Parts:
    """X and Y of the training and test rows: as published, or as many of both drawn with a seed, ``"1"``, ``"2"`` …

    rcv1 has no published split here and is halved, debian is 6,000 and 2,000 tagged packages; their "published" split
    is the first that was drawn.
    """
    if name == "debian":
        debian = load_debian()
        rows = np.random.default_rng(0).permutation(np.flatnonzero(debian.tagged))[:8000]
        X, Y, n = sp.csr_array(debian.features[rows], dtype=np.float32), sp.csr_array(debian.tags[rows]), 6000
    else:
        archive = datasets.read(f"ml_{name}")
        if "X_all_shape" in archive:
            X, Y = datasets.sparse(archive, "X_all"), datasets.sparse(archive, "Y_all")
            order = np.random.default_rng(0).permutation(X.shape[0])
            X, Y, n = X[order], Y[order], X.shape[0] // 2
        else:
            X, Y = (
                sp.vstack([datasets.sparse(archive, f"{part}_{half}") for half in ("train", "test")], format="csr")
                for part in "XY"
            )
            n = int(archive["X_train_shape"][0])
    X, Y = sp.csr_array(X), sp.csr_array(Y.astype(np.int8))
    if split != PUBLISHED:
        order = np.random.default_rng(int(split)).permutation(X.shape[0])
        X, Y = X[order], Y[order]
    return X[:n], Y[:n], X[n:], Y[n:]


def gains(scores: Any, truth: Any) -> Any:
    """nDCG@5 of every row that has a label; ties rank by ascending label."""
    right = hits(scores, truth, 5)
    discounts = 1 / np.log2(2 + np.arange(right.shape[1]))
    counts = np.asarray(truth.sum(axis=1)).ravel()
    ideal = np.cumsum(discounts)[np.minimum(counts, len(discounts)) - 1]
    return ((right @ discounts) / ideal)[counts > 0]


def hits(scores: Any, truth: Any, k: int) -> Any:
    """Which of each row's first k labels are right."""
    first = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(truth.toarray() > 0, first, axis=1)


def measured(scores: Any, truth: Any) -> dict[str, Any]:
    """Precision@1/3/5 over all rows (one without labels counts 0), nDCG@5 over rows with a label, × 100."""
    rows = gains(scores, truth)
    precision = {f"precision@{k}": 100 * float(hits(scores, truth, k).sum()) / (len(scores) * k) for k in (1, 3, 5)}
    return {**precision, "ndcg@5": 100 * float(rows.mean()), "rows": packed(rows)}


def packed(rows: Any) -> str:
    """Numbers from 0 to 1 as a short text: differences of methods are paired over rows."""
    return base64.b64encode(np.round(STEPS * rows).astype(np.uint8).tobytes()).decode()


def unpacked(text: str) -> Any:
    return np.frombuffer(base64.b64decode(text), np.uint8) / STEPS


def difference(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[float, float]:
    """Mean difference of nDCG@5 and its paired standard error over test rows, × 100."""
    rows = unpacked(ours["rows"]) - unpacked(theirs["rows"])
    return ours["ndcg@5"] - theirs["ndcg@5"], 100 * float(rows.std(ddof=1)) / len(rows) ** 0.5
