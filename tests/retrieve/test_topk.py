import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.retrieve import most_similar, top_k
from everypair.retrieve.tiles import tiles_of_factors


def integer_factors(rows, n_items, rank=6, seed=0, dtype=np.float32):
    """Small integers: every product is exact in any order, and ties are frequent."""
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(-2, 3, size=(size, rank)).astype(dtype) for size in (rows, n_items))


def top_k_twin(left, right, n, hidden):
    """All scores at once, hidden ones −inf, sorted by (−score, item)."""
    scores = (left @ right.T).copy()
    scores[hidden] = -np.inf
    order = np.lexsort((np.broadcast_to(np.arange(len(right)), scores.shape), -scores), axis=1)[:, :n]
    best = np.take_along_axis(scores, order, axis=1)
    items = np.where(best > -np.inf, order, -1)
    short = ((0, 0), (0, n - items.shape[1]))
    return np.pad(items, short, constant_values=-1), np.pad(best, short, constant_values=-np.inf)


def random_mask(rows, n_items, share, seed):
    return np.random.default_rng(seed).random((rows, n_items)) < share


def assert_same(got, expected):
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])
    assert got[0].dtype == np.int32


SMALL_BUDGET = 0.02  # forces several chunks and tiles on the small cases below


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "n_items"), [(1, 1), (3, 500), (70, 2500), (600, 130)])
@pytest.mark.parametrize("n", [1, 10, 300])
@pytest.mark.parametrize("memory_mb", [SMALL_BUDGET, 64])
def test_like_sorting_all_scores(dtype, rows, n_items, n, memory_mb):
    left, right = integer_factors(rows, n_items, dtype=dtype)
    got = top_k(left, right, n, memory_mb=memory_mb, n_threads=2)
    assert_same(got, top_k_twin(left, right, n, np.zeros((rows, n_items), dtype=bool)))
    assert got[1].dtype == dtype


@pytest.mark.parametrize("memory_mb", [SMALL_BUDGET, 64])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("share", [0.05, 0.9, 1.0])
def test_exclude_hides_every_stored_entry(memory_mb, index_dtype, share):
    left, right = integer_factors(90, 700)
    seen = random_mask(90, 700, share, seed=1)
    exclude = sp.csr_matrix(seen.astype(np.float32))
    exclude.data[::3] = -1.0  # dislikes are hidden too
    exclude.data[1::3] = 0.0  # and so are stored zeros
    exclude.indices, exclude.indptr = exclude.indices.astype(index_dtype), exclude.indptr.astype(index_dtype)
    assert_same(top_k(left, right, 10, exclude=exclude, memory_mb=memory_mb), top_k_twin(left, right, 10, seen))


@pytest.mark.parametrize("memory_mb", [SMALL_BUDGET, 64])
@pytest.mark.parametrize("allow_kind", ["none", "list", "bool", "mask"])
@pytest.mark.parametrize("block_kind", ["none", "list", "bool", "mask"])
@pytest.mark.parametrize("with_exclude", [False, True])
def test_filters_combine(memory_mb, allow_kind, block_kind, with_exclude):
    rows, n_items, n = 80, 900, 12
    left, right = integer_factors(rows, n_items)
    rng = np.random.default_rng(4)
    hidden = np.zeros((rows, n_items), dtype=bool)
    filters = {}
    for name, kind, share in (("allow", allow_kind, 0.4), ("block", block_kind, 0.3)):
        if kind == "none":
            continue
        if kind == "mask":
            chosen = rng.random((rows, n_items)) < share
            filters[name] = sp.coo_matrix(chosen)
        else:
            chosen = rng.random(n_items) < share
            filters[name] = chosen if kind == "bool" else rng.permutation(np.flatnonzero(chosen)).tolist()
        hidden |= ~chosen if name == "allow" else chosen
    if with_exclude:
        seen = rng.random((rows, n_items)) < 0.1
        filters["exclude"] = sp.csr_array(seen)
        hidden |= seen
    got = top_k(left, right, n, memory_mb=memory_mb, **filters)
    assert_same(got, top_k_twin(left, right, n, hidden))


def test_padding_only_where_too_few_items_remain():
    left, right = integer_factors(4, 6)
    mask = sp.csr_array(np.array([[1, 0, 0, 0, 0, 0], [0] * 6, [1] * 6, [0, 1, 0, 1, 1, 0]], dtype=bool))
    items, scores = top_k(left, right, 3, allow=mask)
    assert (items >= 0).sum(axis=1).tolist() == [1, 0, 3, 3]
    np.testing.assert_array_equal(items < 0, scores == -np.inf)
    items, scores = top_k(left, right, 2, allow=[])
    assert (items == -1).all()
    assert (scores == -np.inf).all()


def test_ties_rank_by_ascending_item_after_the_allow_list():
    left, right = np.ones((2, 1)), np.ones((100, 1))
    assert top_k(left, right, 3)[0].tolist() == [[0, 1, 2]] * 2
    assert top_k(left, right, 3, allow=[90, 7, 50, 8])[0].tolist() == [[7, 8, 50]] * 2


def test_mask_zeros_do_not_allow_and_do_not_block():
    left, right = np.ones((1, 1)), np.array([[3.0], [2.0], [1.0]])
    mask = sp.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert top_k(left, right, 3, allow=mask)[0].tolist() == [[1, -1, -1]]
    assert top_k(left, right, 3, block=mask)[0].tolist() == [[0, 2, -1]]
    assert mask.nnz == 2  # the caller's matrix is left alone
    assert top_k(left, right, 3, allow=np.array([[False, True, True]]))[0].tolist() == [[1, 2, -1]]


def test_unsorted_and_duplicate_entries_of_exclude():
    left, right = np.ones((1, 1)), np.arange(5.0)[:, None]
    exclude = sp.csr_matrix((np.ones(3), np.array([4, 1, 4]), np.array([0, 3])), shape=(1, 5))
    assert top_k(left, right, 5, exclude=exclude)[0].tolist() == [[3, 2, 0, -1, -1]]


def test_the_same_bits_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    left = rng.normal(size=(1500, 24)).astype(np.float32)
    right = rng.normal(size=(3000, 24)).astype(np.float32)
    seen = sp.csr_array(rng.random((1500, 3000)) < 0.02)
    first = top_k(left, right, 10, exclude=seen, n_threads=1)
    for threads in (2, 3):
        assert_same(top_k(left, right, 10, exclude=seen, n_threads=threads), first)


def test_empty_sides():
    items, scores = top_k(np.empty((0, 3)), np.ones((4, 3)), 2)
    assert items.shape == scores.shape == (0, 2)
    assert top_k(np.ones((2, 3)), np.empty((0, 3)), 2)[0].tolist() == [[-1, -1]] * 2


def test_mixed_precision_is_computed_in_the_greater():
    left, right = integer_factors(3, 20)
    assert top_k(left, right.astype(np.float64), 2)[1].dtype == np.float64


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("memory_mb", [0.25, 3.0])
@pytest.mark.parametrize("allow", [None, np.arange(0, 20_000, 2)])
def test_scratch_memory_stays_in_the_budget(n_threads, memory_mb, allow):
    left, right = integer_factors(2000, 20_000, rank=16)
    top_k(left[:40], right, 5, allow=allow)  # compiles
    listed = 0 if allow is None else 3 * allow.nbytes  # the item list itself is checked and sorted
    tracemalloc.start()
    try:
        items, scores = top_k(left, right, 5, allow=allow, memory_mb=memory_mb, n_threads=n_threads)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    overhead = 200_000  # chunk list, threads and the finite check, independent of the budget
    assert peak - items.nbytes - scores.nbytes - listed < memory_mb * 2**20 + overhead


@pytest.mark.parametrize("rows", [0, 1, 31, 500, 100_000])
@pytest.mark.parametrize("rank", [1, 64, 5000])
@pytest.mark.parametrize("memory_mb", [3, 64, 1000])
def test_tile_shapes_fit_the_formula(rows, rank, memory_mb):
    size, width, needed = tiles_of_factors(rows, rank, 8, memory_mb)
    assert size >= 1
    assert width >= 64
    assert needed == 8 * width * (size + rank) + 24 * size <= memory_mb * 2**20


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n": 0}, ValueError, "at least 1"),
        ({"n": 2.5}, TypeError, "integer"),
        ({"left": np.ones((5, 4))}, ValueError, "same number of columns"),
        ({"left": np.ones(3)}, ValueError, "matrix of factors"),
        ({"left": np.ones((5, 3), dtype=int)}, TypeError, "float32 or float64"),
        ({"left": np.full((5, 3), np.nan)}, ValueError, "left holds NaN"),
        ({"right": np.full((7, 3), np.inf)}, ValueError, "right holds NaN"),
        ({"exclude": np.zeros((5, 7))}, TypeError, "exclude must be a scipy sparse"),
        ({"exclude": sp.csr_array((7, 5))}, ValueError, "transpose"),
        ({"exclude": sp.csr_array((4, 7))}, ValueError, "5 × 7"),
        ({"allow": sp.csr_array((1, 7))}, ValueError, "allow must have one row per left row"),
        ({"allow": np.ones((5, 7))}, TypeError, "boolean"),
        ({"allow": [[1, 2]]}, TypeError, "boolean, got int64: .* one flat list of item indices for every row"),
        ({"block": [[True, False]]}, ValueError, "5 × 7, but has shape 1 × 2"),
        ({"allow": [0, 7]}, ValueError, "names item 7, but there are 7 items"),
        ({"block": [-1]}, ValueError, "names item -1"),
        ({"block": [True] * 6}, ValueError, "one entry per item, 7"),
        ({"block": [0.5]}, TypeError, "integer item indices"),
        ({"allow": 3}, ValueError, "list of item indices"),
        ({"memory_mb": 0}, ValueError, "positive"),
        ({"memory_mb": 1e-6}, ValueError, "too small"),
        ({"n_threads": 0}, ValueError, "n_threads"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(change, error, message):
    arguments = {"left": np.ones((5, 3)), "right": np.ones((7, 3)), "n": 2} | change
    with pytest.raises(error, match=message):
        top_k(**arguments)


def test_most_similar_like_all_cosines():
    factors = np.random.default_rng(0).normal(size=(300, 8))
    unit = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    rows = [5, 299, 5, 0]
    items, scores = most_similar(factors, rows, 7, n_threads=2)
    order = np.argsort(-cosines[rows], axis=1)[:, :7]
    np.testing.assert_array_equal(items, order)
    np.testing.assert_allclose(scores, np.take_along_axis(cosines[rows], order, axis=1), rtol=1e-12)


def test_most_similar_with_zero_tiny_and_huge_rows():
    factors = np.array([[0, 0], [1e-30, 0], [1e30, 1e30], [0, 0], [-1, 0]], dtype=np.float32)
    items, scores = most_similar(factors, np.arange(5), 4)
    assert items[0].tolist() == [1, 2, 3, 4]
    assert scores[0].tolist() == [0, 0, 0, 0]
    assert items[1].tolist() == [2, 0, 3, 4]
    np.testing.assert_allclose(scores[1], [np.sqrt(0.5), 0, 0, -1], rtol=1e-6)
    assert (np.arange(5)[:, None] != items).all()


def test_most_similar_is_at_most_one_and_keeps_padding():
    factors = np.repeat(np.random.default_rng(1).normal(size=(1, 7)).astype(np.float32), 4, axis=0)
    items, scores = most_similar(factors, [0], 5, block=[2])
    assert items.tolist() == [[1, 3, -1, -1, -1]]
    assert scores[0, :2].max() <= 1.0
    assert (scores[0, 2:] == -np.inf).all()


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [([4], ValueError, "names row 4"), ([0.5], TypeError, "integer row"), (1, TypeError, "list or array")],
)
def test_most_similar_refuses_bad_rows(rows, error, message):
    with pytest.raises(error, match=message):
        most_similar(np.ones((4, 2)), rows, 1)


@pytest.mark.parametrize("blocked", [3, 200])
def test_a_few_rows_and_many_hide_the_same_listed_items(blocked):
    """A short list is hidden from few rows, and left out of what is scored for many."""
    rng = np.random.default_rng(blocked)
    left, right = rng.standard_normal((50, 4)), rng.standard_normal((300, 4))
    block = rng.choice(300, blocked, replace=False)
    seen = sp.csr_array(rng.random((50, 300)) < 0.2)
    allowed = np.flatnonzero(rng.random(300) < 0.7)
    for filters in ({}, {"allow": allowed}):
        items, scores = top_k(left, right, 9, exclude=seen, block=block, **filters)
        assert not np.isin(items, block).any()
        for rows in (slice(0, 1), slice(10, 17)):
            few, values = top_k(left[rows], right, 9, exclude=seen[rows], block=block, **filters)
            assert np.array_equal(few, items[rows])
            assert np.array_equal(values, scores[rows])
