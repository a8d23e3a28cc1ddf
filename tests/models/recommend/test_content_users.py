"""ContentUsers: the contract, the mirror of ContentItems, ridge regression by brute force, growth and bad input."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from everypair import Blend, ContentItems, ContentUsers, ItemItem, read_events
from everypair.data.events import Events
from everypair.metrics.held_out import HeldOut
from everypair.models.recommend import content_ridge
from everypair.models.registry import ESTIMATORS
from everypair.testing.by_id import named_blocks
from everypair.testing.recommender import RecommenderContract


class Informed(ContentUsers):
    """What a user has is what is known of him: the kit gives no features."""

    dense = False

    def fit(self, interactions, user_features=None):
        matrix = interactions.matrix if isinstance(interactions, Events) else interactions
        try:
            content = (sp.csr_array(matrix, dtype=np.float64) > 0).astype(np.float64)
        except (TypeError, ValueError):  # what fit refuses anyway
            content = sp.eye_array(2, format="csr")
        return super().fit(interactions, user_features=content.toarray() if self.dense else content)


Informed.__name__ = "ContentUsers"  # files know it by this name


class InformedDense(Informed):
    dense = True


InformedDense.__name__ = "ContentUsers"


class TestContentUsers(RecommenderContract):
    offers = frozenset({*ESTIMATORS["ContentUsers"].offers, "n_threads", "dtype"})
    fold_in_tolerance = 1.0  # who comes without features is described by others

    def make_model(self, **params):
        return Informed(**params)

    def test_an_update_is_fold_in(self):
        """Who is known keeps the scores of his features, whatever he has now; who is new is folded in."""
        events, users, _ = named_blocks()
        items = [str(one) for one in events.item_ids]
        model = self.make_model().fit(events)
        before, folded = model.score_users(users[:3]), model.score_users(interactions=[[items[3]]])
        assert tuple(model.update([(users[0], items[7]), ("new", items[3])])) == (1, 0, 1, 0)
        np.testing.assert_allclose(model.score_users(users[:3])[:, np.arange(21) != 7], before[:, np.arange(21) != 7])
        np.testing.assert_allclose(model.score_users(["new"]), folded, rtol=1e-5)
        assert items[7] not in model.recommend(users[0], n=21)[0]

    def test_fold_in_is_the_sub_problem_of_a_fit(self):
        """Not so here: who is known has the scores of his features, as somebody new with the same features has.

        Only a ridge leaves him out of what it has learnt.
        """
        events, users, _ = named_blocks()
        model = self.make_model().fit(events)
        trained = model.score_users(users[:3])
        same = model.score_users(features=model.content_[events.user_ids.index(users[:3])])
        assert np.abs(trained - same).max() <= (0 if model.reg_ is None else 0.2 * np.ptp(trained))


class TestRidge(TestContentUsers):
    def make_model(self, **params):
        return Informed(**{"reg": 1.0, **params})


class TestDense(TestContentUsers):
    def make_model(self, **params):
        return InformedDense(**params)


def problem(seed=0, users=30, items=25, words=12):
    random = np.random.default_rng(seed)
    likes = (random.random((users, items)) < 0.15) * 1.0
    likes[0, :4] = [-1, 1, 0, -1]
    return likes, random.poisson(0.6, (users, words)) * 1.0


@pytest.mark.parametrize("reg", [None, 0.5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_it_is_the_mirror_of_content_items(form, reg):
    likes, counts = problem()
    new = problem(seed=1, users=4)[1]
    model = ContentUsers(reg=reg, dtype="float64").fit(likes, user_features=form(counts))
    mirror = ContentItems(reg=reg, dtype="float64").fit(likes.T, item_features=form(counts))
    expected = mirror.score_users().T - mirror.state_.base[:, None] + model.state_.base
    np.testing.assert_allclose(model.score_users(), expected, atol=1e-10)
    np.testing.assert_allclose(model.score_users([7, 0]), expected[[7, 0]], atol=1e-10)
    positions = mirror.add_items(features=form(new))
    told = mirror.score_users().T[positions] + model.state_.base
    np.testing.assert_allclose(model.score_users(features=form(new)), told, atol=1e-10)
    added = model.add_users(features=form(new), interactions=likes[:4])
    np.testing.assert_allclose(model.score_users(added), told, atol=1e-10)
    np.testing.assert_allclose(model.score_users()[:30], expected, atol=1e-10)
    assert (model.recommend(added, n=25)[0][likes[:4] != 0] >= -1).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_ridge_regression_without_the_user_himself(form):
    likes, counts = problem(users=14, items=6, words=9)
    likes[11:] = 0  # users without events are not learnt from
    likes[np.arange(11), np.arange(11) % 6] = 1
    model = ContentUsers(reg=0.7, dtype="float64").fit(likes, user_features=form(counts))
    x = model.content_.toarray() if sp.issparse(model.content_) else model.content_
    base = 1e-3 * (likes > 0).mean(axis=0)
    for user in range(14):
        others = [other for other in range(11) if other != user]
        A, y = x[others], np.sign(likes[others])
        weights = np.linalg.solve(A.T @ A + 0.7 * np.eye(9), A.T @ y)
        np.testing.assert_allclose(model.score_users([user])[0], base + x[user] @ weights, atol=1e-9)


def test_the_ridge_is_chosen_by_lists_of_held_out_users():
    random = np.random.default_rng(5)
    groups = random.integers(0, 4, 80)
    likes = sp.csr_array((random.random((80, 30)) < np.where(groups[:, None] == np.arange(30) % 4, 0.5, 0.03)) * 1.0)
    content = sp.csr_array(np.eye(4)[groups] + (random.random((80, 4)) < 0.2))
    model = ContentUsers(reg="auto").fit(likes, user_features=content)
    x = sp.csr_array(model.content_)
    random = np.random.default_rng(0)
    fresh, known = content_ridge.held_out_columns(sp.csr_array(likes.T), random)
    assert len(fresh) == np.count_nonzero(np.diff(likes.indptr)) // 7
    means = {}
    for reg in (None, *content_ridge.RIDGES):
        scores = (x[known] @ x[fresh].T).T @ likes[known]
        scores = scores.toarray()
        if reg is not None:
            A = x[known].toarray()
            weights = np.linalg.solve(A.T @ A + reg * np.eye(4), A.T @ likes[known].toarray())
            scores = x[fresh].toarray() @ weights
        held_out = HeldOut(sp.csr_array(scores.shape), likes[fresh])
        means[reg] = held_out.values("ndcg@10", lambda users, scores=scores: scores[users]).mean()
    assert means[model.reg_] == pytest.approx(max(means.values()), abs=1e-6)


@pytest.mark.parametrize("reg", [None, 0.5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_row_does_not_depend_on_its_company(form, reg):
    likes, counts = problem(users=300, items=60)
    model = ContentUsers(reg=reg).fit(likes, user_features=form(counts))
    for features in (None, form(counts)):
        items, scores = model.recommend(n=60, exclude_seen=False, features=features)
        for users in ([7], [290, 7, 3]):
            some = {"users": users} if features is None else {"features": form(counts[users])}
            for one, other in zip(model.recommend(n=60, exclude_seen=False, **some), (items, scores)):
                assert np.array_equal(one, other[users])
    two = ContentUsers(reg=reg, n_threads=2).fit(likes, user_features=form(counts))
    assert np.array_equal(two.score_users(), model.score_users())


def test_new_items_are_known_by_who_has_them():
    likes, counts = problem()
    likes[:, 7] = 1  # everybody is learnt from
    model = ContentUsers(reg=1.0, dtype="float64").fit(likes[:, :20], user_features=counts)
    fuller = ContentUsers(reg=1.0, dtype="float64").fit(likes, user_features=counts)
    before = model.score_users()
    assert model.add_items(interactions=likes[:, 20:]).tolist() == [20, 21, 22, 23, 24]
    np.testing.assert_array_equal(model.score_users()[:, :20], before)
    base = fuller.state_.base
    np.testing.assert_allclose(model.score_users()[:, 20:], (fuller.score_users() - base)[:, 20:], atol=1e-10)


def test_who_comes_without_features_is_described_by_those_who_have_the_same_items():
    likes, counts = problem()
    model = ContentUsers(dtype="float64").fit(likes, user_features=counts)
    x = model.content_
    profile = np.sign(likes[3]) @ (likes.T @ x)
    expected = model.state_.base + profile / np.linalg.norm(profile) @ (likes.T @ x).T
    np.testing.assert_allclose(model.score_users(interactions=likes[[3]])[0], expected, atol=1e-12)


def test_people_by_name_and_in_a_blend():
    events = read_events([("ann", "soup"), ("ann", "bread"), ("bob", "chess"), ("bob", "go")], verbose=False)
    about = pd.DataFrame({"cooks": [1, 0], "plays": [0, 1]}, index=["ann", "bob"])
    later = pd.DataFrame({"plays": [1, 0], "cooks": [0, 1]}, index=["cem", "dan"])
    blend = Blend(models=[ContentUsers(), ItemItem()], weights=(1, 1)).fit(events, user_features=about)
    assert sorted(blend.recommend(features=later, n=2)[0].tolist()[1]) == ["bread", "soup"]
    model = ContentUsers().fit(events, user_features=about)
    assert model.add_users(features=later).tolist() == ["cem", "dan"]
    assert sorted(model.recommend(["cem"], n=2)[0][0].tolist()) == ["chess", "go"]
    assert model.similar_users(["cem"], n=1)[0].tolist() == [["bob"]]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda model, likes: ContentUsers().fit(likes), "give fit"),
        (lambda model, likes: ContentUsers(reg=0.0).fit(likes, user_features=likes), "reg"),
        (lambda model, likes: model.recommend(features=np.ones((2, 3))), "must have 12 columns"),
        (lambda model, likes: model.add_users(), "give the features of new users"),
        (lambda model, likes: model.add_items(features=np.ones((2, 3))), "fitted without item_features|who has them"),
        (lambda model, likes: model.recommend(interactions=likes, targets=likes), "no targets"),
    ],
)
def test_what_it_cannot_is_refused(ask, words):
    likes, counts = problem()
    model = ContentUsers().fit(likes, user_features=counts)
    with pytest.raises(ValueError, match=words):
        ask(model, likes)


def test_unlike_features_are_legal():
    likes, _ = problem()
    random = np.random.default_rng(0)
    for features in (
        np.zeros((30, 2)), np.ones((30, 1)), random.standard_normal((30, 4)) * 1e15, sp.csr_array((30, 3)),
        sp.random_array((30, 100_000), density=0.0005, rng=random, format="csr"), {"a": np.ones((30, 2)), "b": likes},
    ):  # fmt: skip
        for reg in (None, 1.0, "auto"):
            model = ContentUsers(reg=reg).fit(likes, user_features=features)
            assert np.isfinite(model.score_users()).all()
            assert np.isfinite(model.recommend(features=features, n=3)[1]).all()
