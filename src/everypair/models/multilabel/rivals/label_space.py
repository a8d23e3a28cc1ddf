"""Codes of the labels along few directions, a ridge regression to them, and back.

    Z = Y − 1ȳᵀ,   P = directions of label space (L × k),   T = ZP the codes,   V = what decodes them (L × k)
    W = argmin ½ ‖T − XW‖² + ½ reg ‖W‖²,   s_i = x_i W Vᵀ + ȳ

Directions come from what labels have in common, ZᵀCZ, and the part of it that features explain, ZᵀHZ with the hat
matrix H of the ridge regression; C are the rows' weights. Orthonormal directions decode themselves, V = P.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from everypair import check
from everypair.models.codec import storable
from everypair.models.estimator import FittedAttribute
from everypair.models.multilabel.base import LabelledRows, LinearClassifier
from everypair.models.multilabel.rivals.ridge import RidgeSolver
from everypair.models.parameters import estimator, number, parameter
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


@dataclass(frozen=True)
class LabelGrams:
    """The two L × L matrices that directions are found from."""

    solver: RidgeSolver
    Y: Any
    mean: Matrix
    weights: Matrix

    def total(self) -> Matrix:
        """ZᵀCZ."""
        product = (sp.diags_array(self.weights) @ self.Y).T @ self.Y
        return np.asarray(product.toarray()) - self.weights.sum() * np.outer(self.mean, self.mean)

    def explained(self) -> Matrix:
        """ZᵀHZ = (XᵀCZ)ᵀ W with W the ridge regression of all labels; H itself, n × n, is never formed."""
        ones = np.ones((len(self.weights), 1))
        correlations = self.solver.correlations(self.Y) - self.solver.correlations(ones) * self.mean
        explained = correlations.T @ (self.solver.weights(self.Y) - self.solver.weights(ones) * self.mean)
        return np.asarray(explained + explained.T) / 2


@estimator
class LabelSpaceClassifier(LinearClassifier):
    """Base of regressions to label space: a subclass tells its directions P and the decoder V."""

    rank: int = parameter(
        10,
        "number of codes; at most the number of labels, where it equals ridge regression on each label.",
        check.integer,
    )
    reg: float = parameter(
        1.0, "weight of the ridge, ½ reg ‖W‖²; 0 for the least-squares solution of least norm.", number(least=0)
    )

    codes_ = FittedAttribute("model")
    decoder_ = FittedAttribute("model")
    mean_ = FittedAttribute("model")

    def _fit(
        self,
        rows: LabelledRows,
        parameters: SimpleNamespace,
        random: np.random.Generator,
        callbacks: tuple[Callback, ...],
    ) -> LabelCodes:
        X, labels, sample_weight = rows
        n, n_labels = labels.shape
        weights = np.ones(n) if sample_weight is None else sample_weight
        Y = labels.positives.astype(np.float64)
        mean = np.asarray(weights @ Y) / weights.sum()
        solver = RidgeSolver(X, parameters.reg, sample_weight)
        P, V = self._directions(LabelGrams(solver, Y, mean, weights), min(parameters.rank, n_labels))
        codes = solver.weights(np.asarray(Y @ P) - mean @ P)
        return LabelCodes(codes.astype(X.dtype), V.astype(X.dtype), mean.astype(X.dtype))

    def _directions(self, grams: LabelGrams, rank: int) -> tuple[Matrix, Matrix]:
        """P and V."""
        raise NotImplementedError


def leading(gram: Matrix, rank: int) -> Matrix:
    """Eigenvectors of the ``rank`` greatest eigenvalues, greatest first, each with its largest entry positive."""
    size = len(gram)
    _, vectors = scipy.linalg.eigh(gram, subset_by_index=(size - rank, size - 1), check_finite=False)
    vectors = vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    return np.asarray(vectors * np.sign(vectors[largest, np.arange(rank)]))
