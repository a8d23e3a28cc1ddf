import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.hide import hide_listed, keep_listed, rename_items


def filter_twin(scores, listed, columns, keep):
    """Plain indexing on the whole matrix: −inf where listed (or, with keep, where not listed)."""
    meant = listed[:, columns]
    return np.where(meant != keep, -np.inf, scores[:, columns])


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("some_columns", [False, True])
@pytest.mark.parametrize("width", [1, 7, 64, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tile_by_tile_like_the_twin(keep, some_columns, width, dtype):
    rng = np.random.default_rng(width)
    scores = rng.normal(size=(12, 200)).astype(dtype)
    listed = rng.random(scores.shape) < rng.random((12, 1))
    listed[3], listed[4] = False, True
    columns = np.flatnonzero(rng.random(200) < 0.3).astype(np.int32) if some_columns else np.arange(200)
    pattern = sp.csr_array(listed)
    kernel = keep_listed if keep else hide_listed
    result = np.empty((8, len(columns)), dtype=dtype)
    start, stop = 2, 10
    cursors = pattern.indptr[start:stop].astype(np.int64)
    for first in range(0, len(columns), width):
        tile = np.ascontiguousarray(scores[start:stop, columns[first : first + width]])
        names = columns[first : first + width] if some_columns else np.empty(0, dtype=np.int32)
        kernel(tile, first, names, pattern.indptr.astype(np.int64), pattern.indices, start, cursors)
        result[:, first : first + width] = tile
    np.testing.assert_array_equal(result, filter_twin(scores, listed, columns, keep)[start:stop])


def test_rename_keeps_padding_and_other_rows():
    items = np.array([[0, 2], [1, -1], [2, 0]], dtype=np.int32)
    rename_items(items, np.array([10, 20, 30], dtype=np.int32), 0, 2)
    assert items.tolist() == [[10, 30], [20, -1], [2, 0]]
