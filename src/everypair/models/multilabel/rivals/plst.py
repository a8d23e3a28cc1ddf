"""Principal label space transformation (Tai & Lin, Neural Computation 2012): V are right singular vectors of Z."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from everypair.models.multilabel.rivals.label_space import LabelSpaceClassifier, Matrix
from everypair.models.multilabel.rivals.ridge import RidgeSolver
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
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> PLST(rank=1, reg=0.1).fit(X, Y).predict([[1.0, 0.0], [0.0, 1.0]])
    array([[1, 0],
           [0, 1]])
    """

    def _label_gram(self, solver: RidgeSolver, Y: Any, mean: Matrix, weights: Matrix) -> Matrix:
        """ZᵀCZ."""
        product = (sp.diags_array(weights) @ Y).T @ Y
        return np.asarray(product.toarray()) - weights.sum() * np.outer(mean, mean)
