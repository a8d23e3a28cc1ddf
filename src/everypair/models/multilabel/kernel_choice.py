"""Which metric and which ridge rank rows best that neither has seen: cross-fitting in two or three folds.

    λ = argmax nDCG@5 with e = ½, uphill from 0.3 in steps of about 3, then e = argmax nDCG@5 with that λ,
    of rows scored by a metric and a kernel ridge regression of the other folds (of near ties the λ nearest 0.3 and the
    larger e; with one label, which nothing ranks, the least squared error)

A metric that has seen a row's labels draws rows of the same labels together: leaving the row out of the regression
alone, after the metric has been learnt with it, flatters the metric. So the metric is learnt again in every fold, and
features stay as they are (e = 0) unless a metric is better by more than 1½ standard errors of the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.data.labels import Labels
from everypair.features.ridge_weights import feature_norms
from everypair.features.row_scale import RowScale
from everypair.metrics import per_row
from everypair.metrics.ranking import rank_dense
from everypair.models.multilabel.base import LabelledRows
from everypair.models.multilabel.kernel_stages import StageRows
from everypair.models.multilabel.ridge_search import TOP, known_alone
from everypair.solvers.kernel_ridge.exact import KernelRidge
from everypair.solvers.kernel_ridge.points import Points, lower_matrix
from everypair.types import Array

EXPONENTS = (0.0, 0.5, 1.0)
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
METRIC_ROWS = 1000  # that μ is chosen on, at most
FEWEST_ROWS, MOST_ROWS = 1000, 2000  # to choose e and λ on, between these half of all,
FEW_FOLDS, FOLDS = 2, 3  # in so many folds, the former where rows are more than the fewest
ERRORS = 1.5
TIE = 0.001  # of nDCG


class KernelChoice(NamedTuple):
    """The metric's exponent e and the ridge λ."""

    exponent: float = 0.0
    reg: float = 0.3


@dataclass(frozen=True)
class CrossFit:
    """Labelled rows in a drawn order, how they are scaled, the ridge μ of metrics, and the kernel's γ."""

    rows: LabelledRows
    plain: RowScale
    metric_ridge: float
    gamma: float
    dtype: np.dtype[Any]
    n_threads: int

    def best(self, exponents: Sequence[float], regs: Sequence[float]) -> KernelChoice:
        """The exponent and the ridge that rank best, of those that may be chosen."""
        usual = KernelChoice(exponents[0], regs[len(regs) // 2])
        if len(exponents) == len(regs) == 1:
            return usual
        folds = [self.fold(kept, held) for kept, held in parts(self.rows.labels)]
        if not folds:
            return usual

        @cache
        def quality(exponent: float, reg: float) -> Array:
            return np.concatenate([ranked(exponent, reg) for ranked in folds])

        middle = exponents[len(exponents) // 2]
        reg = uphill(regs, lambda reg: float(quality(middle, reg).mean())) if len(regs) > 1 else regs[0]
        if len(exponents) == 1:
            return KernelChoice(middle, reg)
        means = {one: float(quality(one, reg).mean()) for one in exponents}
        best = max(one for one in exponents if means[one] > max(means.values()) - TIE)
        gain = quality(best, reg) - quality(exponents[0], reg)
        sure = gain.mean() > ERRORS * gain.std() / np.sqrt(len(gain))
        return KernelChoice(best if sure else exponents[0], reg)

    def fold(self, kept: Array, held: Array) -> Callable[[float, float], Array]:
        """A function of e and λ: nDCG@5 of the held-out rows that have a label."""
        X, labels, weights = self.rows.take(kept)
        (Y, _), Z = targets(labels, self.dtype), self.rows.X[held]
        held_labels = self.rows.labels.rows(held)
        inverse_weights = np.ones(len(kept)) if weights is None else 1 / weights
        matrices: dict[float, tuple[Array, Array]] = {}
        norms: list[Array] = []

        def scale(exponent: float) -> RowScale:
            if not exponent:
                return self.plain
            if not norms:
                T = labels.positives.astype(self.dtype)
                norms.append(feature_norms(self.plain(X, self.dtype), T, self.metric_ridge, weights))
            return self.plain.weighted(norms[0] ** exponent)

        def kernels(exponent: float) -> tuple[Array, Array]:
            scaled = scale(exponent)
            known = StageRows(Points.of(scaled(X, self.dtype)), self.gamma)
            others = StageRows(Points.of(scaled(Z, self.dtype), like=known.features), self.gamma)
            K = lower_matrix(lambda i, j: known[i].kernel(known[j]), len(known), self.dtype, self.n_threads)
            return K, others.kernel(known)

        def ranked(exponent: float, reg: float) -> Array:
            if exponent not in matrices:
                matrices[exponent] = kernels(exponent)
            K, values = matrices[exponent]
            ridges = np.asarray(reg * inverse_weights, self.dtype)
            system = KernelRidge.of(lambda i, j: K[i, j], ridges, self.n_threads)
            scores = values @ system.coefficients(Y)
            if Y.shape[1] == 1:
                return -np.square(scores - held_labels.positives.toarray(), dtype=np.float64).ravel()
            ranking = rank_dense(known_alone(scores, held_labels), held_labels.positives, None)
            quality = per_row.ndcg(ranking, min(TOP, Y.shape[1]))
            return np.asarray(quality[~np.isnan(quality)])

        return ranked


def uphill(values: Sequence[float], height: Callable[[float], float]) -> float:
    """The first of ``values`` that is higher than those beside it, from the middle on.

    >>> uphill((1.0, 2.0, 3.0, 4.0, 5.0), lambda value: -abs(value - 1.9))
    2.0
    """
    place = middle = len(values) // 2
    for step in (-1, 1):
        while 0 <= place + step < len(values) and height(values[place + step]) > height(values[place]) + TIE:
            place += step
        if place != middle:
            break
    return values[place]


def targets(labels: Labels, dtype: Any) -> tuple[Array, NDArray[np.bool_] | None]:
    """Y, and where it is not known: there it has the label's share of the known ones.

    >>> Y, unknown = targets(Labels.from_y([[1.0, 0.0], [np.nan, 1.0], [0.0, 0.0]], "missing"), np.float64)
    >>> Y.tolist(), int(unknown.sum())
    ([[1.0, 0.0], [0.5, 1.0], [0.0, 0.0]], 1)
    """
    Y = labels.positives.toarray().astype(dtype)
    if labels.known is None:
        return Y, None
    unknown = np.ones(Y.shape, bool)
    unknown[np.repeat(np.arange(len(Y)), np.diff(labels.known.indptr)), labels.known.indices] = False
    shares = Y.sum(axis=0) / np.maximum((~unknown).sum(axis=0), 1)
    return np.where(unknown, shares.astype(dtype), Y), unknown


def parts(labels: Labels) -> list[tuple[Array, Array]]:
    """Rows to learn from and rows to rank, a part of all where they are many."""
    n = labels.shape[0]
    count = min(n, MOST_ROWS, max(FEWEST_ROWS, n // 2))
    folds = FOLDS if count <= FEWEST_ROWS else FEW_FOLDS
    pairs = []
    for fold in range(folds):
        held = np.arange(fold, count, folds)
        kept = np.setdiff1d(np.arange(count), held)
        if labels.rows(kept).positives.nnz and labels.rows(held).positives.nnz:
            pairs.append((kept, held))
    return pairs
