"""G = XᵀDX through the users who have an item: equal to the product, on any number of threads, within its memory."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.problem.item_gram import ItemColumns, ItemGram, degree_weights, dense_gram


def random_likes(users=300, items=170, seed=0, dislikes=0.0):
    random = np.random.default_rng(seed)
    popularity = random.pareto(1.0, items)
    matrix = (random.random((users, items)) < np.minimum(0.03 * popularity, 0.9)) * 1.0
    matrix *= np.where(random.random((users, items)) < dislikes, -1, 1)
    return sp.csr_array(matrix)


@pytest.mark.parametrize("dislikes", [0.0, 0.3])
def test_gram_by_blocks_is_the_product(dislikes):
    matrix = random_likes(dislikes=dislikes)
    before = matrix.copy()
    weights = np.random.default_rng(1).uniform(0.1, 3.0, matrix.shape[0])
    gram = ItemGram.of(matrix, weights)
    expected = (matrix.T @ matrix.multiply(weights[:, None])).toarray()
    np.testing.assert_allclose(gram.dense(), expected, atol=1e-12)
    counts = np.diff(matrix.tocsc().indptr)
    assert np.array_equal(np.sort(counts), counts[gram.order])  # from rare to frequent
    assert np.array_equal(gram.order[gram.label], np.arange(gram.n_items))
    assert np.array_equal(matrix.indices, before.indices)
    assert np.array_equal(matrix.data, before.data)


def test_one_and_two_threads_give_the_same_bits():
    matrix = random_likes(dislikes=0.2)
    weights = degree_weights(np.diff(matrix.indptr), 0.5)
    one, two = (ItemGram.of(matrix, weights, np.float32, n_threads=threads) for threads in (1, 2))
    assert np.array_equal(one.later, two.later)
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(one.nearest(20, 1), two.nearest(20, 2))


def test_nearest_of_columns_that_came_later():
    matrix = random_likes()
    weights = degree_weights(np.diff(matrix.indptr), 0.5)
    gram = ItemGram.of(matrix[:, :150], weights)
    whole = (matrix.T @ matrix.multiply(weights[:, None])).toarray()
    scores = whole[:150, 150:] / np.sqrt(np.maximum(np.diff(matrix[:, :150].tocsc().indptr), 1))[:, None]
    nearest = gram.nearest_of(ItemColumns.of(matrix[:, 150:], np.float64), 5)
    for line, column in zip(nearest, scores.T):
        chosen = gram.order[line[line >= 0]]
        np.testing.assert_allclose(np.sort(column[chosen]), np.sort(column[column > 0])[-5:])


def test_dense_gram():
    matrix = random_likes(users=50, items=700)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, 50)
    expected = (matrix.T @ matrix.multiply(weights[:, None])).toarray()
    np.testing.assert_allclose(dense_gram(matrix, weights), expected, atol=1e-12)


def test_too_little_memory_is_said():
    with pytest.raises(MemoryError, match=r"pairs of items share a user: .* memory_mb allows 0"):
        ItemGram.of(random_likes(), np.ones(300), memory_mb=0.01)


def test_degree_weights():
    counts = np.array([1, 4, 0, 9])
    np.testing.assert_allclose(degree_weights(counts, 0.0), 1)
    weights = degree_weights(counts, 0.5)
    np.testing.assert_allclose(weights[[0, 1, 3]].mean(), 1)
    np.testing.assert_allclose(weights / weights[0], [1, 1 / 2, 1, 1 / 3])
