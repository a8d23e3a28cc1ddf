"""What every recommender has: the ids of its users and items, if it was fitted on events, and the form of answers."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

from everypair.data.matching import Known
from everypair.features.feature_map import FeatureMap
from everypair.models.estimator import Estimator, FittedAttribute
from everypair.models.recommend.answers import checked_form


class Recommender(Estimator):
    """Base of recommenders; their state is a :class:`~everypair.models.recommend.state.NamedState`.

    Methods work in positions. Those that are marked in :mod:`everypair.models.recommend.naming` speak ids where the
    model has some: ids in, ids out.
    """

    state_: Any
    user_ids_ = FittedAttribute()
    item_ids_ = FittedAttribute()

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what ``recommend``, ``similar_items`` and ``similar_users`` return, as scikit-learn's method does.

        ``"pandas"``, ``"polars"`` or ``"arrow"``: one table with a line per recommendation, its user, item, score and
        rank from 1; ``"default"``: two arrays; ``None`` changes nothing.

        >>> from everypair import Popularity
        >>> model = Popularity().fit({"user": ["ann", "ann", "bob"], "item": ["blue", "rain", "blue"]})
        >>> model.set_output(transform="pandas").recommend(["bob"])
          user  item  score  rank
        0  bob  rain    1.0     1
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": checked_form(transform)}  # scikit-learn's clone keeps it
        return self

    def _feature_map(self, side: int) -> FeatureMap | None:
        """How features of a side are read; None where the model was fitted without."""
        return None


def known_ids(model: Any) -> Known | None:
    """Return the ids of a fitted model, None where it has none."""
    state = vars(model).get("state_")
    users, items = getattr(state, "user_ids", None), getattr(state, "item_ids", None)
    return None if users is None or items is None else Known(users, items)


def in_positions(model: Any) -> Any:
    """Return the same model, which shares everything it has learnt, without ids and with answers as arrays."""
    if not isinstance(model, Recommender) or "state_" not in vars(model):
        return model
    view: Any = copy.copy(model)
    view.__dict__.pop("_sklearn_output_config", None)
    view.state_ = replace(model.state_, user_ids=None, item_ids=None)
    return view
