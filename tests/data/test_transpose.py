import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data import transpose
from everypair.data.transpose import Transposition


def pattern(shape, density, index, seed=0):
    """A random pattern with an empty row, an empty column and a full row, where there is room."""
    dense = np.random.default_rng(seed).random(shape) < density
    if min(shape) > 3:
        dense[1], dense[2] = False, True
        dense[:, 3] = False
    csr = sp.csr_array(dense)
    return csr.indptr.astype(np.int64), csr.indices.astype(index), dense


@pytest.mark.parametrize("n_threads", [1, 2, 3, 64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(40, 30), (7, 500), (1, 9), (9, 1), (3, 2)])
def test_column_major_order(shape, index, n_threads, monkeypatch):
    monkeypatch.setattr(transpose, "LEAST_PAIRS", 1)  # several threads, however few the pairs
    indptr, indices, dense = pattern(shape, 0.4, index)
    rows, columns = np.nonzero(dense)
    numbers = np.random.default_rng(1).normal(size=len(rows))
    order = np.lexsort((rows, columns))
    found = Transposition(indptr, indices, shape[1], n_threads)
    np.testing.assert_array_equal(found.indptr, np.concatenate([[0], np.cumsum(dense.sum(axis=0))]))
    np.testing.assert_array_equal(found.rows(), rows[order])
    np.testing.assert_array_equal(found.order(), order)
    np.testing.assert_array_equal(found.numbers(numbers), numbers[order])
    assert found.rows().dtype == found.order().dtype == np.int32
    assert found.numbers(numbers.astype(np.float32)).dtype == np.float32


def test_no_pairs():
    found = Transposition(np.zeros(4, np.int64), np.empty(0, np.int32), 5, 2)
    assert found.indptr.tolist() == [0] * 6
    assert found.rows().size == found.order().size == found.numbers(np.empty(0)).size == 0


def test_read_only_arrays_are_left_alone():
    indptr, indices, _ = pattern((40, 30), 0.4, np.int32)
    numbers = np.arange(len(indices), dtype=np.float32)
    expected = Transposition(indptr, indices, 30)
    for array in (indptr, indices, numbers):
        array.setflags(write=False)
    found = Transposition(indptr, indices, 30)
    np.testing.assert_array_equal(found.rows(), expected.rows())
    np.testing.assert_array_equal(found.numbers(numbers), numbers[found.order()])
    assert not indices.flags.writeable


def test_more_columns_than_pairs_take_one_thread():
    assert len(Transposition(np.arange(101), np.zeros(100, np.int32), 10**6, 8)._chunks) == 1
