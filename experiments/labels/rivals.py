"""One-vs-rest linear classifiers at the best C of a validation inside the training rows.

Sparse features are tf-idf rows of unit length, dense ones z-scores. C begins with three values and goes on by factors
of 4 while the best is at an end; it is the one with the best nDCG@5 of a held-out fifth, or of three folds where rows
are few.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import gains
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

START = {"LinearSVC": (0.0625, 0.25, 1.0), "LogisticRegression": (1.0, 4.0, 16.0)}
SMALLEST, LARGEST = 2.0**-10, 2.0**14
FEW_ROWS = 2000


def prepared(X: Any, *others: Any) -> list[Any]:
    """Rows as linear classifiers like them, scaled by what the first ones are like."""
    if X.nnz < 0.5 * X.shape[0] * X.shape[1]:
        scale = TfidfTransformer().fit(X.astype(np.float64))
        return [sp.csr_matrix(scale.transform(part.astype(np.float64))) for part in (X, *others)]
    scale = StandardScaler().fit(X.toarray())
    return [scale.transform(part.toarray()) for part in (X, *others)]


def fit(kind: str, C: float, X: Any, Y: Any) -> Any:
    model = {
        "LinearSVC": LinearSVC(C=C),
        "LogisticRegression": LogisticRegression(C=C, solver="liblinear", max_iter=1000),
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that no row, or every row, has; steps that were not enough
        return OneVsRestClassifier(model).fit(X, Y.astype(np.int64).tocsc())


def scores(model: Any, X: Any, Y: Any) -> Any:
    """Decision values; a label without training rows comes last."""
    values = np.asarray(model.decision_function(X), np.float64).reshape(X.shape[0], -1)
    values[:, np.asarray(Y.sum(axis=0)).ravel() == 0] = -1e9
    return values


def parts(n: int) -> list[tuple[Any, Any]]:
    order = np.random.default_rng(0).permutation(n)
    held = [order[fold::3] for fold in range(3)] if n < FEW_ROWS else [order[: n // 5]]
    return [(np.setdiff1d(order, one), one) for one in held]


def tuned(kind: str, X: Any, Y: Any, Z: Any) -> tuple[Any, dict[str, Any]]:
    """Scores of new rows Z, and the C that was chosen, what all reached, and CPU seconds of the last fit."""
    X, Z = prepared(X, Z)
    reached: dict[float, float] = {}
    wanted = list(START[kind])
    while wanted:
        for C in wanted:
            found = [gains(scores(fit(kind, C, X[a], Y[a]), X[b], Y[a]), Y[b]) for a, b in parts(X.shape[0])]
            reached[C] = float(np.concatenate(found).mean())
        C = max(reached, key=lambda one: reached[one])
        wanted = [C / 4] * (min(reached) == C > SMALLEST) + [4 * C] * (max(reached) == C < LARGEST)
    begin = time.process_time()
    model = fit(kind, C, X, Y)
    seconds = time.process_time() - begin
    return scores(model, Z, Y), {"C": C, "validated": reached, "cpu": seconds}
