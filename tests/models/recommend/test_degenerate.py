"""Data at its limits: every factor stays finite, training says how it ended, and the answers make sense."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from everypair import OneClassMF
from everypair.problem.losses import LOSSES
from everypair.problem.negatives import Negatives
from everypair.solvers.loop import Status
from everypair.testing import block_matrix

pytestmark = pytest.mark.parametrize("loss", LOSSES)
ENDED_WELL = (Status.CONVERGED, Status.MAX_ITER)


def popular(seed=0):
    """Independent likes with popularity as a power law."""
    chances = 0.8 * np.arange(1, 61) ** -0.7
    return (np.random.default_rng(seed).random((300, 60)) < chances).astype(float)


def fit(matrix, loss, **params):
    model = OneClassMF(**{"rank": 3, "loss": loss, "random_state": 0, **params}).fit(matrix)
    assert np.isfinite(model.user_factors_).all()
    assert np.isfinite(model.item_factors_).all()
    assert np.isfinite(model.objective_)
    objectives = np.array([sweep["objective"] for sweep in model.history_])
    assert (objectives[1:] <= objectives[:-1] + 1e-6 * np.abs(objectives[:-1])).all()
    assert model.status_ in ENDED_WELL, model.status_
    return model


@pytest.mark.parametrize("biases", [False, True])
def test_a_user_without_events_is_shown_what_is_popular(loss, biases):
    ranks, common = [], []
    for seed in range(5):
        matrix = popular(seed)
        matrix[7] = 0
        model = fit(matrix, loss, biases=biases)
        counts = matrix.sum(axis=0)
        for scores in (model.score_users([7])[0], model.score_users(interactions=np.zeros((1, 60)))[0]):
            assert np.isfinite(scores).all()
            if loss == "squared" and not biases:  # all its negatives are pulled to 0, and 0 they are: nobody's noise
                np.testing.assert_allclose(scores, 0, atol=1e-6)
                return
            ranks.append(spearmanr(scores, counts).statistic)
            common.append(len(set(np.argsort(-scores)[:10]) & set(np.argsort(-counts)[:10])))
    assert np.mean(ranks) > 0.65
    assert np.mean(common) >= 7


@pytest.mark.parametrize("biases", [False, True])
def test_an_item_never_seen_comes_last(loss, biases):
    matrix = popular()
    matrix[:, 4] = 0
    model = fit(matrix, loss, biases=biases)
    mean = model.score_users().mean(axis=0)
    assert mean.argmin() == 4
    folded = model.user_factors_ @ model.fold_in_items(np.zeros((300, 1)))[0]
    assert np.isfinite(folded).all()
    assert folded.mean() < np.delete(mean, 4).min()


def test_a_user_with_every_item_has_nothing_left(loss):
    matrix, held_out = block_matrix()
    matrix[0] = 1
    model = fit(matrix, loss)
    items, scores = model.recommend([0], n=3)
    assert items.tolist() == [[-1, -1, -1]]
    assert np.isneginf(scores).all()
    others = model.recommend(n=1)[0][:, 0]
    assert (others[1:] == held_out[1:]).mean() > 0.95
    outside = np.r_[8:21]  # his scores of other groups' items are above those of his old group
    assert model.score_users([0])[0, outside].min() > model.score_users([1])[0, outside].max()


def test_an_item_of_every_user_under_every_scheme(loss):
    matrix, held_out = block_matrix()
    matrix = np.hstack([matrix, np.ones((44, 1))])
    for scheme in ("uniform", "user-count", "item-rarity", ("item-count", 0.5)):
        model = fit(matrix, loss, negative_scheme=scheme, rank=4)
        assert (model.recommend(n=1)[0][:, 0] == held_out).mean() > 0.95
        assert model.score_users()[:, 21].min() > 0


def test_one_column(loss):
    matrix = np.r_[np.ones(5), np.zeros(4)][:, None]
    model = fit(matrix, loss)
    scores = model.score_users()[:, 0]
    assert scores[:5].min() > scores[5:].max()
    items, padding = model.recommend(n=2)
    assert items.tolist() == [[-1, -1]] * 5 + [[0, -1]] * 4
    assert np.isneginf(padding[:, 1]).all()
    assert model.similar_items([0], n=1)[0].tolist() == [[-1]]


def test_one_row(loss):
    model = fit(np.r_[np.ones(5), np.zeros(4)][None, :], loss)
    scores = model.score_users()[0]
    assert scores[:5].min() > scores[5:].max()
    assert model.recommend(n=4)[0].min() >= 5


def test_one_pair_of_one_user_and_one_item(loss):
    model = fit([[2.0]], loss, rank=1)
    assert model.score_pairs(0, 0)[0] >= 0
    assert model.recommend(0, n=1)[0].tolist() == [[-1]]


def test_weights_equal_to_those_of_the_negatives(loss):
    pattern, held_out = block_matrix()
    p, q = np.linspace(0.5, 1.5, 44), np.linspace(1.5, 0.5, 21)
    matrix = pattern * np.outer(p, q)  # the squared loss has no curvature left to correct on stored pairs
    model = fit(matrix, loss, negative_scheme=(p, q), negative_weight=1.0, reg=0.1)
    assert isinstance(model.negatives_, Negatives)
    np.testing.assert_allclose(np.outer(model.negatives_.left, model.negatives_.right), np.outer(p, q), rtol=1e-12)
    assert (model.recommend(n=1)[0][:, 0] == held_out).mean() > 0.95


def test_rank_above_the_number_of_items(loss):
    matrix = np.kron(np.eye(2), np.ones((6, 1)))  # 12 users, 2 items
    model = fit(matrix, loss, rank=4)
    scores = model.score_users()
    assert np.array_equal(scores.argmax(axis=1), matrix.argmax(axis=1))
    assert model.fold_in_users(matrix).shape == (12, 4)
    assert fit(matrix.T, loss, rank=4).user_factors_.shape == (2, 4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("biases", [False, True])
def test_a_weight_of_a_million(loss, biases, dtype):
    matrix, held_out = block_matrix()
    matrix[0, 20] = 1e6
    model = fit(matrix, loss, biases=biases, dtype=dtype, max_iter=40)
    assert model.score_pairs(0, 20)[0] > 0.9
    others = model.recommend(n=1)[0][:, 0]
    assert (others[20:34] == held_out[20:34]).mean() > 0.9  # the group it has nothing to do with
    matrix[0, 20] = -1e6
    disliked = fit(matrix, loss, biases=biases, dtype=dtype, max_iter=40).score_pairs(0, 20)[0]
    assert disliked < (0.05 if loss == "squared" else -0.9)


def test_without_a_ridge_factors_of_rank_one_do_not_lead_astray(loss):
    """All users are alike, so their Gram matrix has rank 1 and rounding alone points into the other directions."""
    matrix = np.ones((200, 100))
    for solver in ("auto", "block", "tron"):
        model = OneClassMF(rank=3, loss=loss, reg=0, solver=solver, random_state=0, max_iter=30).fit(matrix)
        assert abs(model.objective_) < 1e-4 * matrix.size, (solver, model.status_)
        assert model.score_users().min() > 0.99


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_perfect_fit_has_converged_and_what_rounding_does_to_it_is_no_rise(loss, dtype):
    matrix = np.kron(np.eye(2), np.ones((6, 5)))
    for weight in (0.5, 0.0):
        solvers = ("auto", "block", "tron", "als", "cd") if loss == "squared" else ("auto", "block", "tron")
        for solver in solvers:
            options = {"negative_weight": weight, "reg": 0, "solver": solver, "max_iter": 200, "tol": 0}
            model = OneClassMF(rank=2, loss=loss, dtype=dtype, random_state=0, **options).fit(matrix)
            assert model.status_ in ENDED_WELL, (solver, weight, model.status_)
            assert abs(model.objective_) < (0.1 if loss == "logistic" else 1e-3), (solver, weight)
