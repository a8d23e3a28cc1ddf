import numpy as np
import pytest
import scipy.sparse as sp

from everypair.data.labels import Labels

NAN = float("nan")
Y = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])


def entries(known):
    """The known entries as {(row, label): value}; explicit zeros included."""
    coo = known.tocoo()
    return {(int(i), int(j)): float(v) for i, j, v in zip(*coo.coords, coo.data)}


@pytest.mark.parametrize(
    "given", [Y, Y.astype(bool), Y.astype(np.float32), Y.tolist(), sp.csr_matrix(Y), sp.coo_array(Y), sp.csc_array(Y)]
)
def test_every_form_of_the_same_labels_reads_the_same(given):
    labels = Labels.from_y(given)
    assert labels.shape == (3, 3)
    assert labels.known is None
    assert isinstance(labels.positives, sp.csr_array)
    assert labels.positives.dtype == np.float32
    np.testing.assert_array_equal(labels.positives.toarray(), Y)


def test_explicit_zeros_are_dropped_as_negatives_and_kept_as_known():
    sparse = sp.coo_array(([1.0, 0.0, 0.0, 1.0], ([0, 0, 1, 2], [2, 0, 1, 0])), shape=(3, 3))
    assert Labels.from_y(sparse).positives.nnz == 2
    assert Labels.from_y(sparse).known is None
    labels = Labels.from_y(sparse, "missing")
    assert entries(labels.known) == {(0, 2): 1, (0, 0): 0, (1, 1): 0, (2, 0): 1}
    assert entries(labels.positives) == {(0, 2): 1, (2, 0): 1}
    assert labels.known.has_sorted_indices
    assert labels.known.dtype == np.float32


def test_nan_is_unknown_in_a_dense_matrix():
    labels = Labels.from_y([[1, NAN], [0, 1]], "missing")
    assert entries(labels.known) == {(0, 0): 1, (1, 0): 0, (1, 1): 1}


@pytest.mark.parametrize("as_mask", [np.asarray, sp.csr_array, sp.coo_matrix])
@pytest.mark.parametrize("as_y", [np.asarray, sp.csr_array])
def test_the_mask_alone_decides_what_is_known(as_y, as_mask):
    mask = np.array([[True, True, False], [False, True, False], [True, False, True]])
    labels = Labels.from_y(as_y(Y), "missing", as_mask(mask))
    assert entries(labels.known) == {(i, j): Y[i, j] for i, j in zip(*np.nonzero(mask))}
    assert entries(labels.positives) == {(0, 0): 1}


def test_everything_known_needs_no_pattern():
    assert Labels.from_y(Y, "missing").known is None
    assert Labels.from_y(Y, "missing", np.ones(Y.shape, bool)).known is None


def test_duplicates_of_a_boolean_matrix_are_one_label():
    twice = sp.coo_array((np.array([True, True]), ([0, 0], [1, 1])), shape=(1, 2))
    assert entries(Labels.from_y(twice).positives) == {(0, 1): 1}


def test_rows_keep_known_negatives():
    labels = Labels.from_y([[1, NAN], [0, 1], [NAN, 0]], "missing").rows([2, 1])
    assert entries(labels.known) == {(0, 1): 0, (1, 0): 0, (1, 1): 1}
    assert entries(labels.positives) == {(1, 1): 1}


def test_the_given_matrix_is_not_changed():
    sparse = sp.csr_array(([1.0, 0.0, 1.0], [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    before = sparse.indices.copy(), sparse.data.copy()
    Labels.from_y(sparse, "missing")
    Labels.from_y(sparse)
    np.testing.assert_array_equal(sparse.indices, before[0])
    np.testing.assert_array_equal(sparse.data, before[1])


@pytest.mark.parametrize(
    ("given", "options", "sentence"),
    [
        ([[1, -1]], {}, "negative values"),
        (sp.csr_array([[1, -1]]), {}, "negative values"),
        ([[1, 2]], {}, "zeros and ones only.* got 2"),
        ([[1, 0.5]], {}, "zeros and ones only.* got 0.5"),
        (sp.csr_array([[1.0, np.inf]]), {}, "zeros and ones only"),
        ([[0, 0]], {}, "no known positive"),
        ([[NAN, 0]], {"unlabeled": "missing"}, "no known positive"),
        ([[1, NAN]], {}, 'unlabeled="missing"'),
        (sp.csr_array([[1, NAN]]), {"unlabeled": "missing"}, "leave unknown entries out"),
        ([1, 0], {}, r"2-D .*got shape \(2,\)"),
        ([[1], [0, 1]], {}, "MultiLabelBinarizer"),
        ([["a", "b"]], {}, "Unknown label type"),
        (np.empty((0, 3)), {}, "at least one row"),
        ([[1, 0]], {"unlabeled": "unknown"}, "unlabeled must be"),
        ([[1, 0]], {"mask": [[True, False]]}, 'needs unlabeled="missing"'),
        ([[1, 0]], {"unlabeled": "missing", "mask": [[True]]}, r"shape of Y, \(1, 2\)"),
        ([[1, 0]], {"unlabeled": "missing", "mask": [["x", "y"]]}, "mask must hold booleans"),
        ([[1, NAN]], {"unlabeled": "missing", "mask": [[True, True]]}, "the mask calls known"),
        ([[1, 0]], {"unlabeled": "missing", "mask": [[False, True]]}, "no known positive"),
    ],
)
def test_bad_labels_get_a_sentence(given, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Labels.from_y(given, **options)
