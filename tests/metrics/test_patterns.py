import numpy as np
import pytest
import scipy.sparse as sp

from everypair.metrics.patterns import count_overlap, positive_pattern, stored_pattern


def unsorted_with_duplicates():
    data = np.array([1.0, -2.0, 3.0, 1.0, -1.0, 0.0])
    return sp.csr_array((data, np.array([3, 1, 0, 3, 0, 2]), np.array([0, 4, 6])), shape=(2, 4))


def test_patterns_are_sorted_and_follow_the_sign():
    stored, positive = (
        stored_pattern(unsorted_with_duplicates(), "a"),
        positive_pattern(unsorted_with_duplicates(), "a"),
    )
    np.testing.assert_array_equal(stored.toarray(), [[1, 1, 0, 1], [1, 0, 1, 0]])
    np.testing.assert_array_equal(positive.toarray(), [[1, 0, 0, 1], [0, 0, 0, 0]])
    for pattern in (stored, positive):
        assert pattern.has_sorted_indices
        assert len(pattern.indptr) == 3


def test_overlap_counts_shared_pairs():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 30, 20)) < 0.3
    assert count_overlap(stored_pattern(one, "a"), stored_pattern(other, "b")) == np.sum(one & other)


@pytest.mark.parametrize(
    ("matrix", "error", "words"),
    [
        (np.ones(3), ValueError, "two-dimensional"),
        (np.array([["a"]]), TypeError, "numeric"),
        (np.array([[np.nan]]), ValueError, "holds NaN"),
        (sp.csr_array(np.array([[np.nan, 1.0]])), ValueError, "holds NaN"),
    ],
)
def test_bad_matrices_are_refused_by_name(matrix, error, words):
    for read in (stored_pattern, positive_pattern):
        with pytest.raises(error, match=f"train.*{words}"):
            read(matrix, "train")
