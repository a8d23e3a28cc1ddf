"""ContentUsers: what users like who are alike by age, words, friends or any other features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from everypair.data.pairs import Pairs
from everypair.models.estimator import FittedAttribute
from everypair.models.parameters import checked, estimator
from everypair.models.recommend.content_items import Content, ContentParameters
from everypair.models.recommend.content_ridge import choose_user_reg
from everypair.models.recommend.content_users_state import ContentUsersState
from everypair.models.recommend.item_item_state import base_of, signs
from everypair.models.recommend.recommender import Recommender
from everypair.models.recommend.training_data import training_data


@estimator
class ContentUsers(ContentParameters, Recommender):
    """Score s_uj = Σ_v y_vj x_u·x_v: how like a user are those who have an item, by the features of both.

    The mirror of :class:`~everypair.ContentItems`: x_u are the features of user u, rare ones weighing more
    (idf^``idf_exponent``; counts become 1 + ln count first), in a row of length 1. Nothing is trained, and users nobody
    has seen are recommended what those like them have. With ``reg`` scores are those of a ridge regression of all
    items' users on the features of users, every user predicted without himself. What a user has is not looked at:
    in a :class:`~everypair.Blend` that is the part of the others. Who comes without features is described by those of
    the users who have the same items.

    Attributes
    ----------
    content_ : X (m × d), sparse or dense as the features are.
    reg_ : the ridge that was used, or ``None``.

    Examples
    --------
    >>> events = {"user": ["ann", "bob"], "item": ["lentil soup", "chess"]}
    >>> import pandas as pd
    >>> about = pd.DataFrame({"cooks": [1, 0, 1], "plays": [0, 1, 0]}, index=["ann", "bob", "cem"])
    >>> model = ContentUsers().fit(events, user_features=about.iloc[:2])
    >>> model.recommend(features=about.iloc[2:], n=1)[0].tolist()  # nobody has seen cem
    [['lentil soup']]
    """

    fitted_class: ClassVar[type] = ContentUsersState
    reads_features: ClassVar[tuple[bool, bool]] = (True, False)
    content_ = FittedAttribute()
    reg_ = FittedAttribute()

    def fit(self, interactions: Any, *, user_features: Any = None) -> Self:
        """Read interactions, events or a matrix as :meth:`OneClassMF.fit` takes, and a row of features per user."""
        values = checked(self)
        if user_features is None:
            raise ValueError(
                "ContentUsers compares users by their features: give fit(…, user_features=X), a row per user."
            )
        data = training_data(interactions, features=(user_features, None))
        matrix = Pairs.from_matrix(data.matrix, dtype=values.dtype).to_csr()
        likes = signs(matrix)
        content = Content.read(values, data.features[0], "user_features", matrix.shape[0])
        ridge = content.ridge(values, np.diff(matrix.indptr) > 0, choose_user_reg, likes)
        self.state_ = data.named(
            ContentUsersState(
                **content._asdict(), profiles=likes.T @ content.content, base=base_of(matrix, np.ones(matrix.shape[0])),
                interactions=matrix, ridge=ridge,
            )
        )  # fmt: skip
        return self
