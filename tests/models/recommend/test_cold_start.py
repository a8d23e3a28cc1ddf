"""Users and items that were not in training: known by features, by events, or by both, on either side."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import BPR, OneClassMF, Popularity, Side, SubsampledMF
from everypair.models.recommend.rivals.same_loss import SameLossMF
from everypair.testing import block_matrix, group_of

from .informed import ITEMS, USERS, converged, double, problem

MATRIX, LEFT, RIGHT = problem()


def prepared(features, normalize, fit_intercept):
    if normalize:
        features = features / np.linalg.norm(features, axis=1, keepdims=True)
    return np.hstack([features, np.ones((len(features), 1))]) if fit_intercept else features


# features alone: XW


@pytest.mark.parametrize("own_vectors", [True, False])
@pytest.mark.parametrize(("normalize", "fit_intercept"), [(False, False), (True, False), (False, True), (True, True)])
def test_features_alone_give_features_times_weights(normalize, fit_intercept, own_vectors):
    model = double(own_vectors=own_vectors, normalize=normalize, fit_intercept=fit_intercept).fit(
        MATRIX, user_features=LEFT, item_features=sp.csr_array(RIGHT)
    )
    for fold_in, features, weights in (
        (model.fold_in_users, LEFT[:3], model.user_feature_weights_),
        (model.fold_in_items, RIGHT[:4], model.item_feature_weights_),
    ):
        expected = prepared(features, normalize, fit_intercept) @ weights
        np.testing.assert_allclose(fold_in(features=features), expected, atol=1e-12)
        np.testing.assert_allclose(fold_in(features=sp.coo_array(features)), expected, atol=1e-12)
    if not own_vectors:
        np.testing.assert_allclose(model.fold_in_users(features=LEFT), model.user_factors_, atol=1e-12)
        np.testing.assert_allclose(model.fold_in_items(features=RIGHT), model.item_factors_, atol=1e-12)


def test_with_biases_a_new_entity_has_a_bias_by_its_features():
    model = double(biases=True, own_vectors=False).fit(MATRIX, user_features=LEFT, item_features=RIGHT)
    users, items = model.fold_in_users(features=LEFT), model.fold_in_items(features=RIGHT)
    np.testing.assert_allclose(users, model.user_factors_, atol=1e-12)
    np.testing.assert_allclose(items, model.item_factors_, atol=1e-12)
    assert (users[:, 4] == 1).all()
    assert (items[:, 3] == 1).all()
    parts = LEFT @ model.user_feature_weights_[:, :4]
    by_hand = parts[:, :3] @ items[:, :3].T + parts[:, [3]] + (RIGHT @ model.item_feature_weights_[:, 4])
    np.testing.assert_allclose(model.score_users(features=LEFT), by_hand, atol=1e-12)


# features and events: the training sub-problem


CASES = {
    "logistic": {},
    "squared": {"loss": "squared"},
    "hinge with biases": {"loss": "squared_hinge", "biases": True},
    "prepared": {"normalize": True, "fit_intercept": True},
    "weights": {"negative_scheme": "user-count", "reg": 0.5, "reg_exponent": "count"},
    "every pair": {"kind": SameLossMF, "biases": True, "negative_weight": 0.2, "reg": 0.3},
}


@pytest.mark.parametrize("params", CASES.values(), ids=CASES)
def test_a_training_row_with_its_features_gets_its_training_factors_back(params):
    model = converged(**params).fit(MATRIX, user_features=LEFT, item_features=RIGHT)
    scale = np.abs(model.user_factors_).max()
    assert scale > 0.3
    np.testing.assert_allclose(model.fold_in_users(MATRIX, features=LEFT), model.user_factors_, atol=1e-6 * scale)
    np.testing.assert_allclose(model.fold_in_items(MATRIX, features=RIGHT), model.item_factors_, atol=1e-6 * scale)
    some = model.fold_in_users(sp.csr_array(MATRIX[[7, 2]]), features=sp.csr_array(LEFT[[7, 2]]))
    np.testing.assert_allclose(some, model.user_factors_[[7, 2]], atol=1e-6 * scale)
    assert np.abs(model.fold_in_users(MATRIX) - model.user_factors_).max() > 1e-3 * scale  # features do say something
    assert np.abs(model.fold_in_users(features=LEFT) - model.user_factors_).max() > 1e-3 * scale  # and so do events


def test_a_side_without_features_folds_in_as_ever():
    model = converged().fit(MATRIX, user_features=LEFT)
    np.testing.assert_allclose(model.fold_in_items(MATRIX), model.item_factors_, atol=1e-6)


def test_events_correct_what_features_say_even_without_own_vectors():
    model = double(own_vectors=(False, True), feature_reg=0.3).fit(MATRIX, user_features=LEFT)
    liked = np.zeros((1, ITEMS))
    without = model.fold_in_users(liked, features=LEFT[:1])
    liked[0, 5] = 1
    corrected = model.fold_in_users(liked, features=LEFT[:1])
    assert (corrected - without) @ model.item_factors_[5] > 0.01
    surer = model.fold_in_users(10 * liked, features=LEFT[:1])
    assert (surer - corrected) @ model.item_factors_[5] > 0.01


def test_events_and_features_are_the_optimum_of_one_row():
    """The gradient of f(u) = Σ_Ω c ℓ + ½ Σ_{∉Ω} p q (ỹ − u·v)² + ½ λ ‖u − xW‖² vanishes, by numbers alone."""
    model = double(negative_weight=0.3).fit(MATRIX, user_features=LEFT)
    row, V = MATRIX[4], model.item_factors_
    u = model.fold_in_users(row[None], features=LEFT[[4]])[0]
    center = LEFT[4] @ model.user_feature_weights_
    ridge = (np.abs(row).sum() + 0.3 * ITEMS) ** 0.5
    scores = V @ u
    slopes = np.where(row != 0, -np.sign(row) * np.abs(row) / (1 + np.exp(np.sign(row) * scores)), 0.3 * (scores + 1))
    np.testing.assert_allclose(V.T @ slopes + ridge * (u - center), 0, atol=1e-8)


# recommend and score


def test_recommend_and_score_new_users():
    model = double(n_threads=2).fit(MATRIX, user_features=LEFT, item_features=RIGHT)
    rows, features = MATRIX[:5], LEFT[:5]
    told, both = model.fold_in_users(features=features), model.fold_in_users(rows, features=features)
    np.testing.assert_allclose(model.score_users(features=features), told @ model.item_factors_.T, atol=1e-12)
    np.testing.assert_allclose(
        model.score_users(interactions=rows, features=features), both @ model.item_factors_.T, atol=1e-12
    )
    items, scores = model.recommend(features=features, n=ITEMS)
    assert (np.sort(items, axis=1) == np.arange(ITEMS)).all()  # nothing was seen
    np.testing.assert_allclose(
        scores, np.take_along_axis(model.score_users(features=features), items.astype(int), axis=1)
    )
    items, _ = model.recommend(interactions=rows, features=features, n=ITEMS)
    for row, shown in zip(rows, items):
        assert set(shown[shown >= 0]) == set(np.flatnonzero(row == 0))
    shown, _ = model.recommend(interactions=rows, features=features, n=ITEMS, exclude_seen=False)
    assert shown.min() == 0
    assert model.recommend(features=features, n=3, allow=[4, 9])[0][:, :2].min() >= 4


def test_new_users_of_known_groups_are_understood():
    matrix, _ = block_matrix()
    groups = np.eye(3)[group_of(np.arange(44), side=0)]
    for kind in (OneClassMF, SubsampledMF):
        model = kind(rank=3, loss="logistic", random_state=0).fit(matrix, user_features={"group": groups})
        items, _ = model.recommend(features={"group": np.eye(3)}, n=6)
        assert group_of(items, side=1).tolist() == [[0] * 6, [1] * 6, [2] * 6]
        turned = np.zeros((1, 21))
        turned[0, 8:13] = 5  # says the first group, behaves like the second
        items, _ = model.recommend(interactions=turned, features=np.eye(3)[[0]], n=2)
        assert (group_of(items, side=1) == 1).all()


def test_sampled_negatives():
    model = SubsampledMF(
        rank=3, loss="logistic", random_state=0, dtype="float64", biases=True,
        users=Side(fit_intercept=True, cold="weights"),
    )  # fmt: skip
    model.fit(MATRIX, user_features=LEFT, item_features=RIGHT)
    expected = prepared(LEFT, False, True) @ model.user_feature_weights_
    expected[:, 4] = 1
    np.testing.assert_allclose(model.fold_in_users(features=LEFT), expected, atol=1e-12)
    both = model.fold_in_items(MATRIX[:, :3], features=RIGHT[:3])
    assert both.shape == (3, 5)
    assert (both[:, 3] == 1).all()
    assert np.isfinite(both).all()
    assert not np.allclose(both, model.fold_in_items(MATRIX[:, :3]))


# what is refused


@pytest.mark.parametrize("kind", [OneClassMF, SubsampledMF])
def test_models_without_features_refuse_them(kind):
    model = kind(rank=3, random_state=0).fit(MATRIX)
    for ask in (model.fold_in_users, model.recommend, model.score_users):
        with pytest.raises(ValueError, match="fitted without user_features, so it cannot read those of new users"):
            ask(features=LEFT)
    with pytest.raises(ValueError, match="fitted without item_features"):
        model.fold_in_items(MATRIX, features=RIGHT)


def test_models_that_know_no_features_refuse_them():
    for model in (Popularity(), BPR(rank=3, random_state=0, max_iter=1)):
        with pytest.raises(ValueError, match="fitted without features: describe new users by interactions"):
            model.fit(MATRIX > 0).recommend(features=LEFT)


def test_descriptions_that_are_refused():
    model = double().fit(MATRIX, user_features={"taste": LEFT[:, :2], "noise": LEFT[:, 2:]}, item_features=RIGHT)
    with pytest.raises(ValueError, match="give the interactions of new entities, their features, or both"):
        model.fold_in_users()
    with pytest.raises(ValueError, match="not both"):
        model.recommend([0], features=LEFT)
    with pytest.raises(ValueError, match=r"user_features must have 4 columns, as in training, got shape \(2, 3\)"):
        model.recommend(features=LEFT[:2, :3])
    with pytest.raises(
        ValueError, match="user_features must be the groups taste, noise, as in training; got the groups"
    ):
        model.recommend(features={"taste": LEFT[:, :2]})
    with pytest.raises(ValueError, match="item_features must be one matrix, as in training; got the groups taste"):
        model.fold_in_items(features={"taste": RIGHT})
    with pytest.raises(ValueError, match=r"one row per entity of that side \(3\), got shape \(2, 4\)"):
        model.fold_in_users(MATRIX[:3], features=LEFT[:2])
    with pytest.raises(ValueError, match="user_features has NaN"):
        model.score_users(features=np.full((1, 4), np.nan))
    with pytest.raises(ValueError, match="weights, values and targets say how interactions count"):
        model.fold_in_users(features=LEFT, weights=np.ones(USERS))
