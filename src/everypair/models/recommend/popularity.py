"""The floor every model has to beat: the same items for everybody, by their number of positives."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from everypair.data.pairs import Pairs
from everypair.models.recommend.base import FactorModel, checked_rows
from everypair.models.recommend.naming import asks, fits
from everypair.models.recommend.state import FactorState
from everypair.problem.layout import LEFT


class Popularity(FactorModel):
    """Score s_ij = |Ω_j⁺| for every user: a model without parameters, to compare with.

    >>> model = Popularity().fit([[1, 1, 0], [1, 0, 0]])
    >>> items, scores = model.recommend([1], n=2)
    >>> items.tolist(), scores.tolist()
    ([[1, 2]], [[1.0, 0.0]])
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads

    @fits
    def fit(self, interactions: Any) -> Self:
        """Count the positives of every item, in events or a matrix as :meth:`OneClassMF.fit` takes."""
        pairs = Pairs.from_matrix(interactions)
        self.state_ = FactorState(
            left_factors=np.ones((pairs.shape[0], 1), np.float32),
            right_factors=pairs.right_counts[:, None].astype(np.float32),
            interactions=pairs.to_csr(),
        )
        return self

    @asks(LEFT)
    def fold_in_users(self, rows: Any) -> NDArray[Any]:
        """Everybody has the factor 1."""
        check_is_fitted(self)
        return np.ones((checked_rows(rows, len(self.right_factors_), np.float32).shape[0], 1), np.float32)
