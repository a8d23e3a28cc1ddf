"""weigh_dislikes: a share of the negative weight that the model itself would use."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import OneClassMF
from everypair.data import read_events
from everypair.evaluate import ranking_metrics
from everypair.models.recommend.dislikes import DISLIKE_SHARE, weigh_dislikes
from everypair.problem.losses import LOSSES

RANDOM = np.random.default_rng(0)
SIGNS = np.where(RANDOM.random((30, 20)) < 0.3, RANDOM.choice([1.0, 2.0, -1.0, -0.5], size=(30, 20)), 0.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_dislikes_follow_the_models_own_negative_weight(loss, kind):
    weighed = weigh_dislikes(kind(SIGNS), loss)
    used = OneClassMF(rank=2, loss=loss, max_iter=1).fit(weighed).negative_weight_
    expected = np.where(SIGNS > 0, SIGNS, DISLIKE_SHARE * used * SIGNS)
    assert weighed.toarray() == pytest.approx(expected, rel=1e-6)
    assert used == OneClassMF(rank=2, loss=loss, max_iter=1).fit(np.maximum(SIGNS, 0)).negative_weight_


def test_a_weight_of_ones_own():
    weighed = weigh_dislikes(SIGNS, negative_weight=0.4).toarray()
    assert weighed[SIGNS < 0] == pytest.approx(0.12 * SIGNS[SIGNS < 0])
    assert weigh_dislikes(np.maximum(SIGNS, 0)).toarray() == pytest.approx(np.maximum(SIGNS, 0))


def test_events_stay_events():
    rows, columns = np.nonzero(SIGNS)
    table = {"user": rows, "item": columns, "weight": SIGNS[rows, columns]}
    events = read_events(table, weight="weight", verbose=False)
    weighed = weigh_dislikes(events)
    assert weighed.user_ids == events.user_ids
    assert weighed.matrix.toarray() == pytest.approx(weigh_dislikes(events.matrix).toarray(), rel=1e-6)
    OneClassMF(rank=2, max_iter=1).fit(weighed).recommend([0])


def test_what_is_refused():
    with pytest.raises(ValueError, match="negative_weight is 0"):
        weigh_dislikes(SIGNS, negative_weight=0)
    with pytest.raises(ValueError, match="negative_weight must be"):
        weigh_dislikes(SIGNS, negative_weight="small")
    with pytest.raises(ValueError, match="no positive entry"):
        weigh_dislikes(-np.abs(SIGNS))


def test_low_ratings_of_weight_one_hurt_where_people_choose_what_they_rate():
    """Users rate what is near their taste, low ratings included: strong dislikes push their taste away."""
    random = np.random.default_rng(1)
    taste = np.kron(np.eye(6), np.ones((40, 15)))
    rated = random.random(taste.shape) < 0.02 + 0.3 * taste
    liked = random.random(taste.shape) < 0.3 + 0.3 * taste
    held = random.random(taste.shape) < 0.2
    signs = np.where(rated & ~held, np.where(liked, 1.0, -1.0), 0.0)
    test = (rated & held & liked).astype(float)

    def quality(matrix):
        return ranking_metrics(OneClassMF(rank=8, random_state=0).fit(matrix), signs, test)["ndcg@10"]

    gentle, strong, none = quality(weigh_dislikes(signs)), quality(signs), quality(np.maximum(signs, 0))
    assert gentle > strong + 0.05
    assert gentle > none - 0.01
