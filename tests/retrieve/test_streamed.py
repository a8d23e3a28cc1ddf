"""Top-k of scores that come in blocks equals top-k of factors, with every filter and any block size."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.retrieve import top_k, top_k_of_blocks


def factors(rows=90, n_items=700, seed=0):
    random = np.random.default_rng(seed)
    return tuple(random.integers(-2, 3, size=(size, 6)).astype(np.float32) for size in (rows, n_items))


def mask(share, seed):
    return sp.csr_array((np.random.default_rng(seed).random((90, 700)) < share) * 1.0)


FILTERS = {
    "none": {},
    "exclude": {"exclude": mask(0.3, 1)},
    "allow list": {"allow": [5, 600, 3, 44]},
    "allow nothing": {"allow": []},
    "block list": {"block": np.arange(0, 700, 2)},
    "masks": {"allow": mask(0.4, 2), "block": mask(0.2, 3), "exclude": mask(0.2, 4)},
    "mask of listed": {"allow": np.arange(0, 700, 3), "exclude": mask(0.5, 5)},
}


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("memory_mb", [0.02, 128])
@pytest.mark.parametrize("n", [1, 12, 800])
def test_equals_top_k_of_factors(filters, memory_mb, n):
    left, right = factors()
    asked = []

    def score_block(start, stop):
        asked.append((start, stop))
        return left[start:stop] @ right.T

    got = top_k_of_blocks(score_block, 90, 700, n, memory_mb=memory_mb, n_threads=2, **filters)
    expected = top_k(left, right, n, **filters)
    assert np.array_equal(got[0], expected[0])
    assert np.array_equal(got[1], expected[1])
    assert got[1].dtype == np.float32
    assert [start for start, _ in asked] + [90] == [0] + [stop for _, stop in asked]
    assert (len(asked) > 1) == (memory_mb < 1)


def test_no_rows():
    items, scores = top_k_of_blocks(lambda start, stop: np.empty((0, 5)), 0, 5, 3)
    assert items.shape == scores.shape == (0, 3)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="memory_mb must be a positive number"):
        top_k_of_blocks(lambda start, stop: np.zeros((stop - start, 5)), 2, 5, 1, memory_mb=0)
    with pytest.raises(ValueError, match="n must be at least 1"):
        top_k_of_blocks(lambda start, stop: np.zeros((stop - start, 5)), 2, 5, 0)
