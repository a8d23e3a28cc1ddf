"""Small problems with side information, and F of a fitted model written out over every pair."""

import numpy as np

from everypair import OneClassMF, Side
from everypair.features.scaling import prepare_features
from everypair.models.recommend.rivals.same_loss import SameLossMF
from everypair.problem.losses import get_loss

USERS, ITEMS = 40, 24


def problem(seed=0):
    """Signed weights of low-rank tastes, and features of users (40 × 4) and items (24 × 3) that tell part of them."""
    random = np.random.default_rng(seed)
    users, items = random.standard_normal((USERS, 3)), random.standard_normal((ITEMS, 3))
    affinity, weights = users @ items.T, random.uniform(0.5, 2.0, (USERS, ITEMS))
    matrix = np.where(affinity > 1.8, weights, np.where(affinity < -4.0, -weights, 0.0))
    left = np.hstack([users[:, :2] + 0.3 * random.standard_normal((USERS, 2)), random.standard_normal((USERS, 2))])
    right = np.hstack([items[:, :2] + 0.3 * random.standard_normal((ITEMS, 2)), random.standard_normal((ITEMS, 1))])
    return matrix, left, right


def double(**params):
    fixed = {"rank": 3, "random_state": 0, "dtype": "float64", "max_iter": 5, "reg": 1.0, "reg_exponent": 0.5}
    fixed["n_threads"] = 1  # on problems of this size a second one costs time
    kind = params.pop("kind", OneClassMF)
    return kind(**{**fixed, **with_sides({"cold": "weights", **params})})  # what training itself learns of features


def with_sides(params):
    """Options of one value, or of a (users, items) pair, as two sides."""
    both_sides = {name: both(params.pop(name)) for name in [*params] if name in Side.__dataclass_fields__}
    if both_sides:
        for side, name in enumerate(("users", "items")):
            params[name] = Side(**{option: pair[side] for option, pair in both_sides.items()})
    return params


def converged(**params):
    return double(**{"max_iter": 3000, "tol": 1e-15, **params})


def both(value):
    return value if isinstance(value, tuple) else (value, value)


def written_out(model, matrix, features=(None, None), similarities=(None, None)):
    """F over all pairs, from the factors and feature weights of ``model`` and its constructor's parameters alone."""
    loss = get_loss(model.loss)
    stored, value = matrix != 0, loss.negative_value if model.negative_value == "auto" else model.negative_value
    factors = model.user_factors_, model.item_factors_
    scores = factors[0] @ factors[1].T
    pairs = np.abs(matrix) * loss.value(np.where(matrix > 0, 1.0, loss.dislike_target), scores)
    same = isinstance(model, SameLossMF)
    others = model.negative_weight_ * (loss.value(value, scores) if same else 0.5 * (value - scores) ** 2)
    total = np.where(stored, pairs, others).sum()
    for side, weights in enumerate((model.user_feature_weights_, model.item_feature_weights_)):
        options = (model.users, model.items)[side]
        learnt = np.ones(factors[0].shape[1], bool)
        if model.biases:
            learnt[model.rank + 1 - side] = False
            assert (factors[side][:, model.rank + 1 - side] == 1).all()
        own = factors[side][:, learnt]
        if features[side] is not None:
            X = prepare_features(features[side], options.normalize, options.fit_intercept)
            own = own - X @ weights[:, learnt]
            total += 0.5 * model.feature_reg_[side] * np.sum(weights[:, learnt] ** 2)
            if not options.own_vectors:
                np.testing.assert_allclose(own, 0, atol=1e-12)
        ridge = model.reg * (np.abs(matrix).sum(axis=1 - side) + model.negative_weight_ * matrix.shape[1 - side])
        if model.reg_exponent != 1:
            ridge = model.reg * (ridge / model.reg) ** model.reg_exponent
        total += 0.5 * ridge @ np.sum(own**2, axis=1)
        if similarities[side] is not None:
            links = (similarities[side] + similarities[side].T) / 2
            apart = factors[side][:, None, learnt] - factors[side][None, :, learnt]
            total += 0.25 * options.graph_reg * np.sum(links * np.sum(apart**2, axis=-1))
    return total
