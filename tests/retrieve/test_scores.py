"""Top-k of scores that are written a few rows at a time equals top-k of factors, with every filter and any memory."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.retrieve import Scores, top_k
from everypair.retrieve.index import Index

ROWS, ITEMS = 90, 2300


def factors(seed=0, rank=6):
    """Small integers: every product is exact in any order, and ties are frequent."""
    random = np.random.default_rng(seed)
    return tuple(random.integers(-2, 3, size=(size, rank)).astype(np.float32) for size in (ROWS, ITEMS))


def mask(share, seed):
    return sp.csr_array((np.random.default_rng(seed).random((ROWS, ITEMS)) < share) * 1.0)


FILTERS = {
    "none": {},
    "exclude": {"exclude": mask(0.3, 1)},
    "allow list": {"allow": [5, 2100, 3, 44]},
    "allow nothing": {"allow": []},
    "block list": {"block": np.arange(0, ITEMS, 2)},
    "masks": {"allow": mask(0.4, 2), "block": mask(0.2, 3), "exclude": mask(0.2, 4)},
    "mask of listed": {"allow": np.arange(0, ITEMS, 3), "exclude": mask(0.5, 5)},
}


def split_in_two(left, right, rank):
    """The same products: the first ``rank`` columns as factors, the rest written."""

    def fill(start, stop, out):
        out[:] = left[start:stop, rank:] @ right[:, rank:].T

    halves = (None, None) if rank == 0 else (left[:, :rank].copy(), Index.of(right[:, :rank].copy()))
    return Scores(ROWS, ITEMS, np.dtype(np.float32), fill, *halves)


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize("n", [1, 12, 2400])
def test_equals_top_k_of_factors(filters, rank, n):
    left, right = factors()
    scores = split_in_two(left, right, rank)
    expected = top_k(left, right, n, **filters)
    for memory_mb in (0.05, 128):
        got = scores.top_k(n, memory_mb=memory_mb, n_threads=2, **filters)
        assert np.array_equal(got[0], expected[0])
        assert np.array_equal(got[1], expected[1])
        assert got[1].dtype == np.float32


@pytest.mark.parametrize("rank", [0, 3])
def test_dense(rank):
    left, right = factors()
    scores = split_in_two(left, right, rank)
    assert np.array_equal(scores.dense(2), left @ right.T)


def test_no_rows():
    scores = Scores(0, 5, np.dtype(np.float64), lambda start, stop, out: None)
    assert scores.top_k(3)[0].shape == (0, 3)
    assert scores.dense(1).shape == (0, 5)


def test_memory_decides_how_many_rows_are_written_at_once():
    asked = []
    scores = Scores(400, 1000, np.dtype(np.float64), lambda start, stop, out: asked.append(len(out)) or out.fill(0))
    scores.top_k(1, memory_mb=1, n_threads=1)
    assert sum(asked) == 400
    assert max(asked) * 1000 * 8 <= 2**19
    with pytest.raises(ValueError, match="memory_mb must be a positive number"):
        scores.top_k(1, memory_mb=0)
    with pytest.raises(ValueError, match="n must be at least 1"):
        scores.top_k(0)
