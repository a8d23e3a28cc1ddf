"""explain: a score is a base and what each stored pair adds; the base is what a user without pairs would have."""

from dataclasses import replace

import numpy as np
import pytest

from everypair import OneClassMF
from everypair.problem.losses import LOSSES, get_loss
from everypair.testing import block_matrix

OWN, OTHER = np.linspace(-2, 1, 88).reshape(44, 2), np.linspace(-1, 1, 42).reshape(21, 2)
OPTIONS = {
    "plain": {},
    "biases": {"biases": True},
    "low-rank": {"negative_value": (OWN, OTHER)},
    "low-rank-biases": {"negative_value": (OWN, OTHER), "biases": True},
    "user-count": {"negative_scheme": "user-count"},
    "arrays": {"negative_scheme": (np.linspace(0.5, 2, 44), np.linspace(2, 0.1, 21))},
}


def interactions():
    matrix, _ = block_matrix()
    matrix *= np.random.default_rng(0).uniform(0.5, 2, matrix.shape)
    matrix[3, 20] = matrix[3, 9] = -1.5
    return matrix


def fitted(loss, options, matrix, targets=None):
    """A model whose users stand at the optimum of their sub-problems."""
    model = OneClassMF(rank=3, loss=loss, random_state=0, dtype="float64", max_iter=6, **options)
    model.fit(matrix, targets=targets)
    extra = {"weights": model.negatives_.left}
    if "negative_value" in options:
        extra["values"] = OWN
    if targets is None:
        model.state_ = replace(model.state_, user_factors=model.fold_in_users(matrix, **extra))
    return model


def by_hand(model, matrix, user, item):
    """Base and contributions from the definition: u = A⁻¹(p Σ_j q_j (ỹ_j − fixed_j) v_j − Σ_Ω r_j v_j), all dense."""
    loss, rank = get_loss(model.loss), model.rank
    right = model.item_factors_
    fixed = right[:, rank + 1] if model.biases else np.zeros(len(right))
    learnt = right[:, : rank + 1] if model.biases else right
    p, q = model.negatives_.left[user], model.negatives_.right
    value = OWN[user] @ OTHER.T if isinstance(model.negative_value, tuple) else np.full(21, loss.negative_value)
    total = np.abs(matrix[user]).sum() + p * q.sum()
    system = p * (learnt.T * q) @ learnt + model.reg_[0] * total**model.reg_exponent * np.eye(learnt.shape[1])
    without = np.linalg.solve(system, p * learnt.T @ (q * (value - fixed)))
    stored = np.flatnonzero(matrix[user])
    scores = right[stored] @ model.user_factors_[user]
    targets = np.where(matrix[user, stored] > 0, 1.0, loss.dislike_target)
    slopes = np.abs(matrix[user, stored]) * loss.slope(targets, scores) - p * q[stored] * (scores - value[stored])
    shares = -slopes * (learnt[stored] @ np.linalg.solve(system, learnt[item]))
    return without @ learnt[item] + fixed[item], dict(zip(stored.tolist(), shares))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_base_and_contributions_make_the_score(loss, options):
    matrix = interactions()
    model = fitted(loss, options, matrix)
    for user, item in ((0, 0), (3, 20), (3, 7), (25, 3), (43, 20)):
        explained = model.explain(user, item)
        base, shares = by_hand(model, matrix, user, item)
        assert explained.score == pytest.approx(model.score_pairs(user, item)[0], abs=1e-12)
        assert explained.base + explained.contributions.sum() == pytest.approx(explained.score, abs=1e-12)
        assert explained.base == pytest.approx(base, abs=1e-7)  # what is left when every pair counts as negative
        assert sorted(explained.items.tolist()) == sorted(shares)
        expected = [shares[stored] for stored in explained.items.tolist()]
        np.testing.assert_allclose(explained.contributions, expected, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_a_model_as_trained_left_unsolved_is_in_the_base(loss):
    matrix = interactions()
    for dtype, close in (("float32", 1e-5), ("float64", 1e-12)):
        model = OneClassMF(rank=3, loss=loss, random_state=0, dtype=dtype, max_iter=2).fit(matrix)
        explained = model.explain(3, 7)
        optimal, _ = by_hand(model, matrix, 3, 7)
        assert explained.base + explained.contributions.sum() == pytest.approx(explained.score, abs=close)
        assert abs(explained.base - optimal) > 10 * close
        assert explained.score == pytest.approx(model.score_users([3])[0, 7], abs=10 * close)


@pytest.mark.parametrize("loss", LOSSES)
def test_likes_of_the_group_speak_for_an_item_and_a_dislike_against_it(loss):
    matrix, held_out = block_matrix()
    matrix[0, 20] = -1
    model = fitted(loss, {"negative_weight": 0.05}, matrix)
    explained = model.explain(0, held_out[0])
    likes = explained.items < 8
    assert (explained.contributions[likes] > 0).all()
    assert explained.contributions[likes].sum() > np.abs(explained.contributions[~likes]).sum()
    against = model.explain(0, 20)
    own = against.contributions[against.items == 20][0]
    assert own < (0.001 if loss == "squared" else 0)  # the squared loss asks for 0, which other groups' items have


def test_explicit_targets_are_the_ones_explained():
    matrix, _ = block_matrix()
    targets = 3.0 * matrix
    high = fitted("squared", {}, matrix, targets).explain(0, 0)
    low = fitted("squared", {}, matrix).explain(0, 0)
    assert high.score > 2 * low.score
    assert high.contributions.sum() > 2 * low.contributions.sum()


def test_largest_contributions_come_first_and_may_be_cut():
    model = fitted("logistic", {}, interactions())
    everything = model.explain(3, 7)
    sizes = np.abs(everything.contributions)
    assert (np.diff(sizes) <= 0).all()
    three = model.explain(3, 7, n=3)
    assert three.items.tolist() == everything.items[:3].tolist()
    assert (three.score, three.base) == (everything.score, everything.base)


def test_a_user_without_pairs_has_nothing_but_a_base():
    model = OneClassMF(rank=3, random_state=0).fit(np.vstack([block_matrix()[0], np.zeros(21)]))
    explained = model.explain(44, 5)
    assert len(explained.items) == len(explained.contributions) == 0
    assert explained.base == explained.score


def test_unknown_pairs_are_refused():
    model = fitted("logistic", {}, interactions())
    with pytest.raises(ValueError, match="user 44 is unknown"):
        model.explain(44, 0)
    with pytest.raises(ValueError, match="item 21 is unknown"):
        model.explain(0, 21)
    with pytest.raises(TypeError, match="integer positions"):
        model.explain("anna", 0)
    for n in (0, 1.5, True, "three"):
        with pytest.raises(ValueError, match="n must be an integer ≥ 1"):
            model.explain(0, 0, n=n)


@pytest.mark.parametrize("pair", [([0, 1], 0), (0, [0, 1]), ([], 0)])
def test_one_pair_at_a_time(pair):
    with pytest.raises((ValueError, TypeError), match=r"one (user|item|pair)"):
        fitted("logistic", {}, interactions()).explain(*pair)
