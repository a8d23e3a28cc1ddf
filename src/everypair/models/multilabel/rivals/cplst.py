"""Conditional principal label space transformation (Chen & Lin, NIPS 2012): codes that features can predict.

    Z = Y − 1ȳᵀ,   H = X (XᵀX + reg I)⁻¹ Xᵀ,   V = leading eigenvectors of ZᵀHZ,
    W = argmin ½ ‖ZV − XW‖² + ½ reg ‖W‖²,   s_i = x_i W Vᵀ + ȳ

V minimises ‖XW − ZV‖² + reg ‖W‖² + ‖Z − ZVVᵀ‖² over orthonormal V with W at its own optimum, because that equals
‖Z‖² − tr(VᵀZᵀHZV). With reg = 0 and no shift this is LEML's closed form for the squared loss (its Claims 1 and 2).
"""

from __future__ import annotations

from everypair.models.multilabel.rivals.label_space import LabelGrams, LabelSpaceClassifier, Matrix, leading
from everypair.models.parameters import estimator


@estimator
class CPLST(LabelSpaceClassifier):
    """Ridge regression to the directions of label space that the features explain best.

    Only V differs from ``PLST``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> CPLST(rank=1, reg=0.1).fit(X, Y).predict([[1.0, 0.0], [0.0, 1.0]])
    array([[1, 0],
           [0, 1]])
    """

    def _directions(self, grams: LabelGrams, rank: int) -> tuple[Matrix, Matrix]:
        """Leading eigenvectors of ZᵀHZ."""
        V = leading(grams.explained(), rank)
        return V, V
