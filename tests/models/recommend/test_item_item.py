"""ItemItem: the contract, EASE, what dislikes and weights do, new users and items, explanation, parts and bad input."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from everypair import ItemItem, Popularity
from everypair.models.registry import ESTIMATORS
from everypair.testing.recommender import RecommenderContract, block_matrix, group_of

MATRIX, HELD_OUT = block_matrix()


class TestItemItem(RecommenderContract):
    offers = frozenset({*ESTIMATORS["ItemItem"].offers, "n_threads", "dtype"})
    fold_in_tolerance = 0.0

    def make_converging_model(self):
        return self.make_model()

    def make_model(self, **params):
        return ItemItem(**{"reg": 1.0, **params})


class TestFewNeighbors(TestItemItem):
    def make_model(self, **params):
        return ItemItem(**{"neighbors": 4, "reg": 1.0, **params})


class TestAllNeighbors(TestItemItem):
    """EASE takes likes of one weight only, so what the kit asks about dislikes is left out."""

    grows = False

    def make_model(self, **params):
        return ItemItem(**{"neighbors": None, "reg": 1.0, **params})

    def test_exclude_seen_hides_likes_and_dislikes(self):
        with pytest.raises(ValueError, match="closed form for likes of weight 1"):
            self.fitted(np.where(MATRIX == 0, -1, MATRIX))


def random_likes(seed=0, users=80, items=30):
    return (np.random.default_rng(seed).random((users, items)) < 0.3) * 1.0


def ease(likes, reg):
    """B = I − P diag(1/P_jj) with P = (XᵀX + reg I)⁻¹."""
    inverse = np.linalg.inv(likes.T @ likes + reg * np.eye(likes.shape[1]))
    return np.eye(likes.shape[1]) - inverse / np.diag(inverse)


def test_ease_in_closed_form():
    likes = random_likes(seed=1)
    assert (likes.T @ likes).min() > 0  # everything meets everything
    plain = {"reg": 5.0, "reg_scale": 0.0, "user_exponent": 0.0, "dtype": "float64"}
    model = ItemItem(neighbors=None, **plain).fit(likes)
    np.testing.assert_allclose(model.coefficients_, ease(likes, 5.0), atol=1e-12)
    limit = ItemItem(neighbors=30, **plain).fit(likes)
    np.testing.assert_allclose(limit.coefficients_.toarray(), model.coefficients_, atol=1e-10)
    np.testing.assert_allclose(limit.score_users(), model.score_users(), atol=1e-10)


@pytest.mark.parametrize("memory_mb", [4096.0, 0.008])  # by the users' side, and where only B itself fits
def test_ease_with_fewer_users_than_items(memory_mb):
    likes = random_likes(users=20)
    plain = {"reg_scale": 0.0, "user_exponent": 0.0, "dtype": "float64", "memory_mb": memory_mb}
    model = ItemItem(neighbors=None, reg=5.0, **plain).fit(likes)
    np.testing.assert_allclose(model.coefficients_, ease(likes, 5.0), atol=1e-12)


def test_scores_are_sums_of_coefficients_and_a_little_popularity():
    likes = random_likes()
    model = ItemItem(neighbors=5, dtype="float64").fit(likes)
    weights = likes.sum(axis=1) ** -0.5
    share = weights @ likes / weights.sum()
    np.testing.assert_allclose(model.score_users(), likes @ model.coefficients_.toarray() + 1e-3 * share, atol=1e-12)
    assert np.count_nonzero(model.coefficients_.toarray(), axis=0).max() == 5
    assert not model.coefficients_.diagonal().any()


def test_users_without_events_get_popular_items():
    likes = random_likes()
    likes[:, 17] = 1
    nobody = np.zeros((1, 30))
    for model in (ItemItem(user_exponent=0.0).fit(likes), ItemItem(neighbors=None, user_exponent=0.0).fit(likes)):
        items, _ = model.recommend(interactions=nobody, n=30)
        expected, _ = Popularity().fit(likes).recommend(interactions=nobody, n=30)
        assert np.array_equal(items, expected)


def test_a_dislike_lowers_what_stands_beside_it():
    model = ItemItem(reg=1.0).fit(MATRIX)
    liked, disliked = np.zeros((2, 1, 21))
    liked[0, 0], disliked[0, 0] = 1, -1
    group = group_of(np.arange(21), side=1) == 0
    group[0] = False
    base = model.score_users(interactions=np.zeros((1, 21)))
    assert (model.score_users(interactions=liked) - base)[0, group].min() > 0
    np.testing.assert_allclose(
        model.score_users(interactions=disliked) - base, base - model.score_users(interactions=liked), atol=1e-6
    )


def test_weights_of_pairs_users_and_negatives_count():
    likes = random_likes()
    exact = {"neighbors": 29, "reg": 2.0, "reg_scale": 0.0, "dtype": "float64"}
    heavy = likes.copy()
    heavy[:, 3] *= 4
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 80)
    model = ItemItem(negative_weight=0.2, **exact).fit(heavy, user_weights=weights)
    for j in (3, 8):
        others = np.arange(30) != j
        x, w = likes[:, others], weights * np.where(likes[:, j], heavy[:, j], 0.2)
        expected = np.linalg.solve(x.T @ (w[:, None] * x) + 2 * np.eye(29), x.T @ (w * likes[:, j]))
        np.testing.assert_allclose(model.coefficients_.toarray()[others, j], expected, atol=1e-10)


def test_explanations_add_up():
    matrix = random_likes()
    matrix[0, :5] = [1, -1, 1, 0, -1]
    model = ItemItem(neighbors=8, dtype="float64").fit(matrix)
    for item in (3, 20):
        why = model.explain(0, item)
        assert why.score == pytest.approx(model.score_pairs([0], [item])[0])
        assert why.base + why.contributions.sum() == pytest.approx(why.score)
        signs = np.sign(matrix[0, why.items])
        np.testing.assert_allclose(why.contributions, signs * model.coefficients_.toarray()[why.items, item])
        assert (np.diff(np.abs(why.contributions)) <= 0).all()
        assert len(model.explain(0, item, n=2).items) == 2


def test_similar_items_are_cosines_of_weighted_columns():
    likes = random_likes()
    model = ItemItem(dtype="float64").fit(likes)
    root = np.sqrt(likes.sum(axis=1) ** -0.5)[:, None] * likes
    cosines = root.T @ root / np.outer(np.linalg.norm(root, axis=0), np.linalg.norm(root, axis=0))
    nearest, got = model.similar_items([4, 9], n=6)
    np.testing.assert_allclose(got, np.take_along_axis(cosines[[4, 9]], nearest, axis=1), atol=1e-12)


def test_new_items_by_events_are_regressed_as_in_training():
    likes = random_likes()
    exact = {"neighbors": 27, "dtype": "float64"}
    weights = np.ones(80)
    model = ItemItem(**exact).fit(likes[:, :28], user_weights=weights)
    before = model.coefficients_.toarray()
    assert model.add_items(interactions=likes[:, 28:]).tolist() == [28, 29]
    grown = model.coefficients_.toarray()
    assert np.array_equal(grown[:28, :28], before)
    assert not grown[28:].any()
    for j in (28, 29):
        x = likes[:, :28][:, grown[:28, j] != 0]
        system = x.T @ x + np.diag(30 + x.sum(axis=0))
        np.testing.assert_allclose(grown[:28, j][grown[:28, j] != 0], np.linalg.solve(system, x.T @ likes[:, j]))
    assert np.array_equal(model.interactions_.toarray(), likes)
    assert model.recommend(n=30)[0].shape == (80, 30)


def test_items_without_events_are_known_by_features():
    matrix = MATRIX.copy()
    matrix[:, 9] = 0
    groups = np.eye(3)[group_of(np.arange(21), side=1)]
    for features in (groups, sp.csr_array(groups), {"group": groups}):
        model = ItemItem(reg=1.0).fit(matrix, item_features=features)
        own = group_of(np.arange(44), side=0) == 1
        scores = model.score_users()[:, 9]
        assert scores[own].min() > 10 * np.abs(scores[~own]).max()
        new = {"group": np.eye(3)[[2]]} if isinstance(features, dict) else sp.csr_array(np.eye(3)[[2]])
        assert model.add_items(features=new).tolist() == [21]
        assert set(np.argsort(-model.score_users()[:, 21])[:10]) == set(range(34, 44))
    without = ItemItem(reg=1.0).fit(matrix)
    assert not without.score_users()[:, 9].any()


def test_new_items_by_events_or_features():
    groups = np.eye(3)[group_of(np.arange(21), side=1)]
    model = ItemItem(reg=1.0).fit(MATRIX, item_features=groups)
    events = np.zeros((44, 2))
    events[:10, 0] = 1  # the first group's users
    model.add_items(interactions=events, features=np.eye(3)[[2, 1]])  # events decide, features where there are none
    scores = model.score_users()
    assert set(np.argsort(-scores[:, 21])[:10]) <= set(range(20))
    assert set(np.argsort(-scores[:, 22])[:14]) == set(range(20, 34))


def test_users_are_appended():
    model = ItemItem(reg=1.0).fit(MATRIX)
    before = model.score_users()
    assert model.add_users(interactions=MATRIX[[40, 2]]).tolist() == [44, 45]
    assert np.array_equal(model.score_users(), before[[*range(44), 40, 2]])
    assert np.array_equal(model.recommend([44])[0], model.recommend([40])[0])
    assert len(model.state_.user_weights) == 46


@pytest.mark.parametrize("neighbors", [4, None])
def test_parts_give_the_same_model(neighbors):
    model = ItemItem(neighbors=neighbors, reg=1.0).fit(MATRIX)
    twin = ItemItem.from_parts(*model.to_parts())
    assert twin.get_params() == model.get_params()
    assert np.array_equal(twin.score_users(), model.score_users())
    assert np.array_equal(twin.recommend()[0], model.recommend()[0])


def test_bad_parameters_are_refused_before_any_work():
    for parameters, said in (
        ({"neighbors": 0}, "neighbors must be an integer ≥ 1"),
        ({"neighbors": 2.5}, "neighbors must be an integer"),
        ({"reg": -1}, "reg must be a finite number ≥ 0"),
        ({"reg_scale": np.inf}, "reg_scale must be a finite number"),
        ({"reg": 0, "reg_scale": 0}, "both 0"),
        ({"negative_weight": "auto"}, "negative_weight must be a finite number"),
        ({"user_exponent": None}, "user_exponent must be a finite number"),
        ({"dtype": "int8"}, "dtype must be"),
    ):
        with pytest.raises(ValueError, match=said):
            ItemItem(**parameters).fit(MATRIX)
    for weights in (np.ones(3), -np.ones(44), np.zeros(44), np.full(44, np.nan)):
        with pytest.raises(ValueError, match="user_weights must be 44 finite numbers"):
            ItemItem().fit(MATRIX, user_weights=weights)
    with pytest.raises(ValueError, match="one row per entity"):
        ItemItem().fit(MATRIX, item_features=np.ones((3, 2)))
    with pytest.raises(ValueError, match="closed form for likes of weight 1"):
        ItemItem(neighbors=None).fit(2 * MATRIX)


def test_too_little_memory_is_said():
    with pytest.raises(MemoryError, match="pairs of items share a user"):
        ItemItem(memory_mb=0.0001).fit(MATRIX)
    with pytest.raises(MemoryError, match=r"dense matrix of 21 × 21 items, .* give neighbors a number"):
        ItemItem(neighbors=None, memory_mb=0.0001).fit(MATRIX)


def test_questions_that_make_no_sense_are_refused():
    model = ItemItem(reg=1.0).fit(MATRIX)
    with pytest.raises(ValueError, match="by their interactions alone"):
        model.recommend(features=np.ones((1, 2)))
    with pytest.raises(ValueError, match="not both"):
        model.score_users([0], interactions=MATRIX[:1])
    with pytest.raises(ValueError, match="give the interactions of new items"):
        model.add_items()
    with pytest.raises(ValueError, match="fitted without item_features"):
        model.add_items(features=np.ones((1, 2)))
    with pytest.raises(ValueError, match="one row per training user"):
        model.add_items(interactions=np.ones((3, 1)))
    with pytest.raises(ValueError, match="does not grow"):
        ItemItem(neighbors=None, reg=1.0).fit(MATRIX).add_items(interactions=MATRIX[:, :1])
    with pytest.raises(ValueError, match="n must be an integer"):
        model.explain(0, 0, n=0)
    with pytest.raises(ValueError, match="user 44 is unknown"):
        model.explain(44, 0)
    with pytest.raises(NotFittedError):
        ItemItem().add_users(interactions=MATRIX)
    with pytest.raises(ValueError, match="not fitted yet"):
        ItemItem().to_parts()


def test_a_coefficient_takes_eight_bytes():
    model = ItemItem(neighbors=5).fit(MATRIX)
    assert model.coefficients_.data.itemsize + model.coefficients_.indices.itemsize == 8
    model.add_items(interactions=MATRIX[:, :2])
    assert model.coefficients_.indices.dtype == np.int32


def test_what_all_neighbors_cannot_read():
    with pytest.raises(ValueError, match="reads no item_features: give neighbors a number"):
        ItemItem(neighbors=None).fit(np.eye(4), item_features=np.eye(4))


def test_an_exponent_beyond_all_weights():
    with pytest.raises(ValueError, match=r"user_exponent=1000\.0 is too large"):
        ItemItem(user_exponent=1000.0).fit(np.ones((4, 4)))


def test_features_at_a_right_angle_are_no_neighbours():
    """The cosine of the item without events with the second is 0 but for rounding."""
    matrix = np.array([[1.0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    angle = np.array([[1.0, 3.0], [3.0, -1.0], [0.1, 0.3]])
    model = ItemItem(neighbors=2, dtype="float64").fit(matrix, item_features=angle)
    alone = ItemItem(neighbors=2, dtype="float64").fit(matrix, item_features=np.array([[1.0, 0], [0, 1], [1, 0]]))
    np.testing.assert_allclose(model.coefficients_.toarray(), alone.coefficients_.toarray(), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pairs_have_the_bits_of_lists(dtype):
    matrix = random_likes(seed=7) * np.where(np.random.default_rng(8).random((80, 30)) < 0.2, -2.0, 1.0)
    model = ItemItem(neighbors=9, reg=1.0, dtype=dtype).fit(sp.csr_array(matrix))
    items, scores = model.recommend(n=30, exclude_seen=False)
    users = np.repeat(np.arange(80), 30)
    assert np.array_equal(model.score_pairs(users, items.ravel()), scores.ravel())
    b = model.coefficients_
    order = np.concatenate([np.arange(start, stop)[::-1] for start, stop in zip(b.indptr, b.indptr[1:])])
    turned = sp.csr_array((b.data[order], b.indices[order], b.indptr), shape=b.shape)
    model.state_ = replace(model.state_, coefficients=turned)
    assert np.array_equal(model.score_pairs(users, items.ravel()), scores.ravel())
