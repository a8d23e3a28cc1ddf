"""Users and items that are appended to a fitted model: by features, by events, or by both."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from everypair import OneClassMF
from everypair.models.recommend.rivals.same_loss import SameLossMF
from everypair.problem.negatives import Negatives
from everypair.testing import block_matrix, group_of

from .informed import ITEMS, USERS, double, problem

MATRIX, LEFT, RIGHT = problem()
NEW_ROWS, NEW_COLUMNS = np.roll(MATRIX[:3], 2, axis=1), np.roll(MATRIX[:, :2], 5, axis=0)
NEW_ROWS[:, 1] = NEW_COLUMNS[1] = -1  # dislikes: seen, but no positives
DESCRIPTIONS = {"features": (False, True), "events": (True, False), "both": (True, True)}


def fitted(**params):
    return double(**params).fit(MATRIX, user_features=LEFT, item_features=RIGHT)


@pytest.mark.parametrize(("events", "features"), DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_users_are_appended_as_fold_in_sees_them(events, features):
    model = fitted()
    left, right, stored = model.user_factors_, model.item_factors_, model.interactions_
    described = {
        "interactions": NEW_ROWS if events else None, "features": LEFT[:3] + 0.1 if features else None
    }  # fmt: skip
    expected = model.fold_in_users(described["interactions"], features=described["features"])
    assert model.add_users(**described).tolist() == [40, 41, 42]
    assert np.array_equal(model.user_factors_, np.vstack([left, expected]))
    assert model.item_factors_ is right
    assert np.array_equal(
        model.interactions_.toarray(), np.vstack([stored.toarray(), NEW_ROWS if events else 0 * NEW_ROWS])
    )
    items, _ = model.recommend([40, 41, 42], n=ITEMS)
    for shown, row in zip(items, NEW_ROWS if events else 0 * NEW_ROWS):
        assert set(shown[shown >= 0]) == set(np.flatnonzero(row == 0))
    np.testing.assert_allclose(model.score_users([41])[0], right @ expected[1])
    assert model.recommend(n=3)[0].shape == (43, 3)
    assert model.similar_users([42], n=1)[0].shape == (1, 1)


@pytest.mark.parametrize(("events", "features"), DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_items_are_appended_as_fold_in_sees_them(events, features):
    model = fitted()
    left, right, stored = model.user_factors_, model.item_factors_, model.interactions_
    described = {
        "interactions": sp.coo_array(NEW_COLUMNS) if events else None, "features": RIGHT[:2] if features else None
    }  # fmt: skip
    expected = model.fold_in_items(described["interactions"], features=described["features"])
    assert model.add_items(**described).tolist() == [24, 25]
    assert np.array_equal(model.item_factors_, np.vstack([right, expected]))
    assert model.user_factors_ is left
    grown = np.hstack([stored.toarray(), NEW_COLUMNS if events else 0 * NEW_COLUMNS])
    assert np.array_equal(model.interactions_.toarray(), grown)
    items, _ = model.recommend(n=26)
    for shown, row in zip(items, grown):
        assert set(shown[shown >= 0]) == set(np.flatnonzero(row == 0))
    assert model.explain(3, 25).score == pytest.approx(model.score_pairs(3, 25)[0])


def test_new_items_are_recommended_to_those_who_will_like_them():
    matrix, _ = block_matrix()
    features = np.eye(3)[group_of(np.arange(21), side=1)]
    model = OneClassMF(rank=3, random_state=0).fit(matrix, item_features=features)
    model.add_items(features=np.eye(3))
    items, _ = model.recommend(n=2)
    assert (items >= 21).any(axis=1).all()
    assert np.array_equal(items[items >= 21], 21 + group_of(np.arange(44), side=0))


def test_fold_in_knows_who_came():
    model = fitted()
    model.add_items(features=RIGHT[:2])
    model.add_users(interactions=np.hstack([NEW_ROWS, np.ones((3, 2))]))
    with pytest.raises(ValueError, match=r"one column per training item \(26\)"):
        model.fold_in_users(MATRIX)
    assert model.fold_in_users(np.pad(MATRIX, ((0, 0), (0, 2))), features=LEFT).shape == (40, 3)
    assert model.fold_in_items(np.pad(MATRIX, ((0, 3), (0, 0)))).shape == (24, 3)
    assert model.add_items(interactions=np.ones((43, 1)), features=RIGHT[:1]).tolist() == [26]
    assert model.interactions_.shape == (43, 27)
    assert model.score_users().shape == (43, 27)


SCHEMES = ["uniform", "user-count", "item-rarity", ("item-count", 0.5), (np.arange(1.0, 41), np.arange(1.0, 25))]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_new_entities_weigh_what_the_scheme_says(scheme):
    model = fitted(negative_scheme=scheme, negative_weight=0.3)
    before = model.negatives_
    counts = np.sum(NEW_ROWS > 0, axis=1), np.sum(NEW_COLUMNS > 0, axis=0)
    model.add_users(interactions=NEW_ROWS)
    assert np.array_equal(model.negatives_.left, np.append(before.left, before.left_weights(counts[0])))
    assert np.array_equal(model.negatives_.right, before.right)
    model = fitted(negative_scheme=scheme, negative_weight=0.3)
    model.add_items(interactions=NEW_COLUMNS)
    assert np.array_equal(model.negatives_.right, np.append(before.right, before.right_weights(counts[1])))
    assert isinstance(model.negatives_, Negatives)


def test_a_low_rank_negative_value_grows_by_its_mean_row():
    random = np.random.default_rng(0)
    values = random.standard_normal((USERS, 2)), random.standard_normal((ITEMS, 2))
    model = fitted(negative_value=values)
    model.add_users(interactions=NEW_ROWS, features=LEFT[:3])
    model.add_items(features=RIGHT[:2])
    left, right = model.negatives_.value
    np.testing.assert_allclose(left, np.vstack([values[0], np.tile(values[0].mean(axis=0), (3, 1))]))
    np.testing.assert_allclose(right, np.vstack([values[1], np.tile(values[1].mean(axis=0), (2, 1))]))
    assert np.isfinite(model.fold_in_users(np.pad(MATRIX, ((0, 0), (0, 2))))).all()


def test_models_of_every_kind_grow():
    for params in ({"biases": True}, {"kind": SameLossMF}, {"dtype": "float32"}):
        model = fitted(**params)
        model.add_users(interactions=NEW_ROWS)
        model.add_items(interactions=np.pad(NEW_COLUMNS, ((0, 3), (0, 0))), features=RIGHT[:2])
        assert model.user_factors_.dtype == model.item_factors_.dtype == model.interactions_.dtype == model.dtype
        assert np.isfinite(model.recommend(n=10)[1]).any(axis=1).all()
        if model.biases:
            assert (model.user_factors_[:, 4] == 1).all()
            assert (model.item_factors_[:, 3] == 1).all()
    plain = double().fit(MATRIX)
    assert plain.add_users(interactions=NEW_ROWS).tolist() == [40, 41, 42]
    with pytest.raises(ValueError, match="fitted without item_features"):
        plain.add_items(features=RIGHT)


def test_what_is_refused_changes_nothing():
    targets = np.where(MATRIX != 0, 2.0, 0.0)
    model = double(loss="squared").fit(MATRIX, user_features=LEFT, item_features=RIGHT, targets=targets)
    with pytest.raises(
        ValueError, match=r"fitted with explicit targets: give those of the new interactions as targets="
    ):
        model.add_users(interactions=NEW_ROWS)
    with pytest.raises(ValueError, match="fitted with explicit targets"):
        model.add_items(interactions=NEW_COLUMNS, features=RIGHT[:2])
    with pytest.raises(ValueError, match="their features, or both"):
        model.add_users()
    with pytest.raises(ValueError, match="item_features must have 3 columns"):
        model.add_items(features=LEFT)
    assert model.interactions_.shape == MATRIX.shape
    assert len(model.user_factors_) == USERS
    model.add_items(features=RIGHT[:2])
    model.add_users(features=LEFT[:2])
    assert model.explain(4, 25).score == pytest.approx(model.score_pairs(4, 25)[0])
    with pytest.raises(NotFittedError):
        OneClassMF().add_users(features=LEFT)


def test_explicit_targets_grow_with_the_events():
    targets = np.where(MATRIX != 0, 1.0 + np.arange(ITEMS), 0.0)
    model = double(loss="squared").fit(MATRIX, targets=targets)
    new_rows = np.where(NEW_ROWS != 0, 3.0, 0.0)
    expected = model.fold_in_users(NEW_ROWS, targets=new_rows)
    model.add_users(interactions=NEW_ROWS, targets=new_rows)
    assert np.array_equal(model.user_factors_[USERS:], expected)
    columns = np.vstack([NEW_COLUMNS, np.ones((3, 2))])
    model.add_items(interactions=columns, targets=np.where(columns != 0, 7.0, 0.0))
    wanted = np.block([[targets, 7.0 * (NEW_COLUMNS != 0)], [new_rows, np.full((3, 2), 7.0)]])
    stored = model.interactions_.toarray() != 0
    assert np.array_equal(model.targets_, wanted[stored])
    late = double().fit(MATRIX)
    late.add_users(interactions=NEW_ROWS, targets=new_rows)
    usual = np.where(MATRIX > 0, 1.0, -1.0)
    assert np.array_equal(late.targets_, np.vstack([usual, new_rows])[late.interactions_.toarray() != 0])


def test_a_new_fit_forgets_who_came():
    model = fitted()
    model.add_users(features=LEFT)
    assert np.array_equal(
        model.fit(MATRIX, user_features=LEFT, item_features=RIGHT).user_factors_, fitted().user_factors_
    )
    assert model.negatives_.left.shape == (USERS,)
