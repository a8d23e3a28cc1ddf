"""The kernels of the item–item regression beside plain numpy: neighbours, pairs of G, systems, scores."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.cholesky import room_for
from everypair.kernels.item_gram import count_later, fill_later, nearest_items
from everypair.kernels.item_regression import gather_pairs, link_uses, solve_columns
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


def row_scratch(size):
    return np.empty(size), np.empty(size + 1, np.int32), np.full(size, -1, np.int32)


def nearest_twin(gram, item_weights, width):
    out = np.full((len(gram), width), -1)
    for j, column in enumerate(gram.T):
        scores = column * item_weights
        others = [l for l in np.lexsort((np.arange(len(gram)), -scores)) if l != j and scores[l] > 1e-12][:width]
        out[j, : len(others)] = sorted(others)
    return out


@pytest.mark.parametrize("width", [1, 4, 30])
def test_nearest_items(width):
    values, weights = signed()
    rows, columns, _, _ = both_ways(values)
    item_weights = 1 / np.sqrt(np.maximum(np.count_nonzero(values, axis=0), 1))
    size = values.shape[1]
    got = np.empty((size, width), np.int32)
    scratch = np.empty(size), *row_scratch(size)
    for start, stop in ((0, 11), (11, 25)):
        nearest_items(start, stop, *columns, *rows, weights, item_weights, 0, got[start:stop], *scratch)
    assert np.array_equal(got, nearest_twin(gram_twin(values, weights), item_weights, width))


def test_nearest_items_of_equal_scores_are_the_first():
    values = np.ones((3, 6))
    rows, columns, _, _ = both_ways(values)
    got = np.empty((6, 2), np.int32)
    nearest_items(0, 6, *columns, *rows, np.ones(3), np.ones(6), 0, got, np.empty(6), *row_scratch(6))
    assert got.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]


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
    scratch = row_scratch(size)
    for first, stop in ((0, size // 3), (size // 3, size)):
        fill_later(first, stop, *columns, *rows, weights, start, later, numbers, diagonal, *scratch)
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


def solved_columns(values, weights, nearest, negative_weight, ridge, gram, even, column_start, parts):
    """B's columns by the kernels, for targets in a few parts, each in two runs of rows of G and of targets."""
    rows, columns, column_weights, likes = both_ways(values)
    size, width = len(nearest), nearest.shape[1]
    sizes = np.count_nonzero(nearest >= 0, axis=1)
    solved = np.zeros(nearest.shape)
    first_use, row = np.full(size, -1, np.int32), np.zeros(size)
    scratch = room_for(width, np.float64), np.full(size, -1, np.int32), np.empty(width, np.int64)
    failed = []
    for targets in parts:
        next_use = np.empty(len(targets) * (width + 1), np.int32)
        pairs, own = np.empty((len(targets), width * (width - 1) // 2)), np.zeros((len(targets), width))
        link_uses(targets, nearest, sizes, even, first_use, next_use)
        for start, stop in ((0, size // 3), (size // 3, size)):
            gather_pairs(
                start, stop, targets, nearest, sizes, even, first_use, next_use, *gram[:3], pairs, own, row
            )  # fmt: skip
        assert (first_use == -1).all()
        assert not row.any()
        for start, stop in ((0, len(targets) // 2), (len(targets) // 2, len(targets))):
            failed.append(solve_columns(
                start, stop, targets, nearest, sizes, column_start, columns[1], column_weights, likes, *rows, weights,
                negative_weight, even, ridge, gram[3], pairs, own, solved, *scratch,
            ))  # fmt: skip
    return solved, max(failed)


def test_gathered_pairs_are_the_block_of_the_gram_matrix():
    values, weights = signed()
    gram, whole = stored_gram(values, weights), gram_twin(values, weights)
    size, width = values.shape[1], 6
    nearest = nearest_twin(whole, np.ones(size), width).astype(np.int32)
    sizes = np.count_nonzero(nearest >= 0, axis=1)
    assert sizes.min() == 0
    targets = np.random.default_rng(0).permutation(size)[:17]
    first_use, next_use = np.full(size, -1, np.int32), np.empty(17 * (width + 1), np.int32)
    pairs, own = np.full((17, width * (width - 1) // 2), np.nan), np.zeros((17, width))
    link_uses(targets, nearest, sizes, True, first_use, next_use)
    gather_pairs(
        0, size, targets, nearest, sizes, True, first_use, next_use, *gram[:3], pairs, own, np.zeros(size)
    )  # fmt: skip
    for e, t in enumerate(targets):
        listed = nearest[t, : sizes[t]]
        block = np.full((width, width), np.nan)
        block[: len(listed), : len(listed)] = whole[np.ix_(listed, listed)]
        np.testing.assert_allclose(pairs[e], block[np.triu_indices(width, 1)], atol=1e-12)
        np.testing.assert_allclose(own[e, : len(listed)], whole[listed, t], atol=1e-12)


@pytest.mark.parametrize("negative_weight", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("width", [1, 5, 24])
def test_regression(width, negative_weight):
    values, weights = signed()
    gram = stored_gram(values, weights)
    ridge = 2 + gram[3]
    size = values.shape[1]
    nearest = nearest_twin(gram_twin(values, weights), np.ones(size), width).astype(np.int32)
    targets = np.random.default_rng(0).permutation(size)
    start = sp.csc_array(values).indptr.astype(np.int64)
    parts = targets[:9], targets[9:]
    solved, failed = solved_columns(values, weights, nearest, negative_weight, ridge, gram, False, start, parts)
    assert failed == -1
    expected = regression_twin(values, weights, nearest, negative_weight, ridge)
    np.testing.assert_allclose(solved, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("width", [1, 5, 24])
def test_regression_of_even_weights_needs_the_gram_matrix_alone(width, weight):
    """Likes of the weight of every other pair: the same system, read from G."""
    values, weights = signed()
    values = weight * (values > 0)
    gram = stored_gram(values, weights)
    size = values.shape[1]
    nearest = nearest_twin(gram_twin(values, weights), np.ones(size), width).astype(np.int32)
    no_users = np.full(size + 1, 10**9)  # of any item: none is read
    parts = np.arange(size)[::2], np.arange(size)[1::2]
    solved, failed = solved_columns(values, weights, nearest, weight, 2 + gram[3], gram, True, no_users, parts)
    assert failed == -1
    expected = regression_twin(values, weights, nearest, weight, 2 + gram[3])
    np.testing.assert_allclose(solved, expected, rtol=1e-10, atol=1e-12)


def test_regression_names_a_singular_system():
    values = np.ones((4, 3))
    gram = stored_gram(values, np.ones(4))
    nearest = np.array([[1, 2], [0, 2], [0, 1]], np.int32)
    start = sp.csc_array(values).indptr.astype(np.int64)
    _, failed = solved_columns(values, np.ones(4), nearest, 1.0, np.zeros(3), gram, False, start, [np.arange(1)])
    assert failed == 0


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
