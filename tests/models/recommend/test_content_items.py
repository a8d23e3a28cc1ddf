"""ContentItems: the contract, sums of cosines by brute force, reasons, growth, words of a table, and bad input."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from everypair import Blend, ContentItems, ItemItem, OneClassMF, read_events
from everypair.data.events import Events
from everypair.features import table_features
from everypair.features.matrix import Features
from everypair.models.recommend import content_ridge
from everypair.models.registry import ESTIMATORS
from everypair.testing.journey import from_json_and_arrays
from everypair.testing.recommender import RecommenderContract, block_matrix, group_of

MATRIX, HELD_OUT = block_matrix()
GROUPS = np.eye(3)[group_of(np.arange(21), side=1)]


class Informed(ContentItems):
    """Who likes an item is its content: the kit gives no features."""

    dense = False

    def fit(self, interactions, item_features=None):
        matrix = interactions.matrix if isinstance(interactions, Events) else interactions
        try:
            content = (sp.csr_array(matrix, dtype=np.float64) > 0).T.astype(np.float64)
        except (TypeError, ValueError):  # what fit refuses anyway
            content = sp.eye_array(2, format="csr")
        return super().fit(interactions, item_features=content.toarray() if self.dense else content)


Informed.__name__ = "ContentItems"  # files know it by this name


class InformedDense(Informed):
    dense = True


InformedDense.__name__ = "ContentItems"


class TestContentItems(RecommenderContract):
    offers = frozenset({*ESTIMATORS["ContentItems"].offers, "n_threads", "dtype"})
    fold_in_tolerance = 0.0

    def make_converging_model(self):
        return self.make_model()

    def make_model(self, **params):
        return Informed(**params)


class TestRidge(TestContentItems):
    def make_model(self, **params):
        return Informed(**{"reg": 1.0, **params})


class TestDense(TestContentItems):
    def make_model(self, **params):
        return InformedDense(**params)


def problem(seed=0, users=30, items=25, words=12):
    random = np.random.default_rng(seed)
    likes = (random.random((users, items)) < 0.15) * 1.0
    counts = random.poisson(0.6, (items, words)) * 1.0
    counts[counts.sum(axis=1) == 0, 0] = 1
    return likes, counts


def compared(counts, training, exponent):
    """Rows of length 1 whose dot products are compared, with loops over nothing but what the docs say."""
    n, n_f = len(training), (training > 0).sum(axis=0)
    tf = np.where(counts > 0, 1 + np.log(np.where(counts > 0, counts, 1)), 0)
    x = tf * (1 + np.log((1 + n) / (1 + n_f))) ** exponent
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(length > 0, length, 1)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_scores_are_sums_of_cosines(form, exponent):
    likes, counts = problem()
    likes[0, :4] = [-1, 1, 0, -1]
    model = ContentItems(idf_exponent=exponent, dtype="float64").fit(likes, item_features=form(counts))
    x = compared(counts, counts, exponent)
    base = 1e-3 * (likes > 0).mean(axis=0)
    expected = np.array([base + sum(likes[u, i] * (x @ x[i]) for i in range(25)) for u in range(30)])
    np.testing.assert_allclose(model.score_users(), expected, atol=1e-12)
    np.testing.assert_allclose(model.content_.toarray() if sp.issparse(model.content_) else model.content_, x)
    np.testing.assert_allclose(model.score_users(interactions=likes[3:5]), expected[3:5], atol=1e-12)
    shown = model.recommend([2], n=25, exclude_seen=False)
    np.testing.assert_allclose(shown[1][0], np.sort(expected[2])[::-1], atol=1e-12)


@pytest.mark.parametrize("reg", [None, 0.5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_row_does_not_depend_on_its_company(form, reg):
    likes, counts = problem(users=300, items=60)
    model = ContentItems(reg=reg).fit(likes, item_features=form(counts))
    items, scores = model.recommend(n=60, exclude_seen=False)
    for users in ([7], [290, 7, 3]):
        for one, other in zip(model.recommend(users, n=60, exclude_seen=False), (items, scores)):
            assert np.array_equal(one, other[users])
    two = ContentItems(reg=reg, n_threads=2).fit(likes, item_features=form(counts))
    assert np.array_equal(two.recommend(n=60, exclude_seen=False)[1], scores)
    assert np.array_equal(two.score_users(), model.score_users())


def test_similar_items_and_users_are_cosines():
    likes, counts = problem()
    model = ContentItems(dtype="float64").fit(likes, item_features=sp.csr_array(counts))
    x = compared(counts, counts, 1.0)
    nearest, cosines = model.similar_items([4, 9], n=5)
    np.testing.assert_allclose(cosines, np.take_along_axis((x @ x.T)[[4, 9]], nearest, axis=1), atol=1e-12)
    p = likes @ x
    p /= np.maximum(np.linalg.norm(p, axis=1, keepdims=True), 1e-300)
    nearest, cosines = model.similar_users([0, 3], n=5)
    np.testing.assert_allclose(cosines, np.take_along_axis((p @ p.T)[[0, 3]], nearest, axis=1), atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_score_is_explained_by_items_and_by_words(form):
    likes, counts = problem()
    likes[0, :5] = [1, -1, 1, 0, 1]
    names = [f"word {number}" for number in range(12)]
    features = {"words": pd.DataFrame(counts, columns=names)} if form is np.asarray else form(counts)
    model = ContentItems(dtype="float64").fit(likes, item_features=features)
    x = compared(counts, counts, 1.0)
    why = model.explain(0, 20)
    assert why.score == pytest.approx(model.score_pairs([0], [20])[0])
    for shares in (why.contributions, why.feature_contributions):
        assert why.base + shares.sum() == pytest.approx(why.score)
        assert (np.diff(np.abs(shares)) <= 0).all()
    np.testing.assert_allclose(why.contributions, likes[0, why.items] * (x[why.items] @ x[20]), atol=1e-12)
    columns = [names.index(one) for one in why.features] if form is np.asarray else why.features
    np.testing.assert_allclose(why.feature_contributions, (likes[0] @ x)[columns] * x[20, columns], atol=1e-12)
    few = model.explain(0, 20, n=2)
    assert (len(few.items), len(few.features)) == (2, 2)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_new_items_are_read_as_training_read_its_own(form):
    likes, counts = problem()
    model = ContentItems(dtype="float64").fit(likes[:, :20], item_features=form(counts[:20]))
    before = model.score_users()
    events = np.zeros((30, 5))
    events[3, 4] = 1
    assert model.add_items(features=form(counts[20:]), interactions=events).tolist() == [20, 21, 22, 23, 24]
    after = model.score_users()
    np.testing.assert_allclose(after[np.arange(30) != 3, :20], before[np.arange(30) != 3], atol=1e-12)
    x = compared(counts, counts[:20], 1.0)
    known = np.hstack([likes[:, :20], events])
    np.testing.assert_allclose(after[:, 20:], known @ x @ x[20:].T, atol=1e-12)
    assert model.add_users(interactions=known[[5]]).tolist() == [30]
    assert np.array_equal(model.score_users([30]), model.score_users([5]))
    assert model.add_items(interactions=np.ones((31, 1))).tolist() == [25]  # of which no content is known
    assert not model.score_users()[:, 25].any()


def left_out(x, y, known, reg, item):
    """What the ridge regression of every user's events on features says of an item that it has not seen."""
    rows = known & (np.arange(len(x)) != item)
    b = np.linalg.solve(x[rows].T @ x[rows] + reg * np.eye(x.shape[1]), x[rows].T @ y[:, rows].T)
    return x[item] @ b


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_with_a_ridge_every_item_is_predicted_without_itself(form):
    likes, counts = problem()
    likes[0, :4] = [-1, 1, 0, -1]
    likes[:, 6] = 0  # known by content alone
    fresh = problem(seed=3)[1][:4]
    model = ContentItems(reg=0.7, dtype="float64").fit(likes, item_features=form(counts))
    x, known, base = compared(counts, counts, 0.5), np.abs(likes).sum(axis=0) > 0, 1e-3 * (likes > 0).mean(axis=0)
    expected = base + np.array([left_out(x, likes, known, 0.7, item) for item in range(25)]).T
    np.testing.assert_allclose(model.score_users(), expected, atol=1e-10)
    np.testing.assert_allclose(model.score_users(interactions=likes[3:5]), expected[3:5], atol=1e-10)
    shown = model.recommend([2], n=25, exclude_seen=False)
    np.testing.assert_allclose(shown[1][0], np.sort(expected[2])[::-1], atol=1e-10)
    for item in (20, 1):  # one that the user does not have, and one that they have
        why = model.explain(0, item)
        assert why.score == pytest.approx(model.score_pairs([0], [item])[0])
        for shares in (why.contributions, why.feature_contributions):
            assert why.base + shares.sum() == pytest.approx(why.score)
        assert item not in why.items
    assert model.add_items(features=form(fresh)).tolist() == [25, 26, 27, 28]
    new = compared(fresh, counts, 0.5)
    b = np.linalg.solve(x[known].T @ x[known] + 0.7 * np.eye(12), x[known].T @ likes[:, known].T)
    np.testing.assert_allclose(model.score_users()[:, 25:], (new @ b).T, atol=1e-10)
    assert np.array_equal(from_json_and_arrays(model).score_users(), model.score_users())
    large = ContentItems(reg=1e9, dtype="float64").fit(likes, item_features=form(counts))
    cosines = ContentItems(idf_exponent=0.5, dtype="float64").fit(likes, item_features=form(counts))
    want = cosines.score_users() - base - likes  # an item that the user has is no neighbour of itself
    np.testing.assert_allclose((large.score_users() - base) * 1e9, want, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_beyond_the_leading_directions_all_weigh_alike(form, monkeypatch):
    monkeypatch.setattr(content_ridge, "LEADING", 3)
    likes, counts = problem()
    model = ContentItems(reg=0.7, dtype="float64").fit(likes, item_features=form(counts))
    x = compared(counts, counts, 0.5)
    leading, squares, others = content_ridge.leading_directions(Features(x), 1)
    assert others == pytest.approx((np.trace(x.T @ x) - squares.sum()) / 9)
    unit = leading / np.sqrt(squares)
    np.testing.assert_allclose(unit.T @ unit, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(np.einsum("ij,ij->j", x @ unit, x @ unit), squares)
    M = unit @ np.diag(1 / (squares + 0.7)) @ unit.T + (np.eye(12) - unit @ unit.T) / (others + 0.7)
    kernel = x @ M @ x.T
    h = np.diag(kernel)
    expected = 1e-3 * likes.mean(axis=0) + (likes @ kernel - likes * h) / (1 - h)
    np.testing.assert_allclose(model.score_users(), expected, atol=1e-8)


def test_the_ridge_is_chosen_by_the_lists_of_held_out_items():
    random = np.random.default_rng(0)
    groups = random.integers(0, 6, 200)
    common = random.random((200, 10)) < 0.6  # what half of all items say tells nothing
    content = np.hstack([np.eye(6)[groups], common])
    likes = (random.random((300, 200)) < 0.3 * (random.integers(0, 6, 300)[:, None] == groups)) * 1.0
    model = ContentItems(reg="auto").fit(likes, item_features=content)
    assert model.reg_ in content_ridge.RIDGES
    again = ContentItems(reg=model.reg_).fit(likes, item_features=content)
    assert np.array_equal(again.score_users(), model.score_users())
    single = np.eye(200)[:20]  # nobody has anything beside what is held out
    assert ContentItems(reg="auto").fit(single, item_features=content).reg_ is None


def test_a_user_without_events_gets_popular_items():
    likes, counts = problem()
    model = ContentItems().fit(likes, item_features=counts)
    items, _ = model.recommend(interactions=np.zeros((1, 25)), n=25)
    assert (np.diff(likes.sum(axis=0)[items[0]]) <= 0).all()


def test_words_of_a_table_are_not_scaled_twice():
    events = read_events([("ann", "a"), ("bob", "b"), ("bob", "c")])
    about = {"item": ["a", "b", "c"], "text": ["soup of lentils", "soup of peas", "a game of chess"], "year": [1, 2, 4]}
    table = table_features(about, events.item_ids, kinds={"text": "text"})
    model = ContentItems(dtype="float64").fit(events, item_features=table)
    np.testing.assert_allclose(model.content_.toarray(), table.matrix.toarray(), atol=1e-6)
    assert model.explain("ann", "b").features.tolist() == ["text:soup", "text:of"]
    model.add_items(features={"item": ["d"], "text": ["pea soup"]})
    assert model.recommend(["ann"], n=1)[0].tolist() == [["d"]]


def test_part_of_a_blend():
    model = Blend(models=[OneClassMF(rank=4), ItemItem(), ContentItems()], random_state=0)
    model.fit(MATRIX, item_features=GROUPS)
    assert np.mean(model.recommend(n=1)[0][:, 0] == HELD_OUT) == 1
    assert model.add_items(features=GROUPS[[0]]).tolist() == [21]
    assert set(np.argsort(-model.score_users()[:, 21])[:20]) == set(range(20))
    why = model.explain(0, 21)
    assert why.score == pytest.approx(model.score_pairs([0], [21])[0], rel=1e-4)


def test_what_cannot_be_meant_is_refused():
    likes, counts = problem()
    with pytest.raises(
        ValueError, match=r"ContentItems compares items by their features: give fit\(…, item_features=X\)"
    ):
        ContentItems().fit(likes)
    with pytest.raises(ValueError, match="one row per entity of that side"):
        ContentItems().fit(likes, item_features=counts[:4])
    with pytest.raises(ValueError, match="idf_exponent must be a finite number ≥ 0"):
        ContentItems(idf_exponent=-1).fit(likes, item_features=counts)
    with pytest.raises(ValueError, match="reg must be a finite number > 0"):
        ContentItems(reg=0).fit(likes, item_features=counts)
    model = ContentItems().fit(likes, item_features=counts)
    with pytest.raises(ValueError, match="not by features of theirs"):
        model.recommend(features=counts[:1])
    with pytest.raises(ValueError, match="12 columns, as in training"):
        model.add_items(features=counts[:1, :3])
    with pytest.raises(ValueError, match="knows no targets"):
        model.score_users(interactions=likes[:1], targets=likes[:1])
    with pytest.raises(ValueError, match="knows no targets"):
        model.add_items(features=counts[:1], targets=likes[:, :1])
    with pytest.raises(NotFittedError):
        ContentItems().recommend()
