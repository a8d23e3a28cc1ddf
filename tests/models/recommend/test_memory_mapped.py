"""Training on a memory-mapped CSR matrix: the same bits as on arrays, and no copy of it that is not needed."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from everypair import OneClassMF
from everypair.data.pairs import Pairs


def matrix_of(kind="ones", m=300, n=200, seed=0):
    rng = np.random.default_rng(seed)
    dense = (rng.random((m, n)) < 0.1).astype(np.float32)
    if kind != "ones":
        dense *= rng.uniform(0.5, 2, (m, n)).astype(np.float32)
    if kind == "dislikes":
        dense *= np.where(rng.random((m, n)) < 0.2, -1, 1)
    return sp.csr_array(dense)


def mapped(matrix, folder, index=np.int32, number=np.float32):
    """The same matrix, its three arrays in files that cannot be written to."""
    arrays = {"data": matrix.data.astype(number), "indices": matrix.indices.astype(index)}
    arrays["indptr"] = matrix.indptr.astype(index)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    parts = tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr"))
    found = sp.csr_array(matrix.shape, dtype=number)
    found.data, found.indices, found.indptr = parts  # as they are: the constructor would narrow int64 indices
    return found


@pytest.mark.parametrize("solver", ["auto", "block", "cd", "tron"])
@pytest.mark.parametrize(("index", "number"), [(np.int32, np.float32), (np.int64, np.float64)])
@pytest.mark.parametrize("kind", ["ones", "weighted", "dislikes"])
def test_same_bits_as_arrays(kind, index, number, solver, tmp_path):
    matrix = matrix_of(kind)
    given = mapped(matrix, tmp_path, index, number)
    model = OneClassMF(rank=4, loss="squared", solver=solver, max_iter=3, tol=0, random_state=0, n_threads=2)
    expected = model.fit(matrix).state_
    found = model.fit(given).state_
    assert np.array_equal(found.user_factors, expected.user_factors)
    assert np.array_equal(found.item_factors, expected.item_factors)
    assert found.history[-1]["objective"] == expected.history[-1]["objective"]
    assert (found.interactions != expected.interactions).nnz == 0
    assert found.interactions.dtype == np.float32
    items, scores = model.recommend([0, 3], n=4)
    assert np.array_equal(items, OneClassMF.fit(model, matrix).recommend([0, 3], n=4)[0])
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("number", [bool, np.int8, np.uint8, np.int64, np.float32, np.float64])
def test_ones_of_any_kind_are_stored_once(number, tmp_path):
    matrix = matrix_of()
    for given in (mapped(matrix, tmp_path, number=number), matrix.astype(number)):
        pairs = Pairs.from_matrix(given)
        for stored in (pairs.rows, pairs.columns):
            assert stored.weights.tolist() == [1]
            assert stored.weights.dtype == np.float32
        np.testing.assert_array_equal(pairs.to_csr().toarray(), matrix.toarray())


def test_read_only_arrays_are_shared_and_others_copied(tmp_path):
    matrix = matrix_of("weighted")
    given = mapped(matrix, tmp_path)
    pairs = Pairs.from_matrix(given)
    assert np.shares_memory(pairs.rows.indices, given.indices)
    assert np.shares_memory(pairs.rows.weights, given.data)
    assert not pairs.to_csr().indices.flags.writeable
    pairs = Pairs.from_matrix(matrix)
    kept = pairs.to_csr().toarray()
    matrix.data[:], matrix.indices[:] = 0, 0
    np.testing.assert_array_equal(pairs.to_csr().toarray(), kept)


@pytest.mark.parametrize(("number", "bytes_a_pair"), [(np.int8, 4), (np.float32, 4), (np.float64, 4)])
def test_pairs_of_a_memory_map_take_their_columns_alone(number, bytes_a_pair, tmp_path):
    m, n, row = 5000, 3000, 200
    indices = np.concatenate([np.sort(np.random.default_rng(i).choice(n, row, replace=False)) for i in range(m)])
    plain = sp.csr_array((np.ones(m * row, np.float32), indices, row * np.arange(m + 1)), shape=(m, n))
    given = mapped(plain, tmp_path, number=number)
    Pairs.from_matrix(given)  # compiles, if it has to
    tracemalloc.start()
    pairs = Pairs.from_matrix(given)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < bytes_a_pair * pairs.nnz + 24 * (m + n)
    assert peak < bytes_a_pair * pairs.nnz + 2**21 + 48 * (m + n)  # blocks of 2²⁰ are checked at a time
