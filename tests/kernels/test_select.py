import numpy as np
import pytest

from everypair.kernels.select import RUN, clear_heaps, push_tile, select_top, sort_heaps


def select_top_twin(scores, n):
    """Sort every row by (−score, item); −inf and NaN are never selected."""
    items = np.full((len(scores), n), -1, dtype=np.int32)
    best = np.full((len(scores), n), -np.inf, dtype=scores.dtype)
    for row, line in enumerate(scores):
        order = np.lexsort((np.arange(len(line)), -line))
        order = order[line[order] > -np.inf][:n]
        items[row, : len(order)] = order
        best[row, : len(order)] = line[order]
    return items, best


def select(scores, n):
    items = np.full((len(scores), n), 77, dtype=np.int32)
    best = np.full((len(scores), n), 77, dtype=scores.dtype)
    select_top(scores, n, items, best, 0, len(scores))
    return items, best


def assert_same(got, expected):
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, RUN - 1, RUN, RUN + 1, 5 * RUN, 1000])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 64, 257, 1500])
def test_random_scores_like_the_twin(dtype, width, n):
    scores = np.random.default_rng(width + n).normal(size=(7, width)).astype(dtype)
    assert_same(select(scores, n), select_top_twin(scores, n))


@pytest.mark.parametrize("n", [1, 5, 30, 400])
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_many_ties_rank_by_ascending_item(n, levels):
    scores = np.random.default_rng(levels).integers(0, levels, size=(20, 300)).astype(np.float32)
    assert_same(select(scores, n), select_top_twin(scores, n))


@pytest.mark.parametrize("share", [0.5, 0.98, 1.0])
def test_minus_infinity_is_never_selected(share):
    rng = np.random.default_rng(3)
    scores = rng.integers(-3, 3, size=(30, 200)).astype(np.float64)
    scores[rng.random(scores.shape) < share] = -np.inf
    assert_same(select(scores, 10), select_top_twin(scores, 10))


def test_nan_is_never_selected_and_plus_infinity_comes_first():
    scores = np.array([[np.nan, 1.0, np.inf, np.nan, -2.0]])
    items, best = select(scores, 4)
    assert items.tolist() == [[2, 1, 4, -1]]
    assert best.tolist() == [[np.inf, 1.0, -2.0, -np.inf]]


def test_ascending_scores_replace_every_entry():
    scores = np.arange(500, dtype=np.float32)[None, :]
    assert select(scores, 4)[0].tolist() == [[499, 498, 497, 496]]


def test_no_items_give_only_padding():
    items, best = select(np.empty((2, 0), dtype=np.float32), 3)
    assert (items == -1).all()
    assert (best == -np.inf).all()


def test_only_the_rows_asked_for_are_written():
    scores = np.random.default_rng(0).normal(size=(6, 90)).astype(np.float32)
    items = np.full((6, 3), 77, dtype=np.int32)
    best = np.full((6, 3), 77, dtype=np.float32)
    select_top(scores, 3, items, best, 2, 4)
    expected = select_top_twin(scores, 3)
    assert_same((items[2:4], best[2:4]), (expected[0][2:4], expected[1][2:4]))
    assert (np.delete(items, [2, 3], axis=0) == 77).all()


@pytest.mark.parametrize("width", [1, 37, RUN, 200])
def test_tiles_give_the_same_as_one_pass(width):
    scores = np.random.default_rng(1).integers(0, 40, size=(9, 333)).astype(np.float32)
    items = np.empty((9, 20), dtype=np.int32)
    best = np.empty((9, 20), dtype=np.float32)
    clear_heaps(items, best, 0, 9)
    for first in range(0, 333, width):
        for start, stop in [(0, 4), (4, 9)]:
            tile = np.ascontiguousarray(scores[start:stop, first : first + width])
            push_tile(tile, first, items, best, start, stop)
    sort_heaps(items, best, 0, 9)
    assert_same((items, best), select_top_twin(scores, 20))
