"""Later events in a fitted model: how they are read, what they add up to, features of what is new, what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from everypair import Blend, ItemItem, OneClassMF, TwoTower, load, read_events
from everypair.features import table_features
from everypair.models.recommend.growth import merged
from everypair.models.recommend.rivals.bpr import BPR
from everypair.testing import block_matrix

USERS, ITEMS = [f"u{i}" for i in range(44)], [f"i{j}" for j in range(21)]
EVENTS = [(USERS[i], ITEMS[j], 5.0, 1000 + i + j) for i, j in np.argwhere(block_matrix()[0]).tolist()]


def small(**params):
    return OneClassMF(rank=3, random_state=0, max_iter=8, **params)


def rated(rows, **more):
    return {**dict(zip(("user", "item", "rating", "time"), map(list, zip(*rows)))), **more}


def test_later_events_are_read_as_those_of_training():
    model = small().fit(read_events(rated(EVENTS), min_rating=4, verbose=False))
    assert model.state_.log.reading == {"min_rating": 4}
    day = [("u0", "i9", 1.0, 5000), ("u1", "i9", 5.0, 5000), ("neu", "i3", 2.0, 5000), ("u1", "i0", 5.0, 5001)]
    assert tuple(model.update(rated(day))) == (0, 0, 1, 0)
    assert "neu" not in model.user_ids_
    assert model.interactions_.max() == 1  # the last rating of a pair counts: it does not add up


def test_named_columns_are_looked_for_where_a_table_has_them(tmp_path):
    frame = pd.DataFrame({"kunde": ["a", "a", "b"], "artikel": ["x", "y", "x"]})
    model = ItemItem().fit(read_events(frame, user="kunde", item="artikel"))
    assert model.update({"user": ["b"], "item": ["y"]}).folded_in == 1
    path = tmp_path / "day.csv"
    pd.DataFrame({"artikel": ["x"], "kunde": ["c"], "user": ["no"]}).to_csv(path, index=False)
    assert model.update(path).new_users == 1
    assert "c" in model.user_ids_


@pytest.mark.parametrize("how", ["sum", "last", "max", "count"])
def test_weights_of_a_pair_are_joined_as_in_one_table(how):
    random = np.random.default_rng(0)
    old, new = (sp.random_array((6, 8), density=0.4, rng=random, format="csr") for _ in range(2))
    old.data[::3] *= -1
    expected = old.toarray()
    for i, j in np.argwhere(new.toarray()):
        a, b = expected[i, j], new[i, j]
        expected[i, j] = b if a == 0 or how == "last" else max(a, b) if how == "max" else a + b
    np.testing.assert_allclose(merged(old, new, how).toarray(), expected)


def test_events_that_are_not_later_are_counted():
    model = small().fit(read_events(rated(EVENTS), weight=None, verbose=False))
    assert model.update(rated([("u0", "i9", 1, 10), ("u1", "i9", 1, 9000)])).not_later == 1
    assert model.state_.log.latest == 9000
    assert model.update(rated([("u0", "i8", 1, 9000), ("u1", "i8", 1, 9001)])).not_later == 1


@pytest.mark.parametrize("own", [True, False])
def test_users_with_features_are_folded_in_beside_them(own):
    from everypair import Side

    features = pd.DataFrame(np.random.default_rng(1).normal(size=(44, 4)), index=USERS, columns=list("abcd"))
    model = small(users=Side(own_vectors=own), dtype="float64").fit(EVENTS, user_features=features)
    check_described(model, features)


def test_towers_are_folded_in_beside_features():
    features = pd.DataFrame(np.random.default_rng(1).normal(size=(44, 4)), index=USERS, columns=list("abcd"))
    model = TwoTower(widths=(6,), rank=4, max_iter=5, random_state=0).fit(EVENTS, user_features=features)
    check_described(model, features)


def check_described(model, features):
    row = model.interactions_[model.user_ids_.index(["u2"])].toarray()
    row[0, 9] += 1
    expected = model.score_users(interactions=row, features=features.loc[["u2"]])
    model.update([("u2", model.item_ids_[9])])
    np.testing.assert_allclose(model.score_users(["u2"]), expected, rtol=1e-5, atol=1e-5)
    newcomer = pd.DataFrame([[1.0, 0.5, -1.0, 2.0]], index=["neu"], columns=list("abcd"))
    assert model.update([("neu", "i1")], user_features=newcomer).new_users == 1
    row = np.zeros((1, 21))
    row[0, model.item_ids_.index(["i1", "i2"])] = 1
    expected = model.score_users(interactions=row, features=newcomer)
    model.update([("neu", "i2")])
    np.testing.assert_allclose(model.score_users(["neu"]), expected, rtol=1e-5, atol=1e-5)


def test_weights_and_values_of_known_users_stay_theirs():
    random = np.random.default_rng(0)
    p, q = random.random(44) + 0.1, random.random(21) + 0.1
    low_rank = random.normal(size=(44, 2)), random.normal(size=(21, 2))
    model = small(negative_scheme=(p, q), negative_value=low_rank, dtype="float64").fit(EVENTS)
    row = model.interactions_[[3]].toarray()
    row[0, 9] += 1
    state = model.state_
    expected = model.fold_in_users(row, weights=state.negatives.left[[3]], values=state.negatives.value[0][[3]])
    model.update([(model.user_ids_[3], model.item_ids_[9])])
    np.testing.assert_allclose(model.user_factors_[3], expected[0], rtol=1e-6)


@pytest.fixture
def catalogue():
    return {"item": ["i1", "neu", "alone"], "kind": ["a", "b", "a"]}


def test_items_by_features_alone(catalogue, tmp_path):
    table = {"item": ITEMS, "kind": ["abc"[j % 3] for j in range(21)]}
    events = read_events(EVENTS)
    model = Blend(models=[small(), ItemItem()]).fit(
        events, item_features=table_features(table, events.item_ids, verbose=False)
    )
    path = tmp_path / "catalogue.csv"
    pd.DataFrame(catalogue).to_csv(path, index=False)
    assert tuple(model.update([(user, "neu") for user in USERS[:3]], item_features=path)) == (0, 2, 3, 0)
    assert model.update(item_features={"item": ["later"], "kind": ["b"]}).new_items == 1
    assert {"neu", "alone", "later"} <= set(model.item_ids_)
    model.save(tmp_path / "model.ep")
    assert load(tmp_path / "model.ep").update(item_features=catalogue) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("fit", "update", "sentence"),
    [
        ({}, {}, "give events, or a table"),
        ({}, {"events": [("u1", "i1")], "known": "maybe"}, "known must be one of 'fold-in', 'ignore'"),
        ({}, {"events": [("u1", "i1")], "item_features": {"item": ["x"], "a": [1]}}, "fitted without item_features"),
        ({}, {"events": [(j, j) for j in range(20)]}, "the model knows 0 of the 20 users and 0 of the 20 items"),
        ({"user_graph": sp.eye_array(44, k=1) + sp.eye_array(44, k=-1)}, {"events": [("u1", "i9")]}, "a graph"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(fit, update, sentence):
    model = small().fit(EVENTS, **fit)
    before = model.state_
    with pytest.raises(ValueError, match=sentence):
        model.update(**update)
    assert model.state_ is before


def test_a_matrix_is_no_update():
    with pytest.raises(TypeError, match="events with ids"):
        small().fit(EVENTS).update(np.eye(44, 21))


def test_members_that_cannot_are_named():
    blend = Blend(models=[small(), BPR(rank=2, random_state=0)]).fit(EVENTS)
    with pytest.raises(ValueError, match=r'BPR cannot take in further events of known users.*known="ignore"'):
        blend.update([("u1", "i9")])
    with pytest.raises(AttributeError, match="BPR has no update: Blend, OneClassMF, ItemItem"):
        BPR(rank=2).update([("u1", "i9")])


def test_a_session_is_not_stored():
    model = small().fit(EVENTS)
    before = model.state_
    plain, _ = model.recommend(["u0"], n=3)
    assert (model.recommend(["u0"], n=3, more=[["i20", "i19", "i18"]])[0] != plain).any()
    assert model.state_ is before
    assert not set(model.recommend(["u0"], n=21, more=[["i20"]])[0][0]) & {"i20"}
    with pytest.raises(ValueError, match="say of which users"):
        model.recommend(more=[["i20"]])
    with pytest.raises(ValueError, match="known users have besides"):
        model.recommend(interactions=[["i1"]], more=[["i20"]])
    with pytest.raises(TypeError, match="a list of items for every user"):
        model.recommend(["u0"], more={"user": ["u0"], "item": ["i20"]})
