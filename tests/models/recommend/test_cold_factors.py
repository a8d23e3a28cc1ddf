"""Factors of those without events in closed form: the documented formulas by brute force, on either side, by file."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import OneClassMF, Side, SubsampledMF, load
from everypair.models.recommend import cold
from everypair.testing import block_matrix, group_of
from everypair.testing.journey import from_json_and_arrays

RANDOM = np.random.default_rng(0)
LIKES = (RANDOM.random((50, 40)) < 0.15) * 1.0
LIKES[:, 7] = LIKES[4] = 0  # nobody has it, and somebody has nothing
WORDS = RANDOM.poisson(0.4, (40, 15)) * 1.0
AGES = RANDOM.normal(size=(50, 4))
FEW = {"rank": 4, "random_state": 0, "dtype": "float64"}


def fitted(kind="linear", form=sp.csr_array, model=OneClassMF, **options):
    sides = {"users": Side(cold=kind), "items": Side(cold=kind)}
    return model(**{**FEW, **sides, **options}).fit(LIKES, user_features=AGES, item_features=form(WORDS))


def scaled_words(X, training, weights=1.0):
    idf = 1 + np.log((1 + len(training)) / (1 + (training != 0).sum(axis=0)))
    rows = X * idf**0.5 * weights
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


def scaled_ages(X, training, weights=1.0):
    return (X - training.mean(axis=0)) / (training.std(axis=0) * np.sqrt(X.shape[1])) * weights


def left_out_errors(A, T, ridge):
    """Every row predicted by the ridge regression on all others, one after the other."""
    total = 0.0
    for i in range(len(A)):
        others = np.arange(len(A)) != i
        W = np.linalg.solve(A[others].T @ A[others] + ridge * np.eye(A.shape[1]), A[others].T @ T[others])
        total += ((T[i] - A[i] @ W) ** 2).sum()
    return total


def by_hand(kind, scale, X, training, V, U):
    """v(x) as the module's docstring writes it."""
    mean = V.mean(axis=0)
    A = scale(training, training)
    values, vectors = np.linalg.eigh(U.T @ U)
    told = (V - mean) @ (vectors * np.sqrt(values)) @ vectors.T
    errors = {ridge: left_out_errors(A, told, ridge) for ridge in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
    ridge = min(errors, key=errors.get)
    if kind == "linear":
        return mean + scale(X, training) @ np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), A.T @ (V - mean))
    W = np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), A.T @ told)
    weights = np.linalg.norm(W, axis=1) ** 0.5
    weights /= np.sqrt((weights**2).mean())
    A, a = scale(training, training, weights), scale(X, training, weights)

    def kernel(one, other):
        return np.exp(-((one[:, None] - other[None]) ** 2).sum(axis=-1))

    return mean + kernel(a, A) @ np.linalg.solve(kernel(A, A) + 0.3 * np.eye(len(A)), V - mean)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_factors_are_the_documented_formula_on_both_sides(kind, form):
    model = fitted(kind, form)
    plain = fitted("weights", form)
    some, any_age = RANDOM.poisson(0.4, (300, 15)) * 1.0, RANDOM.normal(size=(5, 4))
    known = np.arange(40) != 7
    expected = by_hand(kind, scaled_words, some, WORDS[known], plain.item_factors_[known], plain.user_factors_)
    np.testing.assert_allclose(model.fold_in_items(features=form(some)), expected, atol=1e-9)
    busy = np.arange(50) != 4
    expected = by_hand(kind, scaled_ages, any_age, AGES[busy], plain.user_factors_[busy], plain.item_factors_)
    np.testing.assert_allclose(model.fold_in_users(features=any_age), expected, atol=1e-9)
    np.testing.assert_allclose(model.score_users(features=any_age), expected @ model.item_factors_.T, atol=1e-9)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_those_who_were_there_without_events_are_newcomers_too(kind):
    model, plain = fitted(kind), fitted("weights")
    known, busy = np.arange(40) != 7, np.arange(50) != 4
    assert np.array_equal(model.item_factors_[known], plain.item_factors_[known])
    assert np.array_equal(model.user_factors_[busy], plain.user_factors_[busy])
    np.testing.assert_allclose(model.item_factors_[[7]], model.fold_in_items(features=sp.csr_array(WORDS[[7]])))
    np.testing.assert_allclose(model.user_factors_[[4]], model.fold_in_users(features=AGES[[4]]))
    assert np.abs(model.item_factors_[7] - plain.item_factors_[7]).max() > 1e-3
    friends = (RANDOM.random((50, 50)) < 0.1) * 1.0  # who has friends is like them
    followed = OneClassMF(**FEW).fit(LIKES, user_features=AGES, user_graph=friends)
    apart = OneClassMF(**FEW, users=Side(cold="weights")).fit(LIKES, user_features=AGES, user_graph=friends)
    assert np.array_equal(followed.user_factors_, apart.user_factors_)


def test_events_are_answered_by_training_s_own_problem():
    busy = np.maximum(LIKES, np.eye(50, 40) + np.eye(50, 40, -40))  # everybody has something, somebody has everything
    given = {"user_features": AGES, "item_features": WORDS}
    model = OneClassMF(**FEW).fit(busy, **given)
    plain = OneClassMF(**FEW, users=Side(cold="weights"), items=Side(cold="weights")).fit(busy, **given)
    for one, other in (
        (model.user_factors_, plain.user_factors_),
        (model.item_factors_, plain.item_factors_),
        (model.fold_in_users(busy[:3]), plain.fold_in_users(busy[:3])),
        (model.fold_in_items(busy[:, :3], features=WORDS[:3]), plain.fold_in_items(busy[:, :3], features=WORDS[:3])),
    ):
        assert np.array_equal(one, other)
    W = model.user_feature_weights_
    np.testing.assert_array_equal(W, plain.user_feature_weights_)
    np.testing.assert_allclose(plain.fold_in_users(features=AGES[:2]), AGES[:2] @ W, atol=1e-12)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_bits_on_any_threads_alone_and_in_company(kind, dtype):
    many = RANDOM.poisson(0.4, (700, 15)) * 1.0
    one, two = (fitted(kind, dtype=dtype, n_threads=threads) for threads in (1, 2))
    expected = one.fold_in_items(features=sp.csr_array(many))
    assert expected.dtype == dtype
    assert np.array_equal(two.fold_in_items(features=sp.csr_array(many)), expected)
    for rows in ([5], [699, 5, 3], range(100, 400)):
        assert np.array_equal(one.fold_in_items(features=sp.csr_array(many[rows])), expected[rows])
    ages = RANDOM.normal(size=(300, 4))
    expected = one.fold_in_users(features=ages)
    for rows in ([5], [299, 5], range(100, 290)):
        assert np.array_equal(two.fold_in_users(features=ages[rows]), expected[rows])


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_parts_and_files(kind, tmp_path):
    model = fitted(kind)
    model.save(tmp_path / "model.ep", serve_only=True)
    for again in (from_json_and_arrays(model), load(tmp_path / "model.ep")):
        assert np.array_equal(again.fold_in_items(features=WORDS[:3]), model.fold_in_items(features=WORDS[:3]))
        assert np.array_equal(again.recommend(features=AGES[:3])[0], model.recommend(features=AGES[:3])[0])
    values, arrays = model.to_parts()
    for name in [name for name in arrays if "cold" in name and name.endswith(("weights", "mean"))]:
        with pytest.raises(ValueError, match="must be an array of shape"):
            OneClassMF.from_parts(values, {**arrays, name: arrays[name][:-1]})


def test_biases_and_sampled_negatives():
    model = fitted(biases=True)
    items = model.fold_in_items(features=WORDS[:3])
    np.testing.assert_allclose(items[:, 4], 1, atol=1e-12)  # the constant that stands for users' biases
    users = model.fold_in_users(features=AGES[:3])
    np.testing.assert_allclose(users[:, 5], 1, atol=1e-12)
    sampled = fitted(model=SubsampledMF, max_iter=3)
    assert sampled.state_.cold[0] is not None
    assert np.isfinite(sampled.score_users(features=AGES[:2])).all()


def test_newcomers_are_found_by_their_group():
    matrix, _ = block_matrix()
    groups = np.eye(3)[group_of(np.arange(21), side=1)]
    for kind in ("linear", "kernel"):
        model = OneClassMF(rank=3, random_state=0, items=Side(cold=kind)).fit(matrix, item_features=groups)
        assert model.add_items(features=np.eye(3)).tolist() == [21, 22, 23]
        scores = model.score_users()[:, 21:]
        assert (np.argmax(scores, axis=1) == group_of(np.arange(44), side=0)).mean() == 1


def test_what_cannot_be_done_is_said(monkeypatch):
    with pytest.raises(ValueError, match="cold must be one of 'linear', 'kernel', 'weights'"):
        Side(cold="warm")
    monkeypatch.setattr(cold, "KERNEL_ROWS", 10)
    with pytest.raises(ValueError, match=r'compares every two that have events, and there are 49: up to 10.*"linear"'):
        fitted("kernel")
    alone = np.zeros((3, 4))
    alone[0, 1] = 1  # one event teaches nothing about features: XW stays
    model = OneClassMF(rank=1, random_state=0).fit(alone, item_features=np.eye(4))
    assert model.state_.cold == (None, None)
    own = OneClassMF(**FEW, items=Side(own_vectors=False)).fit(LIKES, item_features=WORDS)
    assert own.state_.cold == (None, None)
    np.testing.assert_allclose(own.fold_in_items(features=WORDS), own.item_factors_, atol=1e-12)
