import numpy as np
import pytest
import scipy.sparse as sp

from everypair.check import as_csr
from everypair.data.pairs import Pairs

MATRIX = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, -3, 0.5, 0], [4, 0, -1, 0], [1, 1, 1, 0]])
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr"]


def random_matrix(dislikes=True, shape=(30, 20), seed=0):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random(shape) < 0.3, rng.uniform(0.5, 3, shape).round(1), 0)
    return np.where(rng.random(shape) < 0.3, -matrix, matrix) if dislikes else matrix


def weights_of(stored):
    """One weight for every pair; those that are all 1 are stored once."""
    assert len(stored.weights) in (1, len(stored.indices))
    assert len(stored.weights) == 1 or (stored.weights != 1).any()
    return np.broadcast_to(stored.weights, len(stored.indices))


def assert_holds(pairs, matrix):
    """``pairs`` stores exactly the nonzeros of a dense ``matrix``, the same in both orientations."""
    i, j = np.nonzero(matrix)
    assert pairs.shape == matrix.shape
    assert pairs.nnz == len(i)
    dtype = pairs.rows.weights.dtype
    np.testing.assert_array_equal(np.repeat(np.arange(matrix.shape[0]), np.diff(pairs.rows.indptr)), i)
    np.testing.assert_array_equal(pairs.rows.indices, j)
    np.testing.assert_array_equal(weights_of(pairs.rows), np.abs(matrix[i, j]).astype(dtype))
    rows, columns = np.nonzero(matrix.T)[::-1]
    np.testing.assert_array_equal(np.repeat(np.arange(matrix.shape[1]), np.diff(pairs.columns.indptr)), columns)
    np.testing.assert_array_equal(pairs.columns.indices, rows)
    np.testing.assert_array_equal(weights_of(pairs.columns), np.abs(matrix[rows, columns]).astype(dtype))
    np.testing.assert_array_equal(pairs.by_columns(pairs.rows.weights), pairs.columns.weights)
    np.testing.assert_array_equal(i[pairs.order], rows)
    np.testing.assert_array_equal(pairs.rows.indices[pairs.order], columns)
    np.testing.assert_array_equal(pairs.left_counts, (matrix > 0).sum(axis=1))
    np.testing.assert_array_equal(pairs.right_counts, (matrix > 0).sum(axis=0))
    assert pairs.n_positives == (matrix > 0).sum()
    if (matrix < 0).any():
        np.testing.assert_array_equal(pairs.disliked, matrix[i, j] < 0)
    else:
        assert pairs.disliked is None
    np.testing.assert_array_equal(pairs.to_csr().toarray(), matrix.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dislikes", [False, True])
@pytest.mark.parametrize("form", [*FORMATS, "dense", "list"])
def test_every_format_gives_the_same_pairs(form, dislikes, dtype):
    matrix = random_matrix(dislikes)
    if form == "bsr":
        given = sp.csr_array(matrix).tobsr((1, 1))
    elif form in FORMATS:
        given = sp.csr_array(matrix).asformat(form)
    else:
        given = matrix if form == "dense" else matrix.tolist()
    pairs = Pairs.from_matrix(given, dtype=dtype)
    assert pairs.rows.weights.dtype == pairs.columns.weights.dtype == dtype
    assert pairs.duplicates == 0
    assert_holds(pairs, matrix)


def test_diagonal_format():
    assert_holds(Pairs.from_matrix(sp.dia_array(np.diag([1.0, 0, 2, -1]))), np.diag([1.0, 0, 2, -1]))
    assert Pairs.from_matrix(sp.dia_array(np.diag([1.0, 0, 2, -1]))).duplicates == 0


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64])
def test_every_kind_of_number(kind):
    matrix = random_matrix(dislikes=False).astype(kind)
    assert_holds(Pairs.from_matrix(matrix), matrix.astype(np.float64))
    if kind != np.float16:  # which scipy.sparse refuses
        assert_holds(Pairs.from_matrix(sp.csr_array(matrix)), matrix.astype(np.float64))


@pytest.mark.parametrize("matrix", [sp.csr_matrix(MATRIX), sp.coo_matrix(MATRIX), sp.csc_matrix(MATRIX)])
def test_sparse_matrices_are_like_sparse_arrays(matrix):
    assert_holds(Pairs.from_matrix(matrix), MATRIX)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_index_types(form, index):
    matrix = random_matrix()
    given = sp.csr_array(matrix).asformat(form)
    if form == "coo":
        given = sp.coo_array((given.data, tuple(part.astype(index) for part in given.coords)), given.shape)
    else:
        given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    pairs = Pairs.from_matrix(given)
    assert pairs.rows.indptr.dtype == pairs.columns.indptr.dtype == np.int64
    assert pairs.rows.indices.dtype == pairs.columns.indices.dtype == np.int32
    assert_holds(pairs, matrix)


def test_columns_beyond_int32_keep_wide_indices():
    wide = 2**31 + 5
    matrix = sp.csr_array((np.ones(2), np.array([3, wide - 1]), np.array([0, 1, 2])), shape=(2, wide))
    csr, stored = as_csr(matrix, np.float32, "interactions")
    assert csr.indices.dtype == np.int64
    assert csr.indices.tolist() == [3, wide - 1]
    assert stored == 2


def test_unsorted_rows_are_sorted_and_the_input_is_left_alone():
    data, indices, indptr = np.array([3.0, 1.0, 2.0]), np.array([2, 0, 1]), np.array([0, 3, 3])
    matrix = sp.csr_array((data.copy(), indices.copy(), indptr.copy()), shape=(2, 3))
    pairs = Pairs.from_matrix(matrix)
    assert pairs.rows.indices.tolist() == [0, 1, 2]
    assert pairs.rows.weights.tolist() == [1, 2, 3]
    assert pairs.duplicates == 0
    for kept, given in ((data, matrix.data), (indices, matrix.indices), (indptr, matrix.indptr)):
        np.testing.assert_array_equal(given, kept)


def with_duplicates(form, kind=np.float64, values=(1, 2, 3, 4)):
    """Entries (0, 1) twice, (1, 0) and (1, 2) once; None where the format cannot hold them."""
    values = np.array(values, kind)
    if form == "coo":
        return sp.coo_array((values, ([0, 1, 0, 1], [1, 0, 1, 2])), shape=(2, 3))
    if form == "csr":
        return sp.csr_array((values[[0, 2, 1, 3]], np.array([1, 1, 0, 2]), np.array([0, 2, 4])), shape=(2, 3))
    if form == "csc":
        return sp.csc_array((values[[1, 0, 2, 3]], np.array([1, 0, 0, 1]), np.array([0, 1, 3, 4])), shape=(2, 3))
    return sp.bsr_array(
        (values[[0, 2, 1, 3]].reshape(4, 1, 1), np.array([1, 1, 0, 2]), np.array([0, 2, 4])), shape=(2, 3)
    )


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr"])
@pytest.mark.parametrize("looked_at", [False, True])
def test_duplicates_are_summed_and_counted(form, looked_at):
    matrix = with_duplicates(form)
    if looked_at and form != "coo":
        assert not matrix.has_canonical_format  # scipy keeps the answer with the matrix
    pairs = Pairs.from_matrix(matrix)
    assert pairs.duplicates == 1
    assert_holds(pairs, np.array([[0, 4, 0], [2, 0, 4]]))
    assert matrix.nnz == 4


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("kind", "values", "total"),
    [(np.int8, (100, 1, 100, 1), 200), (np.uint8, (200, 1, 100, 1), 300), (bool, (1, 1, 1, 1), 2)],
)
def test_sums_of_narrow_numbers_do_not_overflow(form, kind, values, total):
    pairs = Pairs.from_matrix(with_duplicates(form, kind, values))
    assert pairs.rows.weights.tolist() == [total, 1, 1]
    assert pairs.disliked is None


def test_duplicates_that_cancel_are_refused():
    with pytest.raises(ValueError, match="explicit zeros"):
        Pairs.from_matrix(with_duplicates("coo", values=(1, 2, -1, 4)))


def test_pairs_do_not_follow_later_changes_of_the_matrix():
    matrix = sp.csr_array(random_matrix().astype(np.float32))
    dense = matrix.toarray()
    pairs = Pairs.from_matrix(matrix)
    matrix.data[:] = 9
    matrix.indices[:] = 0
    matrix.indptr[:] = 0
    assert_holds(pairs, dense)


def test_coordinates():
    pairs = Pairs.from_coo([3, 0, 2, 2, 3], np.array([0, 2, 1, 2, 2], np.uint8), [4, 2, -3, 0.5, -1], shape=(4, 4))
    expected = MATRIX[:4].copy()
    expected[0, 0] = 0
    assert_holds(pairs, expected)


def test_coordinates_default_to_weight_one_and_the_smallest_shape():
    pairs = Pairs.from_coo([0, 1, 1, 1], [2, 0, 2, 2], dtype=np.float64)
    assert_holds(pairs, np.array([[0, 0, 1], [1, 0, 2]]))
    assert pairs.duplicates == 1
    assert pairs.rows.weights.dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([0, 1], [0]), ValueError, "1-D arrays of one length"),
        (([[0]], [[0]]), ValueError, "1-D arrays of one length"),
        (([0.0, 1.0], [0, 1]), TypeError, "integer positions; use read_events"),
        ((["a"], [0]), TypeError, "integer positions; use read_events"),
        (([True], [False]), TypeError, "integer positions; use read_events"),
        (([0, -1], [0, 1]), ValueError, "negative positions: count from 0"),
        (([0], [-1]), ValueError, "negative positions: count from 0"),
        (([0, 1], [0, 1], [1.0]), ValueError, r"one entry per pair, got \(1,\) for 2 pairs"),
        (([], []), ValueError, "is empty"),
        (([0, 5], [0, 1], None, (3, 3)), ValueError, "exceeds"),
        (([0, 1], [0, 1], [1.0, 0.0]), ValueError, "explicit zeros"),
        (([0, 1], [0, 1], [1.0, np.nan]), ValueError, "NaN or infinite"),
    ],
)
def test_bad_coordinates_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        Pairs.from_coo(*arguments)


@pytest.mark.parametrize(
    ("matrix", "error", "words"),
    [
        (np.ones(3), ValueError, "interactions must be two-dimensional .*got 1-D"),
        (np.ones((2, 2, 2)), ValueError, "got 3-D"),
        (1.0, ValueError, "got 0-D"),
        (sp.coo_array(np.ones(3)), ValueError, "got 1-D"),
        (np.empty((0, 3)), ValueError, r"empty: its shape is \(0, 3\)"),
        (sp.csr_array((3, 0)), ValueError, r"empty: its shape is \(3, 0\)"),
        (np.array([["a", "b"]]), TypeError, "numeric 2-D array, got an array of text.*read_events"),
        ([("ann", "apple")], TypeError, "numeric 2-D array, got list.*read_events"),
        ({"user": [1]}, TypeError, "numeric 2-D array, got dict"),
        (None, TypeError, "numeric 2-D array, got NoneType"),
        (np.array([[1 + 2j]]), TypeError, "must hold real numbers, got dtype complex128"),
        (sp.csr_array(np.array([[1 + 2j]])), TypeError, "must hold real numbers, got dtype complex128"),
        (np.array([[1, np.nan]]), ValueError, "NaN or infinite"),
        (sp.coo_array(np.array([[1, np.inf]])), ValueError, "NaN or infinite"),
        (np.array([[1, 1e300]]), ValueError, "NaN or infinite values as float32.*rescale"),
        (sp.csr_array((np.array([1.0, 0.0]), ([0, 1], [0, 1])), shape=(2, 2)), ValueError, "eliminate_zeros"),
        (np.zeros((2, 2)), ValueError, "no positive entry"),
        (-np.eye(2), ValueError, "no positive entry"),
        (sp.csr_array((2, 2)), ValueError, "no positive entry"),
    ],
)
def test_bad_matrices_are_refused(matrix, error, words):
    with pytest.raises(error, match=words):
        Pairs.from_matrix(matrix)


@pytest.mark.parametrize("position", [-1, 2, 10**6])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_positions_outside_the_matrix_are_refused(form, position):
    matrix = form((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    matrix.indices[1] = position  # scipy does not look again
    with pytest.raises(ValueError, match=r"interactions is not a valid CS[RC] matrix"):
        Pairs.from_matrix(matrix)


def test_refusals_name_the_argument():
    with pytest.raises(ValueError, match=r"^fold-in rows is empty"):
        Pairs.from_matrix(np.empty((0, 1)), name="fold-in rows")


@pytest.mark.parametrize("dislike_target", [0.0, -1.0, 0.3])
def test_default_targets(dislike_target):
    pairs = Pairs.from_matrix(MATRIX, dtype=np.float64)
    expected = np.where(MATRIX > 0, 1.0, dislike_target)[np.nonzero(MATRIX)]
    np.testing.assert_array_equal(pairs.resolve_targets(dislike_target), expected)
    assert pairs.targets is None
    assert pairs.resolve_targets(dislike_target).dtype == np.float64


def test_targets_without_dislikes_are_one():
    pairs = Pairs.from_matrix(np.abs(MATRIX))
    assert (pairs.resolve_targets(-1.0) == 1).all()
    assert pairs.resolve_targets(-1.0).dtype == np.float32


@pytest.mark.parametrize("dislikes", [False, True])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_explicit_targets_are_aligned_zeros_included(form, dtype, dislikes):
    matrix = random_matrix(dislikes)
    rng = np.random.default_rng(1)
    i, j = np.nonzero(matrix)
    values = rng.choice([-1.0, 0.0, 0.25, 2.0], len(i))
    assert (values == 0).any()
    shuffled = rng.permutation(len(i))
    targets = sp.coo_array((values[shuffled], (i[shuffled], j[shuffled])), shape=matrix.shape).asformat(form)
    pairs = Pairs.from_matrix(sp.csc_array(matrix), targets, dtype)
    assert targets.nnz == len(i)
    assert pairs.targets.dtype == dtype
    np.testing.assert_array_equal(pairs.targets, values)
    np.testing.assert_array_equal(pairs.resolve_targets(-1.0), values)
    assert_holds(pairs, matrix)


def test_dense_targets_without_zeros():
    pairs = Pairs.from_matrix(MATRIX, np.where(MATRIX != 0, 0.5 * MATRIX, 0))
    np.testing.assert_array_equal(pairs.targets, (0.5 * MATRIX)[np.nonzero(MATRIX)].astype(np.float32))


@pytest.mark.parametrize(
    ("targets", "error", "words"),
    [
        (MATRIX.T, ValueError, r"targets have shape \(4, 5\), interactions \(5, 4\)"),
        (np.abs(MATRIX[:, ::-1]), ValueError, "targets must store a value .zero included"),
        (np.where(MATRIX == 2, 0, MATRIX), ValueError, "8 entries against 9|for exactly the pairs"),
        (np.where(MATRIX == 2, np.nan, MATRIX), ValueError, "targets have NaN or infinite"),
        (np.where(MATRIX == 2, np.inf, MATRIX), ValueError, "targets have NaN or infinite"),
        (MATRIX[0], ValueError, "targets must be two-dimensional"),
        (np.full((5, 4), "a"), TypeError, "targets must be a sparse matrix or a numeric"),
    ],
)
def test_bad_targets_are_refused(targets, error, words):
    with pytest.raises(error, match=words):
        Pairs.from_matrix(MATRIX, targets)


def test_empty_rows_and_columns_are_legal():
    matrix = np.zeros((4, 6))
    matrix[2, 3] = 1
    assert_holds(Pairs.from_matrix(matrix), matrix)
    one = Pairs.from_matrix([[1]])
    assert (one.shape, one.nnz) == ((1, 1), 1)


def test_canonical_input_of_the_right_type_is_not_copied():
    matrix = sp.csr_array(random_matrix().astype(np.float32))
    csr, stored = as_csr(matrix, np.float32, "interactions")
    assert stored == matrix.nnz
    assert np.shares_memory(csr.data, matrix.data)
