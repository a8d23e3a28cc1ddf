"""The floor every model has to beat: the same items for everybody, by their number of positives."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from everypair.data.pairs import Pairs
from everypair.models.parameters import Threads, checked, estimator
from everypair.models.recommend.attributes import FactorAttributes
from everypair.models.recommend.count_state import CountState
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import training_data


@estimator
class Popularity(Threads, FactorAttributes, Recommender):
    """Score s_ij = |Ω_j⁺| for every user: a model to compare with.

    Examples
    --------
    >>> model = Popularity().fit([[1, 1, 0], [1, 0, 0]])
    >>> items, scores = model.recommend([1], n=2)
    >>> items.tolist(), scores.tolist()
    ([[1, 2]], [[1.0, 0.0]])
    """

    fitted_class: ClassVar[type] = CountState

    def fit(self, interactions: Any) -> Self:
        """Count the positives of every item, in events or a matrix as :meth:`OneClassMF.fit` takes."""
        checked(self)
        data = training_data(interactions)
        pairs = Pairs.from_matrix(data.matrix)
        self.state_ = data.named(
            CountState(
                user_factors=np.ones((pairs.shape[0], 1), np.float32),
                item_factors=pairs.right_counts[:, None].astype(np.float32),
                interactions=pairs.to_csr(),
            )
        )
        return self
