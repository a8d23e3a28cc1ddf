"""WSABIE: it learns, keeps its constraint, repeats itself, uses known negatives only and refuses nonsense."""

import numpy as np
import pytest

from everypair.models.multilabel.rivals.wsabie import WSABIE


def blocks(rows_each=30, seed=0):
    """Four groups of rows, each with its own two labels of eight and its own features, in noise."""
    rng = np.random.default_rng(seed)
    X = np.kron(np.eye(4), np.ones((rows_each, 3))) + 0.3 * rng.random((4 * rows_each, 12))
    Y = np.kron(np.eye(4, dtype=int), np.ones((rows_each, 2), int))
    return X, Y


def precision(model, X, Y):
    labels, _ = model.predict_topk(X, k=2)
    return np.take_along_axis(Y, labels, axis=1).mean()


def test_learns_separable_labels_within_its_constraint():
    X, Y = blocks()
    model = WSABIE(rank=4, learning_rate=0.02, max_norm=1.5, random_state=0).fit(X, Y)
    new, truth = blocks(seed=1)
    assert precision(model, new, truth) == 1
    assert (model.predict(new) == truth).mean() > 0.98  # the learnt threshold
    lengths = np.concatenate([np.linalg.norm(M, axis=1) for M in (model.feature_weights_, model.label_factors_)])
    assert 1.49 < lengths.max() < 1.5 + 1e-6
    objectives = [sweep["objective"] for sweep in model.history_]
    assert len(objectives) == model.max_iter
    assert objectives[-1] < 0.2 * objectives[0]


def test_same_seed_same_bits():
    X, Y = blocks()
    first, again, other = (
        WSABIE(rank=4, max_iter=2, threshold=0.0, random_state=seed).fit(X, Y).feature_weights_ for seed in (3, 3, 4)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_missing_labels_leave_unknown_ones_alone():
    X, Y = blocks()
    mask = np.random.default_rng(0).random(Y.shape) < 0.5
    mask[:, 7] = False  # nothing is known of the last label: it is never positive and never drawn as a negative
    options = {"rank": 4, "learning_rate": 0.02, "threshold": 0.0, "unlabeled": "missing", "random_state": 0}
    untouched = WSABIE(max_iter=1, **options).fit(X, Y, mask=mask).label_factors_
    model = WSABIE(max_iter=30, **options).fit(X, Y, mask=mask)
    assert (model.label_factors_[7] == untouched[7]).all()
    assert (model.label_factors_[:7] != untouched[:7]).any(axis=1).all()
    scores = model.predict_scores(X)[:, :7]
    own = Y[:, :7].astype(bool)
    assert (np.where(own, scores, np.inf).min(axis=1) > np.where(own, -np.inf, scores).max(axis=1)).mean() > 0.95


def test_rows_of_weight_zero_are_never_drawn():
    X, Y = blocks()
    weight = np.repeat([1.0, 0.0], 60)  # the last two groups
    options = {
        "rank": 4,
        "max_iter": 3,
        "threshold": 0.0,
        "normalize": False,
        "fit_intercept": False,
        "random_state": 0,
    }
    X = np.kron(np.eye(4), np.ones((30, 3)))
    start = WSABIE(**{**options, "learning_rate": 1e-300}).fit(X, Y).feature_weights_
    model = WSABIE(**options).fit(X, Y, sample_weight=weight)
    assert (model.feature_weights_[6:] == start[6:]).all()
    assert (model.feature_weights_[:6] != start[:6]).all()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"rank": 0}, "rank must be an integer"),
        ({"max_iter": 0}, "max_iter must be an integer"),
        ({"margin": 0.0}, "margin must be a finite number > 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a finite number > 0"),
        ({"max_norm": -1}, "max_norm must be a finite number > 0"),
        ({"max_norm": float("inf")}, "max_norm must be a finite number > 0"),
        ({"threshold": "half"}, "threshold must be a number"),
    ],
)
def test_bad_parameters(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        WSABIE(**parameters).fit(*blocks(5))
