"""A warm start: the strongest part of what was learnt, at any rank."""

import numpy as np
import pytest

from everypair import ItemItem, OneClassMF, SubsampledMF
from everypair.training.start import principal_axes

MATRIX = (np.random.default_rng(0).random((40, 30)) < np.kron(np.eye(2), np.ones((20, 15))) * 0.5 + 0.1).astype(float)


def model(**changed):
    return OneClassMF(**{"rank": 6, "random_state": 0, "n_threads": 1, "dtype": "float64", "tol": 1e-9} | changed)


def test_principal_axes_are_the_best_of_every_rank():
    random = np.random.default_rng(1)
    U, V = random.standard_normal((9, 4)), random.standard_normal((7, 4))
    axes = principal_axes(U, V)
    _, S, Bt = np.linalg.svd(U @ V.T)
    assert np.abs(axes.T @ axes) == pytest.approx(np.diag(S[:4]), abs=1e-10)
    for rank in (1, 2, 4):
        best = Bt[:rank].T @ Bt[:rank]
        own = axes[:, :rank] @ np.linalg.pinv(axes[:, :rank])
        assert own == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("kind", [OneClassMF, SubsampledMF])
def test_where_training_ended_it_has_little_left_to_do(kind):
    options = {"rank": 6, "random_state": 1, "n_threads": 1, "dtype": "float64", "max_iter": 200, "tol": 1e-7}
    cold = kind(**options).fit(MATRIX)
    warm = kind(**options).fit(MATRIX, start=cold)
    assert warm.n_iter_ < cold.n_iter_ / 2
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-4)
    assert warm.history_[0]["objective"] < cold.history_[2]["objective"]


@pytest.mark.parametrize("rank", [2, 6, 10])
@pytest.mark.parametrize("biases", [False, True])
def test_any_rank_is_a_better_start_than_none(rank, biases):
    learnt = model(biases=biases).fit(MATRIX)
    cold = model(rank=rank, max_iter=1).fit(MATRIX)
    warm = model(rank=rank, max_iter=1).fit(MATRIX, start=learnt)
    assert warm.user_factors_.shape == (40, rank)
    assert warm.objective_ < cold.objective_


def test_a_side_with_features_starts_at_random():
    features = np.repeat(np.eye(2), 15, axis=0)
    learnt = model().fit(MATRIX)
    cold, warm = (model(max_iter=2).fit(MATRIX, item_features=features, start=start) for start in (None, learnt))
    assert np.array_equal(cold.item_factors_, warm.item_factors_)


def test_what_is_no_start():
    with pytest.raises(TypeError, match="start must be a fitted model with factors, got ItemItem"):
        model().fit(MATRIX, start=ItemItem().fit(MATRIX))
    with pytest.raises(TypeError, match="start must be a fitted model"):
        model().fit(MATRIX, start=model())
    with pytest.raises(ValueError, match=r"fitted on 40 × 30 entities, interactions have 40 × 29"):
        model().fit(MATRIX[:, :29], start=model().fit(MATRIX))
