import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data.splits import (
    split_cold_items,
    split_entries,
    split_leave_last,
    split_per_row,
    split_rows,
    split_time,
)


def interactions(rows=60, columns=40, density=0.3, seed=0, dtype=np.float32):
    """Random values with dislikes, an empty row, a row of one entry, in csr_matrix form."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 6, size=(rows, columns)) * rng.choice([-1, 1], size=(rows, columns), p=[0.1, 0.9])
    dense[rng.random(dense.shape) > density] = 0
    dense[3] = 0
    dense[4] = 0
    dense[4, 7] = 2
    return sp.csr_matrix(dense.astype(dtype))


def entries(matrix):
    coo = matrix.tocoo()
    return {(int(i), int(j)): float(v) for i, j, v in zip(coo.row, coo.col, coo.data)}


def assert_partition(matrix, train, test):
    assert train.shape == test.shape == matrix.shape
    assert train.dtype == test.dtype == matrix.dtype
    assert train.has_canonical_format
    assert test.has_canonical_format
    kept, held = entries(train), entries(test)
    assert not kept.keys() & held.keys()
    assert kept | held == entries(matrix)


SPLITS = [
    lambda x, seed: split_entries(x, 0.3, random_state=seed),
    lambda x, seed: split_per_row(x, test_share=0.3, random_state=seed),
    lambda x, seed: split_per_row(x, test_count=2, random_state=seed),
]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_splits_are_partitions_and_reproducible(split, dtype):
    matrix = interactions(dtype=dtype)
    before = matrix.copy()
    train, test = split(matrix, 5)
    assert_partition(matrix, train, test)
    assert test.nnz > 0
    assert entries(split(matrix, 5)[1]) == entries(test)
    assert entries(split(matrix, 6)[1]) != entries(test)
    assert (matrix != before).nnz == 0


@pytest.mark.parametrize("split", SPLITS)
def test_the_format_does_not_matter(split):
    matrix = interactions()
    expected = entries(split(matrix, 1)[1])
    coo = matrix.tocoo()
    order = np.random.default_rng(0).permutation(coo.nnz)
    shuffled = sp.coo_array((coo.data[order], (coo.row[order], coo.col[order])), shape=coo.shape)
    for same in (matrix.toarray(), sp.csc_array(matrix), shuffled):
        assert entries(split(same, 1)[1]) == expected


def test_entries_follow_the_documented_draw():
    matrix = interactions()
    held_out = np.random.default_rng(9).random(matrix.nnz) < 0.25
    _, test = split_entries(matrix, 0.25, random_state=9)
    coo = matrix.tocoo()
    expected = set(zip(coo.row[held_out].tolist(), coo.col[held_out].tolist()))
    assert entries(test).keys() == expected


def test_duplicates_are_summed_before_the_split():
    matrix = sp.coo_array((np.ones(4), ([0, 0, 0, 1], [1, 1, 0, 0])), shape=(2, 2))
    train, test = split_entries(matrix, 0.5)
    assert entries(train) | entries(test) == {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 1.0}


def test_per_row_share_is_rounded_and_leaves_min_train():
    counts = [0, 1, 2, 3, 4, 5, 10]
    matrix = sp.csr_array(np.array([[1] * c + [0] * (10 - c) for c in counts]))
    _, test = split_per_row(matrix, test_share=0.5)
    assert np.diff(test.indptr).tolist() == [0, 0, 1, 2, 2, 3, 5]
    _, test = split_per_row(matrix, test_share=0.5, min_train=3)
    assert np.diff(test.indptr).tolist() == [0, 0, 0, 0, 1, 2, 5]


def test_per_row_count_leaves_min_train():
    counts = [0, 1, 2, 3, 10]
    matrix = sp.csr_array(np.array([[1] * c + [0] * (10 - c) for c in counts]))
    train, test = split_per_row(matrix, test_count=2)
    assert np.diff(test.indptr).tolist() == [0, 0, 1, 2, 2]
    assert np.diff(train.indptr).tolist() == [0, 1, 1, 1, 8]
    _, test = split_per_row(matrix, test_count=2, min_train=0)
    assert np.diff(test.indptr).tolist() == [0, 1, 2, 2, 2]


def test_per_row_draws_every_entry_with_the_same_chance():
    _, test = split_per_row(np.ones((20_000, 5)), test_count=2)
    share = np.asarray(test.sum(axis=0)).ravel() / 20_000
    np.testing.assert_allclose(share, 0.4, atol=0.02)


def leave_last_twin(matrix, times, count):
    held = set()
    for i in range(matrix.shape[0]):
        row = [(t, j) for (r, j), t in times.items() if r == i]
        if len(row) > count:
            held |= {(i, j) for _, j in sorted(row)[-count:]}
    return held


@pytest.mark.parametrize("count", [1, 3])
def test_leave_last_holds_out_the_latest(count):
    matrix = interactions()
    moments = np.random.default_rng(2).integers(0, 6, size=matrix.nnz)  # many ties
    coo = matrix.tocoo()
    times = {(i, j): t for i, j, t in zip(coo.row.tolist(), coo.col.tolist(), moments.tolist())}
    expected = leave_last_twin(matrix, times, count)
    as_matrix = sp.csr_array((moments, matrix.indices, matrix.indptr), shape=matrix.shape)  # stores zeros
    dates = np.datetime64("2024-01-01") + moments.astype("timedelta64[D]")
    for given in (moments, as_matrix, as_matrix.tocsc(), dates, moments.astype(float)):
        train, test = split_leave_last(matrix, given, count=count)
        assert_partition(matrix, train, test)
        assert entries(test).keys() == expected


def test_time_divides_train_from_test():
    matrix = interactions()
    moments = np.random.default_rng(2).permutation(matrix.nnz)
    for given in (moments, sp.csr_array((moments, matrix.indices, matrix.indptr), shape=matrix.shape)):
        train, test = split_time(matrix, given, test_share=0.2)
        assert_partition(matrix, train, test)
        assert test.nnz == matrix.nnz - np.floor(0.8 * matrix.nnz + 0.5)
        coo = matrix.tocoo()
        held = {(int(i), int(j)) for i, j, t in zip(coo.row, coo.col, moments) if t >= train.nnz}
        assert entries(test).keys() == held
    train, test = split_time(matrix, np.zeros(matrix.nnz))
    assert (train.nnz, test.nnz) == (matrix.nnz, 0)  # entries at the dividing moment stay


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_cold_items_have_no_entry_in_train(share):
    dense = np.random.default_rng(2).random((30, 20)) < 0.3
    dense[:, 3] = False
    matrix = sp.csr_array(dense)
    train, test = split_cold_items(matrix, share, random_state=5)
    cold, warm = set(test.indices.tolist()), set(train.indices.tolist())
    assert not cold & warm
    assert cold | warm == set(range(20)) - {3}
    assert len(cold) == min(max(round(share * 19), 1), 18)
    assert np.array_equal((train + test).toarray(), matrix.toarray())


def test_rows_split_holds_out_whole_rows():
    matrix = interactions()
    split = split_rows(matrix, test_share=0.25, hidden_share=0.3, random_state=1)
    eligible = (np.diff(matrix.indptr) >= 2).sum()
    assert len(split.test_rows) == np.floor(0.25 * eligible + 0.5)
    assert sorted([*split.train_rows, *split.test_rows]) == list(range(60))
    assert (split.train != sp.csr_array(matrix[split.train_rows])).nnz == 0
    assert_partition(sp.csr_array(matrix[split.test_rows]), split.fold_in, split.test)
    shown, hidden = np.diff(split.fold_in.indptr), np.diff(split.test.indptr)
    assert shown.min() >= 1
    np.testing.assert_array_equal(hidden, np.maximum(np.floor(0.3 * (shown + hidden) + 0.5), 1))
    again = split_rows(matrix, test_share=0.25, hidden_share=0.3, random_state=1)
    np.testing.assert_array_equal(again.test_rows, split.test_rows)
    assert entries(again.test) == entries(split.test)


def test_rows_split_shows_and_hides_at_least_one():
    split = split_rows(np.ones((4, 2)), test_share=0.9, hidden_share=0.99)
    assert len(split.test_rows) == 3  # one row always remains to train on
    assert np.diff(split.fold_in.indptr).tolist() == np.diff(split.test.indptr).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: split_entries(x, 0), ValueError, "test_share must be a number between 0 and 1"),
        (lambda x: split_entries(x, 1.0), ValueError, "between 0 and 1"),
        (lambda x: split_entries(x, "a"), ValueError, "between 0 and 1"),
        (lambda x: split_entries(np.ones(3)), ValueError, "two-dimensional"),
        (lambda x: split_per_row(x), ValueError, "either test_share"),
        (lambda x: split_per_row(x, 0.1, 2), ValueError, "either test_share"),
        (lambda x: split_per_row(x, test_count=0), ValueError, "test_count must be an integer ≥ 1"),
        (lambda x: split_per_row(x, 0.5, min_train=-1), ValueError, "min_train"),
        (lambda x: split_leave_last(x, np.zeros(2)), ValueError, "one entry per stored pair"),
        (lambda x: split_leave_last(x, x[:, :5]), ValueError, "exactly the pairs"),
        (lambda x: split_leave_last(x, np.full(x.nnz, np.nan)), ValueError, "missing"),
        (lambda x: split_leave_last(x, np.full(x.nnz, "NaT", "datetime64[s]")), ValueError, "missing"),
        (lambda x: split_leave_last(x, np.full(x.nnz, "a")), TypeError, "numbers or numpy datetime64"),
        (lambda x: split_leave_last(x, np.zeros(x.nnz), count=0), ValueError, "count"),
        (lambda x: split_time(x, np.zeros(2)), ValueError, "one entry per stored pair"),
        (lambda x: split_time(x, np.zeros(x.nnz), 1.5), ValueError, "test_share"),
        (lambda x: split_rows(x, 2), ValueError, "test_share"),
        (lambda x: split_rows(x, 0.1, hidden_share=0), ValueError, "hidden_share"),
        (lambda x: split_rows(np.eye(3)), ValueError, "two entries"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call(interactions())
