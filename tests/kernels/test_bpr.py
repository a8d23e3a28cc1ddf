"""The steps of pairwise ranking against a plain twin that draws the same random numbers in Python's integers."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.bpr import draw_triples, epoch, fold_rows, random_number

from .twins import Numbers, triple

M, N, K = 9, 8, 3
RATE, REG = 0.1, 0.02


def problem(seed=0):
    """Weights of positives with an empty row, and the arrays that the kernels want of them."""
    random = np.random.default_rng(seed)
    matrix = (random.random((M, N)) < 0.4) * random.integers(1, 4, (M, N)).astype(float)
    matrix[4] = 0.0
    csr = sp.csr_array(matrix)
    owners = np.repeat(np.arange(M, dtype=np.int32), np.diff(csr.indptr))
    sums = np.concatenate([[0.0], np.cumsum(csr.data)])
    left, right = random.standard_normal((M, K + 1)), random.standard_normal((N, K + 1))
    left[:, K] = 1
    return matrix, (csr.indptr.astype(np.int64), csr.indices.astype(np.int32), owners, sums), left, right


def test_random_numbers():
    state, numbers = np.array([12345], np.uint64), Numbers(12345)
    assert [random_number(state) for _ in range(20)] == [numbers.next() for _ in range(20)]
    assert int(state[0]) == numbers.x


def test_triples():
    matrix, (indptr, indices, owners, sums), _, _ = problem()
    triples, state, numbers = np.empty((3, 50), np.int64), np.array([7], np.uint64), Numbers(7)
    draw_triples(indptr, indices, owners, sums, N, triples, state)
    assert triples.T.tolist() == [list(triple(matrix, numbers)) for _ in range(50)]


def epoch_twin(matrix, updates, left, right, squares, numbers):
    for _ in range(updates):
        i, j, l = triple(matrix, numbers)
        u, vj, vl = left[i].copy(), right[j].copy(), right[l].copy()
        pull = 1 / (1 + math.exp(u @ (vj - vl)))
        gradients = (-pull * (vj - vl) + REG * u, -pull * u + REG * vj, pull * u + REG * vl)
        gradients[0][K] = 0  # the constant 1
        for table, sums, row, g in zip(
            (left, right, right), (squares[0], squares[1], squares[1]), (i, j, l), gradients
        ):
            sums[row] += np.sum(g[:K] ** 2) / K
            table[row] -= RATE * g / np.sqrt(sums[row])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_epoch(dtype):
    matrix, pairs, left, right = problem()
    mine = [array.astype(dtype) for array in (left, right, np.full(M, 0.5), np.full(N, 0.5))]
    state, numbers, squares = np.array([12345], np.uint64), Numbers(12345), (np.full(M, 0.5), np.full(N, 0.5))
    epoch(200, *pairs, dtype(RATE), dtype(REG), *mine, state)
    epoch_twin(matrix, 200, left, right, squares, numbers)
    tolerance = {np.float32: 1e-4, np.float64: 1e-12}[dtype]
    for kernel, plain in zip(mine, (left, right, *squares)):
        assert kernel.dtype == dtype
        np.testing.assert_allclose(kernel, plain, rtol=tolerance, atol=tolerance)
    assert int(state[0]) == numbers.x


def fold_twin(row, right, passes, least, square, seed):
    """A row from zero, items fixed: the mean of the second half of its steps, and the constant."""
    numbers, u, kept = Numbers(seed), np.zeros(K), []
    updates = max(least, passes * np.count_nonzero(row)) if row.any() else 0
    for update in range(updates):
        _, j, l = triple(row[None], numbers)
        difference = right[j] - right[l]
        g = -difference[:K] / (1 + math.exp(u @ difference[:K] + difference[K])) + REG * u
        square += np.sum(g**2) / K
        u = u - RATE * g / np.sqrt(square)
        if 2 * update >= updates:
            kept.append(u)
    return [*(np.mean(kept, axis=0) if kept else np.zeros(K)), 1.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("passes", "least"), [(3, 1), (2, 25)])
def test_fold_rows(dtype, passes, least):
    matrix, (indptr, indices, _, sums), _, right = problem()
    arguments = passes, least, indptr, indices, sums, dtype(RATE), dtype(REG), dtype(0.5), right.astype(dtype)
    folded = np.full((M, K + 1), 77, dtype)
    fold_rows(2, M, *arguments, folded, np.uint64(99))
    assert (folded[:2] == 77).all()
    fold_rows(0, 2, *arguments, folded, np.uint64(99))
    expected = [fold_twin(row, right, passes, least, 0.5, 99) for row in matrix]
    tolerance = {np.float32: 1e-4, np.float64: 1e-12}[dtype]
    np.testing.assert_allclose(folded, expected, rtol=tolerance, atol=tolerance)
    assert folded[4].tolist() == [0, 0, 0, 1]  # no positives: ranked by the items' biases
    whole = np.empty_like(folded)
    fold_rows(0, M, *arguments, whole, np.uint64(99))
    assert np.array_equal(whole, folded)
    for i in (0, 5):  # the same random numbers for each row: one alone is one of many
        fold_rows(i, i + 1, *arguments, whole, np.uint64(99))
    assert np.array_equal(whole, folded)


def test_a_row_that_likes_everything_is_passed_over():
    indptr, indices, sums = np.array([0, 2]), np.arange(2, dtype=np.int32), np.arange(3.0)
    folded = np.empty((1, 3))
    fold_rows(0, 1, 1, 2, indptr, indices, sums, 0.1, 0.0, 1.0, np.ones((2, 3)), folded, np.uint64(3))
    assert folded.tolist() == [[0, 0, 1]]
