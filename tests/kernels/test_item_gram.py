"""The kernels of the item–item regression beside plain numpy: neighbours, pairs of G, systems, Cholesky, scores."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.cholesky import factorize, substitute
from everypair.kernels.item_gram import count_later, fill_later, nearest_items, regress_columns
from everypair.kernels.score_rows import add_scaled, sparse_scores


def signed(rows=40, columns=25, seed=0, dislikes=True):
    """Weights of likes and dislikes, an item and a user without any, both ways."""
    random = np.random.default_rng(seed)
    values = random.uniform(0.5, 2.0, (rows, columns)) * (random.random((rows, columns)) < 0.3)
    if dislikes:
        values *= np.where(random.random((rows, columns)) < 0.2, -1, 1)
    values[3] = values[:, 5] = 0
    return values, random.uniform(0.2, 2.0, rows)


def both_ways(values):
    by_user, by_item = sp.csr_array(values), sp.csc_array(values)
    rows = by_user.indptr.astype(np.int64), by_user.indices, np.sign(by_user.data)
    columns = by_item.indptr.astype(np.int64), by_item.indices, np.sign(by_item.data)
    return rows, columns, np.abs(by_item.data), by_item.data > 0


def gram_twin(values, weights):
    signs = np.sign(values)
    return signs.T @ (weights[:, None] * signs)


def nearest_twin(gram, item_weights, width):
    out = np.full((len(gram), width), -1)
    for j, column in enumerate(gram.T):
        scores = column * item_weights
        others = [l for l in np.lexsort((np.arange(len(gram)), -scores)) if l != j and scores[l] > 1e-12][:width]
        out[j, : len(others)] = sorted(others, reverse=True)
    return out


@pytest.mark.parametrize("width", [1, 4, 30])
def test_nearest_items(width):
    values, weights = signed()
    rows, columns, _, _ = both_ways(values)
    item_weights = 1 / np.sqrt(np.maximum(np.count_nonzero(values, axis=0), 1))
    size = values.shape[1]
    got = np.empty((size, width), np.int32)
    scratch = np.empty(size), np.empty(size, np.int32), np.full(size, -1, np.int32)
    for start, stop in ((0, 11), (11, 25)):
        own = got[start:stop]
        nearest_items(start, stop, *columns, *rows, weights, item_weights, 0, own, np.empty(own.shape), *scratch)
    assert np.array_equal(got, nearest_twin(gram_twin(values, weights), item_weights, width))


def test_nearest_items_of_equal_scores_are_the_first():
    values = np.ones((3, 6))
    rows, columns, _, _ = both_ways(values)
    got = np.empty((6, 2), np.int32)
    scratch = np.empty(6), np.empty(6, np.int32), np.full(6, -1, np.int32)
    nearest_items(0, 6, *columns, *rows, np.ones(3), np.ones(6), 0, got, np.empty((6, 2)), *scratch)
    assert got.tolist() == [[2, 1], [2, 0], [1, 0], [1, 0], [1, 0], [1, 0]]


def stored_gram(values, weights):
    """G right of its diagonal by the kernels, in two runs of items."""
    rows, columns, _, _ = both_ways(values)
    size = values.shape[1]
    counts = np.zeros(size, np.int64)
    marks = np.full(size, -1, np.int64)
    for start, stop in ((0, size // 3), (size // 3, size)):
        count_later(start, stop, columns[0], columns[1], rows[0], rows[1], counts, marks)
    start = np.concatenate([[0], np.cumsum(counts)])
    later, numbers, diagonal = np.empty(start[-1], np.uint32), np.empty(start[-1]), np.zeros(size)
    places, sums = np.full(size, -1, np.int32), np.empty(size)
    for first, stop in ((0, size // 3), (size // 3, size)):
        fill_later(first, stop, *columns, *rows, weights, start, later, numbers, diagonal, places, sums)
    return start, later, numbers, diagonal


def test_stored_pairs_of_the_gram_matrix():
    values, weights = signed()
    start, later, numbers, diagonal = stored_gram(values, weights)
    expected = gram_twin(values, weights)
    got = sp.csr_array((numbers, later, start), shape=expected.shape).toarray()
    np.testing.assert_allclose(got, np.triu(expected, 1), atol=1e-12)
    np.testing.assert_allclose(diagonal, np.diag(expected), atol=1e-12)
    met = np.abs(np.sign(values)).T @ np.abs(np.sign(values)) > 0
    assert len(later) == np.triu(met, 1).sum()  # pairs that share a user, also where likes and dislikes cancel


def regression_twin(values, weights, nearest, negative_weight, ridge):
    """Weighted least squares over all users, pair by pair."""
    signs, solved = np.sign(values), np.zeros(nearest.shape)
    for j, listed in enumerate(nearest):
        own = listed[listed >= 0]
        x = signs[:, own]
        w = weights * np.where(values[:, j] != 0, np.abs(values[:, j]), negative_weight)
        system = x.T @ (w[:, None] * x) + np.diag(ridge[own])
        solved[j, : len(own)] = np.linalg.solve(system, x.T @ (w * (values[:, j] > 0)))
    return solved


@pytest.mark.parametrize("negative_weight", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("width", [1, 5, 24])
def test_regress_columns(width, negative_weight):
    values, weights = signed()
    rows, columns, column_weights, likes = both_ways(values)
    gram = stored_gram(values, weights)
    ridge = 2 + gram[3]
    size = values.shape[1]
    nearest = nearest_twin(gram_twin(values, weights), np.ones(size), width).astype(np.int32)
    solved = np.zeros(nearest.shape)
    scratch = regression_scratch(size, width)
    targets = np.random.default_rng(0).permutation(size)
    for start, stop in ((0, 9), (9, size)):
        failed = regress_columns(
            start, stop, targets, nearest, *columns[:2], column_weights, likes, *rows, weights, negative_weight, False,
            ridge, *gram, solved, *scratch,
        )  # fmt: skip
        assert failed == -1
    expected = regression_twin(values, weights, nearest, negative_weight, ridge)
    np.testing.assert_allclose(solved, expected, rtol=1e-10, atol=1e-12)


def regression_scratch(size, width):
    return np.zeros((width + 1, width + 2)), np.full(size, width, np.uint32), np.empty(width, np.int64)


@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("width", [1, 5, 24])
def test_regress_columns_of_even_weights_needs_the_gram_matrix_alone(width, weight):
    """Likes of the weight of every other pair: the same system, read from G."""
    values, weights = signed()
    values = weight * (values > 0)
    rows, columns, column_weights, likes = both_ways(values)
    gram = stored_gram(values, weights)
    size = values.shape[1]
    nearest = nearest_twin(gram_twin(values, weights), np.ones(size), width).astype(np.int32)
    solved = np.zeros(nearest.shape)
    no_users = np.full(len(columns[0]), 10**9)  # of any item: none is read
    failed = regress_columns(
        0, size, np.arange(size), nearest, no_users, *columns[1:2], column_weights, likes, *rows, weights, weight, True,
        2 + gram[3], *gram, solved, *regression_scratch(size, width),
    )  # fmt: skip
    assert failed == -1
    expected = regression_twin(values, weights, nearest, weight, 2 + gram[3])
    np.testing.assert_allclose(solved, expected, rtol=1e-10, atol=1e-12)


def test_regress_columns_names_a_singular_system():
    values = np.ones((4, 3))
    rows, columns, column_weights, likes = both_ways(values)
    gram = stored_gram(values, np.ones(4))
    nearest = np.array([[2, 1], [2, 0], [1, 0]], np.int32)
    failed = regress_columns(
        0, 3, np.arange(3), nearest, *columns[:2], column_weights, likes, *rows, np.ones(4), 1.0, False, np.zeros(3),
        *gram, np.zeros((3, 2)), *regression_scratch(3, 2),
    )  # fmt: skip
    assert failed == 0


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 33, 64])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-4)])
def test_cholesky(size, dtype, tolerance):
    random = np.random.default_rng(size)
    roots = random.standard_normal((size, size + 3))
    system, h = roots @ roots.T + np.eye(size), random.standard_normal(size)
    room = np.full((size + 2, size + 2), 7.0, dtype)  # what lies outside is not touched
    room[:size, :size] = np.tril(system) + np.triu(np.full((size, size), 9.0), 1)
    before = room.copy()
    solved = h.astype(dtype)
    assert factorize(room, size)
    np.testing.assert_allclose(np.tril(room[:size, :size]), np.linalg.cholesky(system), rtol=tolerance, atol=tolerance)
    outside = np.ones(room.shape, bool)
    outside[:size, :size] = np.triu(np.ones((size, size), bool), 1)
    assert np.array_equal(room[outside], before[outside])
    substitute(room, size, solved)
    np.testing.assert_allclose(solved, np.linalg.solve(system, h), rtol=10 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("size", [1, 2, 5, 6, 9])
def test_cholesky_refuses_what_is_not_positive_definite(size):
    for last in (0.0, -1.0, np.nan):
        system = np.eye(size)
        system[-1, -1] = last
        assert not factorize(system, size)


def test_sparse_scores():
    values, _ = signed()
    rows, _, _, _ = both_ways(values)
    random = np.random.default_rng(1)
    coefficients = random.standard_normal((25, 25)) * (random.random((25, 25)) < 0.4)
    base = random.standard_normal(25)
    b = sp.csr_array(coefficients)
    out = np.empty(values.shape)
    for start, stop in ((0, 17), (17, 40)):
        sparse_scores(start, stop, *rows, b.indptr, b.indices, b.data, base, out)
    np.testing.assert_allclose(out, base + np.sign(values) @ coefficients, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_add_scaled(dtype, tolerance):
    random = np.random.default_rng(0)
    scores = random.standard_normal((6, 50)).astype(dtype)
    scores[2] = -1  # says nothing
    out = random.standard_normal((6, 50)).astype(dtype)
    gaps = scores.astype(np.float64) + 1
    length = np.sqrt(np.mean(gaps**2, axis=1, keepdims=True))
    expected = out + 0.3 * np.divide(gaps, length, out=np.zeros_like(gaps), where=length > 0)
    untouched = out[5].copy()
    add_scaled(0, 5, scores, dtype(-1), 0.3, out)
    np.testing.assert_allclose(out[:5], expected[:5], rtol=tolerance, atol=tolerance)
    assert np.array_equal(out[5], untouched)
