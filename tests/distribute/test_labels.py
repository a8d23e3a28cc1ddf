"""MultiLabelMF on a cluster: what one machine learns, from rows in shards."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import MultiLabelMF
from everypair.distribute import Cluster

random = np.random.default_rng(0)
ROWS, FEATURES, LABELS = 2600, 40, 30
X = sp.random_array((ROWS, FEATURES), density=0.2, rng=random, format="csr")
SCORES = X @ random.standard_normal((FEATURES, 5)) @ random.standard_normal((5, LABELS))
Y = sp.csr_array((np.quantile(SCORES, 0.95) < SCORES).astype(np.int8))


def model(**parameters):
    defaults = {"rank": 6, "random_state": 0, "reg": 0.3, "threshold": 0.4, "max_iter": 6, "dtype": "float64"}
    return MultiLabelMF(**{**defaults, **parameters})


@pytest.mark.parametrize("parameters", [{}, {"loss": "squared"}, {"unlabeled": "missing"}])
def test_the_model_of_one_machine(parameters, clients):
    truth = Y
    if parameters.get("unlabeled") == "missing":  # zeros that are known are written out, others are unknown
        truth = Y.toarray().astype(float)
        truth[random.random(truth.shape) < 0.7] = np.nan
    alone = model(**parameters).fit(X, truth)
    there = model(**parameters).fit(X, truth, client=Cluster(clients(2), shards=(2, 1)))
    assert there.objective_ < alone.objective_ * 1.01
    assert there.history_[-1]["objective"] <= there.history_[0]["objective"]
    agreement = np.corrcoef(there.predict_scores(X[:300]).ravel(), alone.predict_scores(X[:300]).ravel())[0, 1]
    assert agreement > 0.98


def test_defaults_find_ridge_and_threshold_here(clients):
    alone = MultiLabelMF(random_state=0).fit(X, Y)
    there = MultiLabelMF(random_state=0).fit(X, Y, client=clients(2))
    assert there.reg_ == alone.reg_
    assert there.threshold_ == pytest.approx(alone.threshold_)
    assert (there.predict(X) != alone.predict(X)).mean() < 0.01


def test_weights_validation_and_the_same_bits(clients):
    weights = random.uniform(0.5, 2.0, ROWS)
    one, other = (
        model(max_iter=3).fit(
            X, Y, sample_weight=weights, validation=(X[:200], Y[:200]), client=Cluster(clients(n), shards=(2, 1))
        )
        for n in (1, 2)
    )
    assert np.array_equal(one.feature_weights_, other.feature_weights_)
    assert np.array_equal(one.label_factors_, other.label_factors_)
    assert one.history_[-1]["precision@1"] == other.history_[-1]["precision@1"] > 0.5


def test_what_is_not_done_there(clients):
    with pytest.raises(ValueError, match='Set negative_loss="squared"'):
        model(negative_loss="same").fit(X, Y, client=clients(2))
    with pytest.raises(ValueError, match='solver must be "auto" or "tron"'):
        model(solver="gradient").fit(X, Y, client=clients(2))
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client"):
        model().fit(X, Y, client=3)
