"""Observed entries: every form of input, both orders, what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data.observed import Observed

NAN = np.nan
DENSE = np.array([[1.0, NAN, 0.0, 2.0], [NAN, NAN, NAN, NAN], [3.0, 4.0, NAN, 0.0]])
MASK = ~np.isnan(DENSE)


def same(one, other):
    return (
        one.shape == other.shape
        and np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.values, other.values)
    )


def test_every_form_is_the_same():
    expected = Observed.from_matrix(DENSE)
    rows, columns = np.nonzero(MASK)
    stored = sp.coo_array((DENSE[rows, columns], (rows, columns)), shape=DENSE.shape)
    order = np.random.default_rng(0).permutation(stored.nnz)
    shuffled = sp.coo_array((stored.data[order], (stored.row[order], stored.col[order])), shape=DENSE.shape)
    assert expected.nnz == 6
    for form in (stored, stored.tocsr(), stored.tocsc(), sp.csr_matrix(stored), shuffled):
        assert same(Observed.from_matrix(form), expected)
    filled = np.where(MASK, DENSE, 7.0)
    for mask in (MASK, MASK.astype(int), sp.csr_array(MASK), sp.coo_array(MASK.astype(float))):
        assert same(Observed.from_matrix(filled, mask), expected)
        assert same(Observed.from_matrix(sp.csr_array(np.nan_to_num(DENSE)), mask), expected)
    assert same(Observed.from_matrix(DENSE.tolist()), expected)
    integers = np.nan_to_num(DENSE).astype(np.int8)
    assert same(Observed.from_matrix(integers, MASK), expected)


def test_a_mask_hides_what_a_sparse_matrix_stores_elsewhere():
    full = sp.csr_array(np.arange(1.0, 13).reshape(3, 4))
    observed = Observed.from_matrix(full, MASK)
    assert observed.values.tolist() == full.toarray()[MASK].tolist()


def test_transposed_and_values_in_its_order():
    observed = Observed.from_matrix(DENSE)
    turned = observed.transposed
    assert same(turned, Observed.from_matrix(DENSE.T))
    assert same(turned.transposed, observed)
    assert np.array_equal(observed.transpose_values(observed.values), turned.values)
    np.testing.assert_array_equal(turned.to_dense(), np.nan_to_num(DENSE).T)


def test_views():
    observed = Observed.from_matrix(DENSE)
    assert observed.rows.tolist() == [0, 0, 0, 2, 2, 2]
    csr = observed.to_csr()
    assert (csr.nnz, csr.shape) == (6, DENSE.shape)  # zeros are stored
    part = observed.take(observed.values > 0)
    assert part.values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.diff(part.indptr).tolist() == [2, 0, 2]
    assert observed.row_means().tolist() == [1.0, 10 / 6, 7 / 3]
    assert observed.levels is None
    assert Observed.from_matrix([[0.0, 1.0], [NAN, 1.0]]).levels == (0.0, 1.0)
    assert Observed.from_matrix([[1.0, 1.0]]).levels is None


def test_bad_input_is_refused():
    twice = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    cases = [
        (np.full((2, 2), NAN), None, ValueError, "no observed entry"),
        (DENSE, np.zeros_like(MASK), ValueError, "no observed entry"),
        (DENSE, np.ones_like(MASK), ValueError, "let the mask be False there"),
        (DENSE, MASK.T, ValueError, "shape of Y"),
        (DENSE, np.full(DENSE.shape, "x"), ValueError, "booleans"),
        (np.array([[np.inf, 1.0]]), None, ValueError, "infinite"),
        (sp.csr_array([[NAN, 1.0]]), None, ValueError, "must not store NaN"),
        (twice, None, ValueError, "entries twice"),
        (np.ones(3), None, ValueError, "must be a matrix"),
        (np.ones((0, 3)), None, ValueError, "at least one entry"),
        (np.array([["a"]]), None, TypeError, "must hold numbers"),
    ]
    for Y, mask, kind, words in cases:
        with pytest.raises(kind, match=words):
            Observed.from_matrix(Y, mask)
