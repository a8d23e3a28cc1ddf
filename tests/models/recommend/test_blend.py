"""Blend: the contract, scores by hand, weights and their search, explanation, growth, features, parts and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from everypair import BPR, Blend, ContentItems, ContentUsers, ItemItem, OneClassMF, Popularity, load
from everypair.data import split_cold_items
from everypair.models.recommend.blend.weights import GRID, search_weights
from everypair.models.registry import ESTIMATORS
from everypair.testing.recommender import RecommenderContract, block_matrix, group_of

MATRIX, HELD_OUT = block_matrix()


class TestBlend(RecommenderContract):
    offers = frozenset({*ESTIMATORS["Blend"].offers, "n_threads"})

    def make_converging_model(self):
        return self.make_model(
            models=[OneClassMF(rank=3, tol=1e-13, max_iter=1000, dtype="float64", random_state=0), ItemItem()]
        )

    def make_model(self, **params):
        return Blend(**{"random_state": 0, **params})


def parts():
    return [OneClassMF(rank=4, random_state=0, dtype="float64"), ItemItem(reg=1.0, dtype="float64"), Popularity()]


def scaled(scores, zero):
    gaps = scores.astype(np.float64) - zero
    return gaps / np.sqrt(np.mean(gaps**2, axis=1, keepdims=True))


def test_scores_are_the_weighted_sum_of_scaled_scores():
    model = Blend(models=parts(), weights=[1, 0.5, 0.25]).fit(MATRIX)
    factors, items, counts = (part.fit(MATRIX) for part in parts())
    expected = scaled(factors.score_users(), -1) + 0.5 * scaled(items.score_users(), 0)
    expected += 0.25 * scaled(counts.score_users(), 0)
    np.testing.assert_allclose(model.score_users(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.score_users([3, 40]), expected[[3, 40]], rtol=1e-5, atol=1e-6)


def test_a_blend_can_be_blended():
    inner = Blend(models=parts()[:2], weights=[1, 0.5])
    model = Blend(models=[inner, parts()[0]], weights=[1, 2]).fit(MATRIX)
    expected = scaled(inner.fit(MATRIX).score_users(), 0) + 2 * scaled(parts()[0].fit(MATRIX).score_users(), -1)
    np.testing.assert_allclose(model.score_users(), expected, rtol=1e-5, atol=1e-6)
    items, _ = model.recommend(n=21, exclude_seen=False)
    np.testing.assert_allclose(np.take_along_axis(expected, items, axis=1), -np.sort(-expected, axis=1), atol=1e-5)


def test_several_models_with_factors_are_one_factorization():
    models = [parts()[0], OneClassMF(rank=2, loss="squared", random_state=1), Popularity()]
    model = Blend(models=models, weights=[1, 2, 0.5]).fit(MATRIX)
    expected = sum(
        weight * scaled(clone(part).fit(MATRIX).score_users(), zero)
        for part, weight, zero in zip(models, (1, 2, 0.5), (-1, 0, 0))
    )
    np.testing.assert_allclose(model.score_users(), expected, rtol=1e-5, atol=1e-5)
    assert model.state_.known(None).scores.left.shape == (44, 7)


def test_fixed_weights_and_zeros():
    models = [
        OneClassMF(rank=4),
        OneClassMF(rank=4, loss="squared"),
        OneClassMF(rank=4, negative_value=-0.5),
        ItemItem(),
    ]
    state = Blend(models=models, random_state=0).fit(MATRIX).state_
    assert state.weights == (1.0, 1.0, 1.0, 0.3)
    assert state.zeros == (-1.0, 0.0, -0.5, 0.0)


def test_a_part_of_weight_zero_says_nothing():
    both = Blend(models=[*parts()[:2], BPR(rank=2, max_iter=1, random_state=0)], weights=[1, 0.3, 0]).fit(MATRIX)
    assert np.array_equal(both.score_users(), Blend(models=parts()[:2]).fit(MATRIX).score_users())


def test_seed_and_threads_go_to_models_that_have_none():
    model = Blend(models=[OneClassMF(rank=4), OneClassMF(rank=4, random_state=7)], random_state=0, n_threads=1).fit(
        MATRIX
    )
    first, second = model.models_
    assert first.random_state is not None
    assert (second.random_state, first.n_threads, second.n_threads) == (7, 1, 1)
    assert model.models[0].random_state is None  # what was given is not changed
    again = clone(model).fit(MATRIX)
    assert np.array_equal(again.score_users(), model.score_users())


def test_anything_with_scores_can_be_blended():
    class Constant(BaseEstimator):
        def fit(self, interactions):
            return self

        def score_users(self, users=None, interactions=None, features=None):
            rows = len(users) if interactions is None else interactions.shape[0]
            return np.tile(np.arange(21.0)[::-1], (rows, 1))

    model = Blend(models=[Constant()]).fit(MATRIX)
    assert model.recommend(n=1, exclude_seen=False)[0].ravel().tolist() == [0] * 44
    assert model.recommend(interactions=MATRIX[:3], n=2, exclude_seen=False)[0].tolist() == [[0, 1]] * 3
    assert model.score_users([3, 4]).shape == (2, 21)
    with pytest.raises(TypeError, match=r"Constant.*can be used, but not written down"):
        model.to_parts()


def test_search_is_a_table_and_the_best_of_it_is_used():
    random = np.random.default_rng(0)
    likes = (random.random((300, 40)) < 0.05 + 0.3 * np.kron(np.eye(4), np.ones((75, 10)))) * 1.0
    model = Blend(models=[ItemItem(), Popularity()], weights="auto", random_state=0).fit(likes)
    table = model.search_
    assert [row["weights"] for row in table] == [[0.3, 1.0], *([0.3, weight] for weight in GRID)]
    best = max(table, key=lambda row: row["ndcg@10"])
    assert model.weights_ == tuple(best["weights"])
    assert table[0]["gain"] == 0
    for row in table:
        assert row["standard_error"] > 0
        assert row["gain"] == pytest.approx(row["ndcg@10"] - table[0]["ndcg@10"])
    assert model.weights_[1] < 1  # popularity knows less than neighbours here


def test_search_measures_what_it_says():
    """Two parts whose sums are written out; nDCG by hand for one held-out item per user."""
    train, test = np.zeros((4, 6)), np.zeros((4, 6))
    train[:, 0] = 1
    test[np.arange(4), [1, 2, 3, 4]] = 1
    random = np.random.default_rng(0)
    first, second = random.standard_normal((2, 4, 6))
    best, table = search_weights(lambda users: [first[users], second[users]], train, test, (1.0, 0.3), 0, 1)
    for row in table:
        scores = first + row["weights"][1] * second
        scores[:, 0] = -np.inf
        place = (scores > scores[np.arange(4), [1, 2, 3, 4]][:, None]).sum(axis=1)
        values = 1 / np.log2(place + 2)
        assert row["ndcg@10"] == pytest.approx(values.mean())
        assert row["standard_error"] == pytest.approx(values.std(ddof=1) / 2)
    assert [row["weights"][1] for row in table] == [0.3, *(weight for weight in GRID if weight != 0.3)]
    assert best == tuple(max(table, key=lambda row: row["ndcg@10"])["weights"])


def test_content_decides_by_long_lists_too():
    """The mean of nDCG@10 and recall@100, of the parts that are searched alone."""
    random = np.random.default_rng(0)
    train, test = np.zeros((5, 200)), np.zeros((5, 200))
    train[:, 0] = 1
    test[np.arange(5), random.integers(1, 200, 5)] = 1
    parts = random.standard_normal((3, 5, 200))
    best, table = search_weights(
        lambda users: list(parts[:, users]), train, test, (1.0, 0.3, 0.3), 0, 1, [2], long_lists=True
    )
    truth, quality = test.argmax(axis=1), []
    for row in table:
        scores = np.einsum("p,pij->ij", row["weights"], parts)
        scores[:, 0] = -np.inf
        place = (scores > scores[np.arange(5), truth][:, None]).sum(axis=1)
        ndcg, recall = np.where(place < 10, 1 / np.log2(place + 2), 0), (place < 100) * 1.0
        assert (row["ndcg@10"], row["recall@100"]) == pytest.approx((ndcg.mean(), recall.mean()))
        quality.append((ndcg.mean() + recall.mean()) / 2)
        assert row["gain"] == pytest.approx(quality[-1] - quality[0])
        assert row["standard_error"] == pytest.approx(((ndcg + recall) / 2).std(ddof=1) / np.sqrt(5))
    assert [row["weights"][:2] for row in table] == [[1.0, 0.3]] * len(table)
    assert [row["weights"][2] for row in table] == [0.3, *(weight for weight in GRID if weight != 0.3)]
    assert best == tuple(table[int(np.argmax(quality))]["weights"])


def test_with_features_content_is_a_part_whose_weight_is_found():
    random = np.random.default_rng(0)
    groups = np.eye(8)[np.arange(80) // 10]
    likes = (random.random((150, 80)) < 0.3 * np.eye(8)[np.arange(150) % 8] @ groups.T + 0.01) * 1.0
    noise = random.standard_normal((80, 5))
    for features, helps in ((groups, True), (noise, False)):
        model = Blend(random_state=0).fit(likes, item_features=features)
        assert [type(one) for one in model.models_] == [OneClassMF, ItemItem, ContentItems]
        assert [row["weights"][2] for row in model.search_] == [0.3, *(weight for weight in GRID if weight != 0.3)]
        assert model.weights_[:2] == (1.0, 0.3)
        assert model.weights_[2] >= 0.3 if helps else model.weights_[2] <= 0.3
    with_content = Blend(models=[ItemItem(), ContentItems()], weights="auto", random_state=0)
    assert "recall@100" in with_content.fit(likes, item_features=groups).search_[0]
    alone = Blend(models=[ContentItems()]).fit(likes, item_features=groups)
    assert (alone.weights_, alone.search_) == ((0.3,), None)


def test_where_nobody_has_two_events_content_speaks_alone():
    groups = np.eye(4)[np.arange(20) % 4]
    single = np.eye(20)[np.arange(30) % 20]
    model = Blend(random_state=0).fit(single, item_features=groups)
    assert (model.weights_, model.search_) == ((0.0, 0.0, 1.0), None)
    expected, _ = ContentItems().fit(single, item_features=groups).recommend(n=5)
    assert np.array_equal(model.recommend(n=5)[0], expected)
    assert model.add_items(features=np.eye(4)[[2]]).tolist() == [20]
    assert model.recommend([2], n=1, allow=[3, 20])[0].tolist() == [[20]]
    few = single.copy()
    few[0, 4] = 1  # two events, and yet none is held out
    for seed in range(3):
        found = Blend(models=[ItemItem(), ContentItems()], random_state=seed).fit(few[:2], item_features=groups)
        assert found.search_ is None or len(found.search_) > 1
        assert len(found.weights_) == 2


@pytest.mark.parametrize("held_out", ["last", "time"])
def test_held_out_by_time(held_out):
    times = np.arange(int(MATRIX.sum()))
    model = Blend(models=parts()[1:], weights="auto", held_out=held_out, random_state=0).fit(MATRIX, times=times)
    assert len(model.search_) > 2
    with pytest.raises(ValueError, match="needs the times of the stored pairs"):
        Blend(weights="auto", held_out=held_out).fit(MATRIX)


def test_held_out_items_are_ranked_among_themselves_by_their_features():
    random = np.random.default_rng(3)
    content = np.eye(3)[group_of(np.arange(21), side=1)] + 0.7 * random.random((21, 3))
    models = [OneClassMF(rank=2, max_iter=4, random_state=0), ContentItems(), Popularity()]
    model = Blend(models=models, weights="auto", held_out="items", random_state=0).fit(MATRIX, item_features=content)
    train, test = split_cold_items(MATRIX, 1 / 7, int(np.random.default_rng(0).integers(2**31)))
    new = np.unique(test.indices)
    assert len(new) == 3
    assert not train[:, new].nnz
    fitted = [clone(one).fit(train, item_features=content) for one in models[:2]]
    parts = [scaled(one.score_users(), zero)[:, new] for one, zero in zip(fitted, (-1, 0))]
    truth = test.toarray()[:, new] > 0
    for row in model.search_:
        scores = sum(
            weight * part for weight, part in zip(row["weights"], parts)
        )  # nobody has a newcomer: popularity 0
        by_hand = []
        for user in np.flatnonzero(truth.any(axis=1)):
            order = np.argsort(-scores[user], kind="stable")
            gains = 1 / np.log2(np.arange(len(new)) + 2)
            by_hand.append((truth[user][order] * gains).sum() / gains[: truth[user].sum()].sum())
        assert row["ndcg@10"] == pytest.approx(np.mean(by_hand), abs=1e-6)
        assert row["recall@100"] == 1
    assert model.weights_ in [tuple(row["weights"]) for row in model.search_]
    fixed = Blend(models=models[1:], weights="auto", held_out="items", random_state=0)
    with pytest.raises(ValueError, match="ranks items by their features"):
        fixed.fit(MATRIX)


def test_users_known_by_features_alone_are_weighed_otherwise():
    about = np.eye(3)[group_of(np.arange(44), side=0)] + 0.1
    matrix = MATRIX.copy()
    matrix[[5, 40]] = 0  # who are there without events
    model = Blend(random_state=0).fit(matrix, user_features=about)
    assert [type(part).__name__ for part in model.models_] == ["OneClassMF", "ItemItem", "ContentUsers"]
    assert model.weights_ == (1.0, 0.3, 0.0)
    factors, items, content = model.models_
    parts = [scaled(factors.score_users(), -1), scaled(items.score_users(), 0), scaled(content.score_users(), 0)]
    expected = parts[0] + 0.3 * parts[1]
    expected[[5, 40]] += 0.3 * parts[2][[5, 40]]
    np.testing.assert_allclose(model.score_users(), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.score_users([5, 7]), expected[[5, 7]], rtol=1e-4, atol=1e-4)
    assert model.explain(5, 3).score == pytest.approx(expected[5, 3], rel=1e-4)
    new = about[[0, 20, 43]]
    told = scaled(factors.score_users(features=new), -1) + 0.3 * scaled(content.score_users(features=new), 0)
    np.testing.assert_allclose(model.score_users(features=new), told, rtol=1e-4, atol=1e-4)
    both = model.score_users(interactions=matrix[[0, 20, 43]], features=new)
    with_events = scaled(factors.score_users(interactions=matrix[[0, 20, 43]], features=new), -1)
    with_events += 0.3 * scaled(items.score_users(interactions=matrix[[0, 20, 43]]), 0)
    np.testing.assert_allclose(both, with_events, rtol=1e-4, atol=1e-4)
    alone = Blend(models=[ContentUsers()]).fit(matrix, user_features=about)
    assert alone.weights_ == (1.0,)
    fixed = Blend(models=[OneClassMF(rank=2), ContentUsers()], weights=(1, 0.5), random_state=0)
    assert fixed.fit(matrix, user_features=about).state_.newcomer_weights is None


def test_profiles_that_would_be_large_are_left_out(monkeypatch):
    about = sp.csr_array(np.eye(3)[group_of(np.arange(44), side=0)])
    monkeypatch.setattr("everypair.models.recommend.blend.blend.LARGEST_PROFILES", 10)
    model = Blend(random_state=0).fit(MATRIX, user_features=about)
    assert [type(part).__name__ for part in model.models_] == ["OneClassMF", "ItemItem"]


def test_explanations_add_up():
    matrix = MATRIX.copy()
    matrix[2, 20] = -1
    model = Blend(models=parts()[:2], weights=[1, 2]).fit(matrix)
    why = model.explain(2, int(HELD_OUT[2]))
    assert why.score == pytest.approx(model.score_pairs([2], [HELD_OUT[2]])[0], rel=1e-5)
    assert why.base + why.contributions.sum() == pytest.approx(why.score)
    assert set(why.items) <= set(np.flatnonzero(matrix[2]))
    assert (np.diff(np.abs(why.contributions)) <= 0).all()
    assert len(model.explain(2, 0, n=3).items) == 3
    mute = Blend(models=[*parts()[:2], Popularity()], random_state=0).fit(matrix).explain(2, 1)
    assert mute.base + mute.contributions.sum() == pytest.approx(mute.score)


def test_users_and_items_are_appended_to_every_model():
    model = Blend(models=parts()[:2]).fit(MATRIX)
    assert model.add_users(interactions=MATRIX[[40]]).tolist() == [44]
    assert model.recommend([44], n=1)[0][0, 0] == HELD_OUT[40]
    column = np.zeros((45, 1))
    column[:15] = 1
    assert model.add_items(interactions=column).tolist() == [21]
    assert model.interactions_.shape == (45, 22)
    assert all(part.interactions_.shape == (45, 22) for part in model.models_)
    assert set(np.argsort(-model.score_users()[:, 21])[:15]) <= set(range(20))
    with pytest.raises(ValueError, match="Popularity cannot add items"):
        Blend(models=[Popularity()]).fit(MATRIX).add_items(interactions=MATRIX[:, :1])


def test_features_reach_the_models_that_read_them():
    groups = np.eye(3)[group_of(np.arange(44), side=0)], np.eye(3)[group_of(np.arange(21), side=1)]
    model = Blend(models=parts()[:2]).fit(MATRIX, user_features=groups[0], item_features=groups[1])
    items, _ = model.recommend(features=np.eye(3), n=5)
    assert group_of(items, side=1).tolist() == [[0] * 5, [1] * 5, [2] * 5]
    rows = np.zeros((1, 21))
    rows[0, [15, 16]] = 1
    items, _ = model.recommend(interactions=rows, features=np.eye(3)[[2]], n=4)
    assert (group_of(items, side=1) == 2).all()
    assert not {15, 16} & set(items.ravel().tolist())
    for given in (np.eye(3)[[1]], sp.csr_array(np.eye(3)[[1]])):
        (position,) = model.add_items(features=given)
        assert set(np.argsort(-model.score_users()[:, position])[:14]) == set(range(20, 34))
    (position,) = model.add_users(features=np.eye(3)[[1]])
    assert (group_of(model.recommend([position], n=5, allow=np.arange(21))[0], side=1) == 1).all()


def test_new_users_without_events_get_popular_items():
    likes = (np.random.default_rng(0).random((300, 30)) < np.linspace(0.02, 0.6, 30)) * 1.0
    model = Blend(models=[OneClassMF(rank=2, random_state=0), ItemItem()]).fit(likes)
    items, _ = model.recommend(interactions=np.zeros((1, 30)), n=5)
    counts = likes.sum(axis=0)
    assert counts[items[0]].min() > np.quantile(counts, 0.6)


def test_parts_give_the_same_blend():
    for models in ([ItemItem(reg=1.0), ItemItem(neighbors=4)], [ItemItem(neighbors=None, reg=1.0)]):
        model = Blend(models=models, weights="auto", random_state=0).fit(MATRIX)
        twin = Blend.from_parts(*model.to_parts())
        assert [str(part) for part in twin.models] == [str(part) for part in models]
        assert twin.weights_ == model.weights_
        assert twin.search_ == model.search_
        assert np.array_equal(twin.score_users(), model.score_users())
        assert np.array_equal(twin.recommend()[0], model.recommend()[0])
    values, arrays = model.to_parts()
    values["state"]["fields"]["models"]["tuple"][0]["estimator"]["class"] = "Popen"
    with pytest.raises(ValueError, match="a part of an unknown kind: estimator"):
        Blend.from_parts(values, arrays)
    with pytest.raises(ValueError, match="not the parts of a model"):
        Blend.from_parts({"class": "Blend"}, {})


def test_a_blend_of_blends_and_towers_is_saved(tmp_path):
    pytest.importorskip("jax")
    from everypair import TwoTower

    tower = TwoTower(rank=3, max_iter=2, random_state=0)
    model = Blend(models=[Blend(models=parts()[:2], weights=[1, 0.5]), tower], weights=[1, 2]).fit(MATRIX)
    model.save(tmp_path / "model.ep")
    twin = load(tmp_path / "model.ep")
    assert np.array_equal(twin.score_users(), model.score_users())
    assert [str(part) for part in twin.models] == [str(part) for part in model.models]
    assert [str(part) for part in twin.models[0].models] == [str(part) for part in parts()[:2]]


def test_bad_input_is_refused_before_any_work():
    for parameters, kind, said in (
        ({"models": []}, ValueError, "list of recommenders"),
        ({"models": "ItemItem"}, ValueError, "list of recommenders"),
        ({"models": [ItemItem]}, TypeError, "recommenders with fit and score_users"),
        ({"models": [3]}, TypeError, "recommenders with fit and score_users"),
        ({"weights": "best"}, ValueError, "weights must be numbers"),
        ({"weights": [1.0]}, ValueError, "weights must be 2 finite numbers"),
        ({"weights": [1.0, -1.0]}, ValueError, "weights must be 2 finite numbers"),
        ({"weights": [0, 0]}, ValueError, "not all 0"),
        ({"weights": "auto", "held_out": "first"}, ValueError, "held_out must be one of"),
        ({"random_state": -1}, ValueError, "random_state"),
        ({"n_threads": 0}, ValueError, "n_threads"),
    ):
        with pytest.raises(kind, match=said):
            Blend(**parameters).fit(MATRIX)
    with pytest.raises(ValueError, match="none of the models reads user_features"):
        Blend(models=[ItemItem()]).fit(MATRIX, user_features=np.ones((44, 2)))
    model = Blend(models=parts()[1:2]).fit(MATRIX)
    with pytest.raises(ValueError, match="was fitted with user_features"):
        model.recommend(features=np.ones((1, 2)))
    with pytest.raises(ValueError, match="give the interactions of new entities"):
        model.add_users()
    with pytest.raises(ValueError, match="fitted with features of that side"):
        model.add_items(features=np.ones((1, 2)))
    with pytest.raises(ValueError, match="user 44 is unknown"):
        model.explain(44, 0)
    with pytest.raises(NotFittedError):
        Blend().add_users(interactions=MATRIX)
    with pytest.raises(NotFittedError):
        Blend().add_items(interactions=MATRIX)


def test_similar_items_by_the_mean_of_the_models_cosines():
    model = Blend(models=parts(), weights=[1, 0.5, 0.25]).fit(MATRIX)
    factors, items = model.models_[0].item_factors_, MATRIX * np.sqrt(model.models_[1].state_.user_weights)[:, None]
    unit = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    columns = items / np.linalg.norm(items, axis=0)
    expected = (unit @ unit.T + 0.5 * columns.T @ columns) / 1.5  # Popularity compares nothing
    np.fill_diagonal(expected, -np.inf)
    nearest, cosines = model.similar_items(np.arange(21), n=20)
    np.testing.assert_allclose(cosines, -np.sort(-expected, axis=1)[:, :20], atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(expected, nearest, axis=1), cosines, atol=1e-6)


def test_similar_items_of_a_blend_of_blends_and_of_one_part():
    inner = Blend(models=parts()[:2], weights=[1, 3]).fit(MATRIX)
    outer = Blend(models=[Blend(models=parts()[:2], weights=[1, 3]), parts()[0]], weights=[1, 0]).fit(MATRIX)
    for answer, expected in zip(outer.similar_items([2, 9]), inner.similar_items([2, 9])):
        np.testing.assert_allclose(answer, expected, atol=1e-12)
    alone = Blend(models=[ItemItem(reg=1.0), Popularity()]).fit(MATRIX)
    np.testing.assert_allclose(alone.similar_items([4])[1], alone.models_[0].similar_items([4])[1], atol=1e-6)
    with pytest.raises(ValueError, match="compares items"):
        Blend(models=[Popularity()]).fit(MATRIX).similar_items([0])
    with pytest.raises(ValueError, match="item 21 is unknown"):
        inner.similar_items([21])
