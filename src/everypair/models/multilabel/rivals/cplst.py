"""Conditional principal label space transformation (Chen & Lin, NIPS 2012): codes that features can predict.

    Z = Y − 1ȳᵀ,   H = X (XᵀX + reg I)⁻¹ Xᵀ,   V = leading eigenvectors of ZᵀHZ,
    W = argmin ½ ‖ZV − XW‖² + ½ reg ‖W‖²,   s_i = x_i W Vᵀ + ȳ

V minimises ‖XW − ZV‖² + reg ‖W‖² + ‖Z − ZVVᵀ‖² over orthonormal V with W at its own optimum, because that equals
‖Z‖² − tr(VᵀZᵀHZV). With reg = 0 and no shift this is LEML's closed form for the squared loss (its Claims 1 and 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.models.multilabel.rivals.label_space import LabelSpaceClassifier, Matrix
from everypair.models.multilabel.rivals.ridge import RidgeSolver
from everypair.models.parameters import estimator


@estimator
class CPLST(LabelSpaceClassifier):
    """Ridge regression to the directions of label space that the features explain best.

    Only V differs from ``PLST``. The n × n hat matrix H is never formed:
    ZᵀHZ = (ZᵀX) W with W the ridge regression of all labels, from the smaller normal equations.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> CPLST(rank=1, reg=0.1).fit(X, Y).predict([[1.0, 0.0], [0.0, 1.0]])
    array([[1, 0],
           [0, 1]])
    """

    def _label_gram(self, solver: RidgeSolver, Y: Any, mean: Matrix, weights: Matrix) -> Matrix:
        """ZᵀCZ reduced to what the features explain, (XᵀCZ)ᵀ W."""
        ones = np.ones((len(weights), 1))
        correlations = solver.correlations(Y) - solver.correlations(ones) * mean
        explained = correlations.T @ (solver.weights(Y) - solver.weights(ones) * mean)
        return np.asarray(explained + explained.T) / 2
