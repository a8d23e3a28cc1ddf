"""Principal label space transformation (Tai & Lin, Neural Computation 2012): codes of the labels, then ridge.

Z = Y − 1ȳᵀ,   V = the first ``rank`` right singular vectors of Z,
W = argmin ½ ‖ZV − XW‖² + ½ reg ‖W‖²,   s_i = x_i W Vᵀ + ȳ
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair.check import integer, is_number
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows, MultiLabelClassifier
from everypair.models.multilabel.rivals.ridge import RidgeSolver
from everypair.solvers.loop import Callback

Matrix = NDArray[np.float64]


@storable
@dataclass(frozen=True)
class LabelCodes:
    """s = x C Vᵀ + ȳ: ``codes`` C (d × k), ``decoder`` V (L × k) and the labels' ``mean``."""

    codes: NDArray[Any]
    decoder: NDArray[Any]
    mean: NDArray[Any]

    def scores(self, X: Any) -> NDArray[Any]:
        """X C Vᵀ + ȳ."""
        return np.asarray((X @ self.codes) @ self.decoder.T + self.mean)


class PLST(MultiLabelClassifier):
    """Ridge regression to the principal components of the labels, decoded back to all labels.

    Parameters
    ----------
    rank
        Number of codes; at most the number of labels, where it equals ridge regression on each label.
    reg
        Weight of the ridge, ½ reg ‖W‖²; 0 for the least-squares solution of least norm.
    normalize, fit_intercept
        Scale rows of X to unit length, then append a constant 1, penalised like any feature.
    threshold
        ``predict`` says 1 where the score exceeds it: a number, or ``"auto"`` to find it on a held-out tenth of the
        rows, which about doubles the time of ``fit`` (with fewer than 50 rows: ½).
    n_threads
        Number of threads of ``predict``, ``None`` for all cores.

    Attributes
    ----------
    codes_
        d × rank weights from features to codes (constant included, as the last row).
    decoder_
        L × rank orthonormal directions V.
    mean_
        L means ȳ of the labels.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> PLST(rank=1, reg=0.1).fit(X, Y).predict([[1.0, 0.0], [0.0, 1.0]])
    array([[1, 0],
           [0, 1]])
    """

    unlabeled = "negative"

    def __init__(
        self,
        rank: int = 10,
        reg: float = 1.0,
        normalize: bool = True,
        fit_intercept: bool = True,
        threshold: float | str = "auto",
        n_threads: int | None = None,
    ) -> None:
        self.rank = rank
        self.reg = reg
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.n_threads = n_threads

    codes_ = FittedAttribute("model")
    decoder_ = FittedAttribute("model")
    mean_ = FittedAttribute("model")

    def _fit(self, rows: LabelledRows, random: np.random.Generator, callbacks: tuple[Callback, ...]) -> LabelCodes:
        X, labels, sample_weight = rows
        rank = integer("rank", self.rank)
        if not is_number(self.reg) or not 0 <= self.reg < np.inf:
            raise ValueError(f"reg must be a number ≥ 0, got {self.reg!r}.")
        n, n_labels = labels.shape
        weights = np.ones(n) if sample_weight is None else sample_weight
        Y = labels.positives.astype(np.float64)
        mean = np.asarray(weights @ Y) / weights.sum()
        solver = RidgeSolver(X, self.reg, sample_weight)
        V = _leading(self._label_gram(solver, Y, mean, weights), min(rank, n_labels))
        codes = solver.weights(np.asarray(Y @ V) - mean @ V)
        return LabelCodes(codes.astype(X.dtype), V.astype(X.dtype), mean.astype(X.dtype))

    def _label_gram(self, solver: RidgeSolver, Y: Any, mean: Matrix, weights: Matrix) -> Matrix:
        """The L × L matrix whose leading eigenvectors are V: here ZᵀCZ."""
        product = (sp.diags_array(weights) @ Y).T @ Y
        return np.asarray(product.toarray()) - weights.sum() * np.outer(mean, mean)


def _leading(gram: Matrix, rank: int) -> Matrix:
    """Eigenvectors of the ``rank`` greatest eigenvalues, greatest first, each with its largest entry positive."""
    size = len(gram)
    _, vectors = scipy.linalg.eigh(gram, subset_by_index=(size - rank, size - 1), check_finite=False)
    vectors = vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    return np.asarray(vectors * np.sign(vectors[largest, np.arange(rank)]))
