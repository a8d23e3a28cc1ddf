"""Rows as plain arrays are those of the matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data.rows import StoredRows


@pytest.mark.parametrize("lengths", [[5], [0], [3, 0, 4], [0, 0], [1, 1, 1, 7]])
def test_lists_are_rows_of_a_matrix(lengths):
    random = np.random.default_rng(sum(lengths))
    columns = random.integers(0, 4, sum(lengths))  # some twice
    data = random.integers(1, 9, sum(lengths)).astype(float)
    rows = StoredRows.of_lists(lengths, columns, data, 4)
    expected = sp.csr_array((data, columns, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(lengths), 4))
    expected.sum_duplicates()
    assert np.array_equal(rows.tocsr().toarray(), expected.toarray())
    assert rows.nnz == expected.nnz
    assert rows.tocsr().has_canonical_format
    taken = StoredRows.taken(expected, np.arange(len(lengths))[::-1])
    assert np.array_equal(taken.tocsr().toarray(), expected.toarray()[::-1])
