"""A row's list has the same bits whatever rows stand beside it, though many rows are scored roughly first."""

import numpy as np
import pytest

from everypair.kernels.product_rows import listed_scores, score_tile
from everypair.kernels.select import clear_heaps, push_tile, sort_heaps
from everypair.retrieve import Scores, most_similar, room
from everypair.retrieve.index import Index

ROWS, ITEMS = 130, 3001


def factors(rank, dtype, seed=0):
    random = np.random.default_rng(seed)
    left, right = (random.standard_normal((size, rank)) for size in (ROWS, ITEMS))
    right[5:400:7] = right[3]  # ties
    right[1000:1400] = right[3] * (1 + 1e-7 * random.standard_normal((400, 1)))  # and what rounding alone tells apart
    return (left * 10.0 ** random.uniform(-3, 3, (ROWS, 1))).astype(dtype), right.astype(dtype)


def part_of(scores, rows):
    fill = None
    if scores.fill is not None:

        def fill(start, stop, out):
            for line in range(stop - start):
                scores.fill(rows[start + line], rows[start + line] + 1, out[line : line + 1])

    left = None if scores.left is None else scores.left[rows]
    return Scores(len(rows), scores.n_items, scores.dtype, fill, left, scores.index)


def with_offsets(scores, seed=1):
    offsets = np.random.default_rng(seed).standard_normal((ROWS, ITEMS)).astype(scores.dtype)

    def fill(start, stop, out):
        out[:] = offsets[start:stop]

    return Scores(ROWS, ITEMS, scores.dtype, fill, scores.left, scores.index)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [1, 3, 8, 21, 64, 130])
def test_eight_rows_at_a_time_have_the_bits_of_one(rank, dtype):
    left, right = factors(rank, dtype)
    every = np.arange(ITEMS, dtype=np.int32)
    together, alone = (np.empty((9, ITEMS), dtype) for _ in range(2))
    score_tile(left, 0, 9, right, every, 0, ITEMS, together)
    for row in range(9):
        score_tile(left, row, row + 1, right, every, 0, ITEMS, alone[row : row + 1])
    listed = np.empty(ITEMS, dtype)
    listed_scores(left, np.full(ITEMS, 4), right, every, listed)
    assert np.array_equal(together, alone)
    assert np.array_equal(listed, alone[4])
    bound = rank * np.finfo(dtype).eps * np.abs(left[:9]) @ np.abs(right).T
    assert (np.abs(together - left[:9].astype(np.float64) @ right.T.astype(np.float64)) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [3, 64])
@pytest.mark.parametrize("kind", ["factors", "offsets", "scale", "scale and offsets"])
@pytest.mark.parametrize("allow", [None, np.arange(0, ITEMS, 3)])
@pytest.mark.parametrize("n", [1, 10, 300])
def test_any_number_of_rows(rank, kind, dtype, allow, n):
    left, right = factors(rank, dtype)
    index = Index.of(right)
    scores = Scores.of_index(left, index.unit if "scale" in kind else index)
    if "offsets" in kind:
        scores = with_offsets(scores)
    items, values = scores.top_k(n, allow=allow, n_threads=2)
    assert np.array_equal(scores.top_k(n, allow=allow, n_threads=1)[1], values)
    for rows in (np.array([7]), np.arange(20, 27), np.arange(64)):
        few_items, few = part_of(scores, rows).top_k(n, allow=allow, n_threads=1)
        assert np.array_equal(few_items, items[rows])
        assert np.array_equal(few, values[rows])
    shown = items >= 0
    rows = np.nonzero(shown)[0]
    assert np.array_equal(scores.pairs(rows, items[shown], 1), values[shown])


def test_rough_scores_are_made_and_finished(monkeypatch):
    """The test above would pass if no row were ever scored roughly."""
    left, right = factors(64, np.float32)
    counts = []
    finish = room.finish_tile
    monkeypatch.setattr(room, "finish_tile", lambda *args: counts.append(finish(*args)))
    Scores.of_factors(left, right).top_k(10, n_threads=1)
    assert ROWS * 10 <= sum(counts) < 0.2 * ROWS * ITEMS


def test_a_margin_of_nothing_loses_items(monkeypatch):
    """So the data above hold items that only the margin keeps."""
    left, right = factors(64, np.float32)
    exact = [part_of(Scores.of_factors(left, right), np.array([row])).top_k(300)[1][0] for row in range(ROWS)]
    monkeypatch.setattr(room.Room, "_margins", lambda self, start, stop, reach: np.full(stop - start, 0.0))
    assert not np.array_equal(Scores.of_factors(left, right).top_k(300)[1], exact)


def test_like_sorting_the_scores_of_the_compiled_loop():
    left, right = factors(21, np.float32)
    scores = np.empty((ROWS, ITEMS), np.float32)
    score_tile(left, 0, ROWS, right, np.arange(ITEMS, dtype=np.int32), 0, ITEMS, scores)
    order = np.lexsort((np.broadcast_to(np.arange(ITEMS), scores.shape), -scores), axis=1)[:, :50]
    items, values = Scores.of_factors(left, right).top_k(50)
    assert np.array_equal(items, order)
    assert np.array_equal(values, np.take_along_axis(scores, order, axis=1))


@pytest.mark.parametrize("extreme", [1e-38, 1e30])
def test_cosines_of_extreme_lengths(extreme):
    _, right = factors(21, np.float32)
    expected = most_similar(right, np.arange(64), 10)
    scaled = right.copy()
    scaled[::2] *= np.float32(extreme)
    items, cosines = most_similar(scaled, np.arange(64), 10)
    assert np.isfinite(cosines).all()
    np.testing.assert_allclose(cosines, expected[1], atol=2e-6)
    one = most_similar(scaled, [11], 10)
    assert np.array_equal(one[0][0], items[11])
    assert np.array_equal(one[1][0], cosines[11])


def test_heaps_of_exact_scores_are_those_of_finished_ones():
    """Rows of −inf alone, and lists longer than what is left."""
    left, right = factors(8, np.float32)
    blocked = np.arange(10, ITEMS)
    items, values = Scores.of_factors(left, right).top_k(12, block=blocked)
    scores = np.empty((ROWS, 10), np.float32)
    score_tile(left, 0, ROWS, right, np.arange(10, dtype=np.int32), 0, 10, scores)
    own_items, own = np.empty((ROWS, 12), np.int32), np.empty((ROWS, 12), np.float32)
    clear_heaps(own_items, own, 0, ROWS)
    push_tile(scores, 0, own_items, own, 0, ROWS)
    sort_heaps(own_items, own, 0, ROWS)
    assert np.array_equal(items, own_items)
    assert np.array_equal(values, own)
