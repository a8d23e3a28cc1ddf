"""Features as they come: zero rows, constant columns, one column, very many, negative, huge, counts, groups, gaps."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from everypair import Blend, ContentItems, ContentUsers, OneClassMF, Side, read_events
from everypair.features import table_features

USERS, ITEMS, NEW = 16, 12, 3
RANDOM = np.random.default_rng(0)
LIKES = sp.csr_array((RANDOM.random((USERS, ITEMS)) < 0.3) * 1.0)
ONE_EACH = sp.csr_array((np.ones(USERS), (np.arange(USERS), np.arange(USERS) % (ITEMS - 2))), shape=(USERS, ITEMS))
KINDS = {
    "zeros": lambda n: np.zeros((n, 3)),
    "no entries": lambda n: sp.csr_array((n, 3)),
    "stored zeros": lambda n: sp.csr_array((np.zeros(n), (np.arange(n), np.zeros(n, int))), shape=(n, 3)),
    "some zero rows": lambda n: sp.csr_array((RANDOM.random((n, 8)) < 0.1) * 1.0),
    "one constant": lambda n: np.ones((n, 1)),
    "constant columns": lambda n: np.hstack([np.ones((n, 2)), RANDOM.standard_normal((n, 3))]),
    "the same rows": lambda n: np.tile([[1.0, -2.0]], (n, 1)),
    "one": lambda n: RANDOM.random((n, 1)),
    "negative": lambda n: RANDOM.standard_normal((n, 4)),
    "negative, sparse": lambda n: sp.csc_array(RANDOM.standard_normal((n, 4)) * (RANDOM.random((n, 4)) < 0.5)),
    "huge": lambda n: RANDOM.standard_normal((n, 3)) * 1e15,
    "tiny": lambda n: RANDOM.standard_normal((n, 3)) * 1e-20,
    "counts": lambda n: RANDOM.integers(0, 4, (n, 20)).astype(np.uint8),
    "flags": lambda n: RANDOM.random((n, 5)) < 0.4,
    "very many": lambda n: sp.random_array((n, 100_000), density=0.0005, rng=np.random.default_rng(1), format="csr"),
    "groups": lambda n: {"a": RANDOM.random((n, 2)), "b": sp.csr_array((RANDOM.random((n, 9)) < 0.2) * 1.0)},
}
FACTORS = {"rank": 3, "max_iter": 2, "random_state": 0}
MODELS = {
    "Blend": lambda: Blend(rank=3, random_state=0),
    "linear": lambda: OneClassMF(**FACTORS),
    "kernel": lambda: OneClassMF(**FACTORS, users=Side(cold="kernel"), items=Side(cold="kernel")),
    "events alone": lambda: OneClassMF(**FACTORS, users=Side(joint=False), items=Side(joint=False)),
    "no own vectors": lambda: OneClassMF(**FACTORS, items=Side(own_vectors=False)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_items_of_any_kind(kind):
    known, new = KINDS[kind](ITEMS), KINDS[kind](NEW)
    events = sp.csr_array((RANDOM.random((USERS, NEW)) < 0.4) * 1.0)
    models = [(LIKES, make) for make in (*MODELS.values(), ContentItems, lambda: ContentItems(reg="auto"))]
    for likes, make in (*models, (ONE_EACH, MODELS["Blend"])):
        model = make().fit(likes, item_features=known)
        assert np.isfinite(model.score_users()).all()
        added = model.add_items(features=new)
        both = model.add_items(features=new, interactions=events)
        items, scores = model.recommend(n=3, allow=np.concatenate([added, both]), exclude_seen=False)
        assert items.min() >= ITEMS
        assert np.isfinite(scores).all()
        assert np.isfinite(model.similar_items([0, int(added[0])], n=3)[1]).all()
        if isinstance(model, OneClassMF):
            assert np.isfinite(model.fold_in_items(features=new)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_users_of_any_kind(kind):
    known, new = KINDS[kind](USERS), KINDS[kind](NEW)
    models = [make for name, make in MODELS.items() if name != "no own vectors"]
    for make in (*models, ContentUsers, lambda: ContentUsers(reg="auto")):
        model = make().fit(LIKES, user_features=known)
        assert np.isfinite(model.score_users()).all()
        assert np.isfinite(model.recommend(features=new, n=3)[1]).all()
        assert np.isfinite(model.recommend(features=new, interactions=LIKES[:NEW], n=3)[1]).all()
        added = model.add_users(features=new)
        assert np.isfinite(model.recommend(added, n=3)[1]).all()


def test_texts_with_gaps():
    texts = ["red fox", "blue bird", "", None, "fox and bird", "...", "   ", "bird"]
    names = [f"item {number}" for number in range(ITEMS)]
    events = read_events([(f"user {u}", names[i]) for u, i in zip(*LIKES.nonzero())], verbose=False)
    about = {"item": names, "about": [texts[number % 8] for number in range(ITEMS)]}
    table = table_features(pd.DataFrame(about), events.item_ids, id="item", kinds={"about": "text"})
    later = pd.DataFrame({"item": ["a", "b", "c"], "about": ["red bird", None, "unheard of"]})
    for make in (MODELS["Blend"], MODELS["linear"], ContentItems):
        model = make().fit(events, item_features=table)
        assert model.add_items(features=later).tolist() == ["a", "b", "c"]
        items, scores = model.recommend(["user 0"], n=3, allow=["a", "b", "c"])
        assert sorted(items[0]) == ["a", "b", "c"]
        assert np.isfinite(scores).all()
