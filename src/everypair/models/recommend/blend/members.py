"""What may be a member of a blend: our recommenders, and anything with ``fit`` and ``score_users``."""

from __future__ import annotations

import inspect
from typing import Any

from everypair.models.recommend.recommender import Recommender


def reads_features(model: Any) -> tuple[bool, bool]:
    """Whether ``fit`` of a model takes features of users, and of items."""
    if isinstance(model, Recommender):
        return model.reads_features
    parameters = inspect.signature(model.fit).parameters
    return "user_features" in parameters, "item_features" in parameters


def check_members(models: Any) -> None:
    """Refuse what are no recommenders."""
    if not isinstance(models, list | tuple) or not models:
        raise ValueError("models must be a list of recommenders, or None for OneClassMF and ItemItem.")
    for model in models:
        able = isinstance(model, Recommender) or all(
            hasattr(model, name) for name in ("fit", "score_users", "get_params")
        )
        if isinstance(model, type) or not able:
            raise TypeError(f"models must hold recommenders with fit and score_users, got {model!r}.")
