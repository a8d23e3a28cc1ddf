"""Held-out positives user by user: the values of ranking_metrics, any number of models at once, drawn users."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.metrics import HeldOut, stream_metrics
from everypair.metrics.per_row import average_rows, ndcg, rows_error


def problem(users=60, items=25):
    random = np.random.default_rng(3)
    kind = random.random((users, items))
    return random.standard_normal(kind.shape), sp.csr_array(kind < 0.3), sp.csr_array(kind > 0.9)


SCORES, TRAIN, TEST = problem()


@pytest.mark.parametrize("metric", ["ndcg@10", "recall@5", "map", "auc"])
def test_means_and_errors_are_those_of_all_users_together(metric):
    values = HeldOut(TRAIN, TEST).values(metric, lambda users: SCORES[users])
    together = stream_metrics(lambda rows: SCORES[rows], TRAIN, TEST, ks=[5, 10])
    assert average_rows(values) == together[metric]
    assert rows_error(values) == together.standard_errors[metric]


def test_several_models_at_once_are_each_by_itself(monkeypatch):
    monkeypatch.setattr("everypair.metrics.held_out.MEMORY_MB", 0.001)  # many small blocks
    held_out = HeldOut(TRAIN, TEST)
    signs = (1.0, -1.0, 0.5)
    rankings = held_out.rankings(lambda users: (sign * SCORES[users] for sign in signs), len(signs))
    for sign, ranking in zip(signs, rankings):
        alone = held_out.values("ndcg@10", lambda users, sign=sign: sign * SCORES[users])
        assert np.array_equal(ndcg(ranking, 10), alone)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        held_out.rankings(lambda users: [SCORES[users]], 2)


def test_users_are_those_with_positives_or_some_of_them(monkeypatch):
    everybody = np.flatnonzero(TEST.sum(axis=1))
    assert np.array_equal(HeldOut(TRAIN, TEST).users, everybody)
    monkeypatch.setattr("everypair.metrics.held_out.MOST_USERS", 10)
    drawn = HeldOut(TRAIN, TEST, random_state=1)
    assert len(drawn.users) == 10
    assert set(drawn.users) <= set(everybody)
    assert np.all(np.diff(drawn.users) > 0)
    assert np.array_equal(drawn.users, HeldOut(TRAIN, TEST, random_state=1).users)
    assert not np.array_equal(drawn.users, HeldOut(TRAIN, TEST, random_state=2).users)
    chosen = HeldOut(TRAIN, TEST, everybody[[0, 3]])
    both = HeldOut(TRAIN, TEST, everybody).values("auc", lambda users: SCORES[users])
    assert np.array_equal(chosen.values("auc", lambda users: SCORES[users]), both[[0, 3]])


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match="no user has it alone"):
        HeldOut(TRAIN, TEST).values("coverage@10", lambda users: SCORES[users])
    with pytest.raises(ValueError, match="stored in train and positive in held-out entries"):
        HeldOut(TRAIN + TEST, TEST)
