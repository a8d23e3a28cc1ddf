"""Features on a cluster: the optimum of one machine, the same bits on any number of workers."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import OneClassMF, Side
from everypair.distribute import Cluster, ShardCheckpoint
from everypair.models.recommend.cold import ColdFactors
from everypair.solvers.preconditioner import EXACT_FEATURES

random = np.random.default_rng(0)
USERS, ITEMS = 2600, 2100
X = random.standard_normal((USERS, 12))
Z = sp.random_array((ITEMS, 20), density=0.2, rng=random, format="csr")
SCORES = (X @ random.standard_normal((12, 3))) @ (Z @ random.standard_normal((20, 3))).T
PAIRS = sp.csr_array((SCORES / SCORES.std() + 0.5 * random.standard_normal(SCORES.shape) > 2.4).astype(np.float32))
SHARDS = (2, 2)
WITHOUT_OWN = {"users": Side(own_vectors=False), "items": Side(own_vectors=False)}
CASES = {
    "XW on both sides": (X, Z, WITHOUT_OWN),
    "table on the left, T + XW on the right": (None, Z, {}),
    "T + XW on both sides, biases": (X, Z, {"biases": True, "loss": "squared"}),
    "XW, squared, no negatives": (X, Z, {**WITHOUT_OWN, "loss": "squared", "negative_weight": 0.0}),
    "T + XW, squared": (X, Z, {"loss": "squared"}),
}


def model(**parameters):
    defaults = {"rank": 4, "max_iter": 8, "tol": 0.0, "random_state": 3, "dtype": "float64"}
    return OneClassMF(**{**defaults, **parameters})


@pytest.mark.parametrize("name", CASES)
def test_the_objective_of_one_machine(name, clients):
    left, right, parameters = CASES[name]
    alone = model(**parameters).fit(PAIRS, user_features=left, item_features=right)
    there = model(**parameters).fit(
        PAIRS, user_features=left, item_features=right, client=Cluster(clients(2), shards=SHARDS)
    )
    values = [entry["objective"] for entry in there.history_]
    assert all(new <= old * (1 + 1e-9) for old, new in pairwise(values))
    assert there.objective_ < alone.objective_ * 1.005  # it may be lower: both are on their way
    if parameters.get("loss") == "squared":  # where both have arrived
        assert there.objective_ == pytest.approx(alone.objective_, rel=2e-3)
    assert there.feature_reg_ == pytest.approx(alone.feature_reg_)
    assert there.own_vectors_ == alone.own_vectors_


def test_the_objective_is_that_of_the_model_that_comes_back(clients):
    """F by brute force over the whole matrix, from the gathered factors and weights."""
    there = model(users=Side(cold="weights"), items=Side(own_vectors=False), max_iter=3).fit(
        PAIRS, user_features=X, item_features=Z, client=Cluster(clients(2), shards=SHARDS)
    )
    U, V = there.user_factors_, there.item_factors_
    W, H = there.user_feature_weights_, there.item_feature_weights_
    assert pytest.approx(Z @ H, abs=1e-9) == V
    S, Y = U @ V.T, PAIRS.toarray()
    p, q = there.negatives_.left[:, None], there.negatives_.right[None, :]
    outside = 0.5 * p * q * (there.negatives_.value - S) ** 2
    pairs = np.where(Y > 0, np.log1p(np.exp(-S)), outside).sum()
    total = (Y.sum(axis=1) + there.negatives_.left * there.negatives_.right.sum())[:, None]
    own = there.reg_[0] * total**0.75 * (U - X @ W) ** 2
    ridge = 0.5 * (own.sum() + there.feature_reg_[0] * (W**2).sum() + there.feature_reg_[1] * (H**2).sum())
    assert there.objective_ == pytest.approx(pairs + ridge, rel=1e-9)


@pytest.mark.parametrize(("own", "workers"), [(True, (1, 2, 4)), (False, (1, 2))])
def test_the_same_bits_on_any_number_of_workers(own, workers, clients):
    one, *others = (
        model(users=Side(own_vectors=own), items=Side(own_vectors=own), max_iter=3, dtype="float32").fit(
            PAIRS, user_features=X, item_features=Z, client=Cluster(clients(n), shards=SHARDS)
        )
        for n in workers
    )
    for other in others:
        for name in ("user_factors_", "item_factors_", "user_feature_weights_", "item_feature_weights_"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
        assert [e["objective"] for e in one.history_] == [e["objective"] for e in other.history_]


def test_wide_features_have_a_diagonal_preconditioner(clients):
    wide = sp.hstack([Z, sp.random_array((ITEMS, 2100), density=0.002, rng=random)], format="csr")
    parameters = {"items": Side(own_vectors=False), "max_iter": 6}
    alone = model(**parameters).fit(PAIRS, item_features=wide)
    cluster = Cluster(clients(2), shards=SHARDS, gather=False)
    there = model(**parameters).fit(PAIRS, item_features=wide, client=cluster)
    assert there.objective_ < alone.objective_ * 1.01
    assert there.state_.sides[1].features.columns == 2120 > EXACT_FEATURES


def test_new_users_by_their_features(clients):
    given = {"user_features": X, "item_features": Z, "client": Cluster(clients(2), shards=SHARDS)}
    by_weights = model(users=Side(cold="weights"), max_iter=2).fit(PAIRS, **given)
    assert by_weights.fold_in_users(features=X[:2]) == pytest.approx(X[:2] @ by_weights.user_feature_weights_)
    there = model(max_iter=2).fit(PAIRS, **given)
    busy = PAIRS.sum(axis=1) > 0
    closed = ColdFactors.of(X[busy], there.user_factors_[busy], there.item_factors_, "linear", n_threads=1)
    assert there.fold_in_users(features=X[:2]) == pytest.approx(closed(X[:2], n_threads=1))
    items, _ = there.recommend(features=X[:5], n=3)
    assert items.shape == (5, 3)


def test_a_training_with_features_goes_on_from_its_checkpoint(clients, tmp_path):
    cluster = Cluster(clients(2), shards=SHARDS)
    whole = model(max_iter=5).fit(PAIRS, user_features=X, item_features=Z, client=cluster)
    keep = ShardCheckpoint(tmp_path / "run", every=3)
    model(max_iter=3).fit(PAIRS, user_features=X, item_features=Z, client=cluster, callbacks=[keep])
    again = model(max_iter=5).fit(PAIRS, user_features=X, item_features=Z, client=cluster, callbacks=[keep])
    assert np.array_equal(whole.user_factors_, again.user_factors_)
    assert np.array_equal(whole.user_feature_weights_, again.user_feature_weights_)
    with pytest.raises(ValueError, match="another training"):
        model(max_iter=5).fit(PAIRS, user_features=X + 1, item_features=Z, client=cluster, callbacks=[keep])


def test_what_is_not_done_there(clients):
    with pytest.raises(ValueError, match="no graphs"):
        model().fit(PAIRS, user_graph=sp.eye_array(USERS), client=clients(2))
    with pytest.raises(ValueError, match="user_features"):
        model().fit(PAIRS, user_features=X[:-1], client=clients(2))


def test_collinear_features_without_a_ridge(clients):
    groups = np.eye(3)[np.arange(USERS) % 3]
    collinear = np.hstack([groups, np.ones((USERS, 1))])
    parameters = {"users": Side(feature_reg=0.0), "dtype": "float32", "max_iter": 6}
    alone = model(**parameters).fit(PAIRS, user_features=collinear)
    there = model(**parameters).fit(PAIRS, user_features=collinear, client=Cluster(clients(2), shards=SHARDS))
    assert there.objective_ < alone.objective_ * 1.01
    assert np.abs(there.user_feature_weights_).max() < 100
