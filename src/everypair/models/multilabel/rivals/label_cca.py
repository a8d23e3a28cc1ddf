"""Codes of labels by canonical correlation analysis (Sun, Ji & Ye, ICML 2008 and TPAMI 2011).

    Z = Y − 1ȳᵀ,   (ZᵀHZ) P = (ZᵀCZ) P Λ,   PᵀZᵀCZP = I      the directions whose ZP features explain best
    V = ZᵀCZ P = argmin ‖Z − ZPVᵀ‖²,   s_i = x_i W Vᵀ + ȳ with W the ridge regression of ZP

Λ are squared canonical correlations where reg = 0. ``CPLST`` asks for much that is explained, this for a large share.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from everypair.models.multilabel.rivals.label_space import LabelGrams, LabelSpaceClassifier, Matrix, leading
from everypair.models.parameters import estimator


@estimator
class LabelCCA(LabelSpaceClassifier):
    """Ridge regression to the canonical variates of the labels, decoded by least squares.

    Directions in which labels do not vary (a label that is constant, or the sum of others) are left out.

    Attributes
    ----------
    codes_
        d × rank weights from features to codes (constant included, as the last row).
    decoder_
        L × rank, V.
    mean_
        L means ȳ of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> LabelCCA(rank=1, reg=0.1).fit(X, Y).predict([[1.0, 0.0], [0.0, 1.0]])
    array([[1, 0],
           [0, 1]])
    """

    def _directions(self, grams: LabelGrams, rank: int) -> tuple[Matrix, Matrix]:
        """Generalised eigenvectors, by whitening ZᵀCZ, and what decodes them."""
        total = grams.total()
        values, vectors = scipy.linalg.eigh(total, check_finite=False)
        varied = values > len(values) * np.finfo(np.float64).eps * values[-1]
        whitener = vectors[:, varied] / np.sqrt(values[varied])
        P = whitener @ leading(whitener.T @ grams.explained() @ whitener, min(rank, int(varied.sum())))
        return P, total @ P
