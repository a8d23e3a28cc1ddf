"""Principal label space transformation (Tai & Lin, Neural Computation 2012): V are right singular vectors of Z."""

from __future__ import annotations

from everypair.models.multilabel.rivals.label_space import LabelGrams, LabelSpaceClassifier, Matrix, leading
from everypair.models.parameters import estimator


@estimator
class PLST(LabelSpaceClassifier):
    """Ridge regression to the principal components of the labels, decoded back to all labels.

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
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> PLST(rank=1, reg=0.1).fit(X, Y).predict([[1.0, 0.0], [0.0, 1.0]])
    array([[1, 0],
           [0, 1]])
    """

    def _directions(self, grams: LabelGrams, rank: int) -> tuple[Matrix, Matrix]:
        """Leading eigenvectors of ZᵀCZ."""
        V = leading(grams.total(), rank)
        return V, V
