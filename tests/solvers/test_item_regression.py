"""The item–item regression equals least squares over all m·n pairs, and EASE's closed form with all neighbours."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.problem.item_gram import ItemGram
from everypair.solvers import item_regression
from everypair.solvers.item_regression import ItemRidge, closed_form, closed_form_by_users, imputed, regress


def problem(seed=0):
    random = np.random.default_rng(seed)
    values = random.uniform(0.5, 2.0, (50, 18)) * (random.random((50, 18)) < 0.35)
    values *= np.where(random.random(values.shape) < 0.15, -1, 1)
    values[:, 4] = 0
    return values, random.uniform(0.2, 2.0, 50)


def every_pair(values, weights, support, ridge, negative_weight):
    """One row per pair (i, j), one column per free coefficient (l, j), ridge rows below: solved by lstsq."""
    m, n = values.shape
    signs = np.sign(values)
    free = [(l, j) for j in range(n) for l in support[j]]
    rows, targets = np.zeros((m * n + len(free), len(free))), np.zeros(m * n + len(free))
    for i in range(m):
        for j in range(n):
            w = weights[i] * (abs(values[i, j]) if values[i, j] else negative_weight)
            targets[i * n + j] = np.sqrt(w) * (values[i, j] > 0)
            for place, (l, column) in enumerate(free):
                if column == j:
                    rows[i * n + j, place] = np.sqrt(w) * signs[i, l]
    for place, (l, _) in enumerate(free):
        rows[m * n + place, place] = np.sqrt(ridge[l])
    solution = np.linalg.lstsq(rows, targets, rcond=None)[0]
    out = np.zeros((n, n))
    for value, (l, j) in zip(solution, free):
        out[l, j] = value
    return out


@pytest.mark.parametrize("negative_weight", [1.0, 0.4])
def test_equals_least_squares_over_every_pair(negative_weight):
    values, weights = problem()
    gram = ItemGram.of(sp.csr_array(values), weights)
    ridge = ItemRidge(1.5, 0.7, negative_weight)
    nearest = gram.nearest(6)
    got = regress(gram, nearest, gram.columns, ridge)[gram.label][:, gram.label].toarray()
    support = {j: gram.order[line[line >= 0]] for j, line in zip(gram.order, nearest)}
    penalty = 1.5 + 0.7 * np.diag(gram.dense())
    np.testing.assert_allclose(got, every_pair(values, weights, support, penalty, negative_weight), atol=1e-10)
    assert not np.diag(got).any()
    assert np.count_nonzero(got, axis=0).max() == 6


def test_all_neighbours_are_the_closed_form():
    values = (problem()[0] > 0) * 1.0
    values[:, 4] = np.arange(50) % 2  # no item without events: everything meets everything
    weights = problem()[1]
    gram = ItemGram.of(sp.csr_array(values), weights)
    ridge = ItemRidge(3.0, 0.5, 1.0)
    sparse = regress(gram, gram.nearest(18), gram.columns, ridge)[gram.label][:, gram.label].toarray()
    dense = gram.dense()
    penalty = ridge.of(np.diag(dense))
    inverse = np.linalg.inv(dense + np.diag(penalty))
    expected = -inverse / np.diag(inverse)
    np.fill_diagonal(expected, 0)
    got = closed_form(dense.copy(), penalty)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(sparse, expected, atol=1e-10)
    assert not np.diag(got).any()


def test_closed_form_of_several_blocks():
    random = np.random.default_rng(0)
    roots = random.standard_normal((1100, 1300))
    gram = roots @ roots.T
    inverse = np.linalg.inv(gram + np.diag(np.full(1100, 50.0)))
    expected = -inverse / np.diag(inverse)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(closed_form(gram, np.full(1100, 50.0)), expected, atol=1e-9)


def test_closed_form_by_users_is_the_closed_form():
    random = np.random.default_rng(5)
    likes = (random.random((60, 1100)) < 0.1) * 1.0
    likes[:, 3] = 0
    weights = random.uniform(0.2, 2.0, 60)
    weights[7] = 0
    gram = likes.T @ (weights[:, None] * likes)
    penalty = 2.0 + 0.5 * np.diag(gram)
    got = closed_form_by_users(sp.csr_array(likes), weights, penalty)
    np.testing.assert_allclose(got, closed_form(gram, penalty), atol=1e-12)
    assert not np.diag(got).any()


def test_imputed_columns_are_the_regression_of_a_mean_column():
    values, weights = problem()
    values = (values > 0) * 1.0
    gram = ItemGram.of(sp.csr_array(values), weights)
    ridge = ItemRidge(2.0, 1.0, 1.0)
    nearest = np.array([[9, 5, 2], [7, 3, -1]], np.int32)
    shares = np.array([[0.5, 0.3, 0.2], [0.6, 0.4, 0.0]])
    got = imputed(gram, nearest, shares, ridge).toarray()
    for t in range(2):
        own = nearest[t][nearest[t] >= 0]
        x = values[:, gram.order[own]]
        mean_column = x @ shares[t, : len(own)]
        system = x.T @ (weights[:, None] * x) + np.diag(ridge.of(gram.diagonal)[own])
        expected = np.zeros(18)
        expected[own] = np.linalg.solve(system, x.T @ (weights * mean_column))
        np.testing.assert_allclose(got[:, t], expected, atol=1e-12)


def test_one_and_two_threads_give_the_same_bits():
    random = np.random.default_rng(2)
    matrix = sp.csr_array((random.random((200, 300)) < 0.05) * 1.0)
    gram = ItemGram.of(matrix, np.ones(200), np.float32)
    one, two = (regress(gram, gram.nearest(30), gram.columns, ItemRidge(1.0, 1.0, 1.0), threads) for threads in (1, 2))
    assert np.array_equal(one.data, two.data)
    assert np.array_equal(one.indices, two.indices)


@pytest.mark.parametrize("room", [1, 10_000, 40_000])
def test_how_many_targets_are_taken_together_changes_no_bit(room, monkeypatch):
    random = np.random.default_rng(2)
    matrix = sp.csr_array((random.random((200, 300)) < 0.05) * 1.0)
    gram = ItemGram.of(matrix, np.ones(200), np.float32)
    ridge = ItemRidge(1.0, 1.0, 1.0)
    whole = regress(gram, gram.nearest(30), gram.columns, ridge)
    monkeypatch.setattr(item_regression, "SCRATCH_BYTES", room)
    parts = regress(gram, gram.nearest(30), gram.columns, ridge, n_threads=2)
    assert np.array_equal(whole.data, parts.data)
    assert np.array_equal(whole.indices, parts.indices)


def test_singular_systems_are_refused():
    twins = np.repeat(np.eye(4), 2, axis=1)[:, [0, 1, 0, 1, 2, 3]]
    gram = ItemGram.of(sp.csr_array(twins), np.ones(4))
    with pytest.raises(ValueError, match="singular at this precision: raise reg"):
        regress(gram, gram.nearest(3), gram.columns, ItemRidge(0.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="singular at this precision: raise reg"):
        closed_form(np.ones((3, 3)), np.zeros(3))
    with pytest.raises(ValueError, match="singular at this precision: raise reg"):
        closed_form_by_users(sp.csr_array(np.eye(3, dtype=np.float32)), np.ones(3), np.full(3, 1e-12, np.float32))
