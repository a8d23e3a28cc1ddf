"""Fitted attributes of recommenders with factors."""

from __future__ import annotations

from everypair.models.estimator import FittedAttribute


class FactorAttributes:
    """What every factor model tells."""

    user_factors_ = FittedAttribute()
    item_factors_ = FittedAttribute()


class TrainedAttributes(FactorAttributes):
    """What sweeps have learnt."""

    rank_ = FittedAttribute()
    reg_ = FittedAttribute()
    history_ = FittedAttribute()
    objective_ = FittedAttribute()
    status_ = FittedAttribute()
    n_iter_ = FittedAttribute()


class FactorizationAttributes(TrainedAttributes):
    """The terms of the objective."""

    loss_ = FittedAttribute()
    negatives_ = FittedAttribute()
    ridge_ = FittedAttribute()
    targets_ = FittedAttribute()
    biases_ = FittedAttribute()
    user_feature_weights_ = FittedAttribute()
    item_feature_weights_ = FittedAttribute()
    feature_reg_ = FittedAttribute()
    feature_maps_ = FittedAttribute()
    own_vectors_ = FittedAttribute()
    graphs_ = FittedAttribute()
