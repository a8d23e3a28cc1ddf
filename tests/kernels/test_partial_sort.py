"""The greatest scores at the front, the lesser item first among equals, beside a sort."""

import numpy as np
import pytest

from everypair.kernels.partial_sort import drop_least, greatest_first


def lists():
    random = np.random.default_rng(0)
    yield random.random(1000)
    yield random.pareto(0.5, 1000) + 1e-9
    yield random.integers(1, 6, 1000) * 1.0  # many ties
    yield np.ones(300)
    yield np.sort(random.random(500))
    yield np.sort(random.random(500))[::-1].copy()
    yield random.random(3)


@pytest.mark.parametrize("width", [1, 2, 50, 200, 999, 2000])
def test_greatest(width):
    for scores in lists():
        count = len(scores)
        items = np.random.default_rng(1).permutation(count).astype(np.int32)
        expected = items[np.lexsort((items, -scores))[:width]]
        of = dict(zip(items.tolist(), scores.tolist()))
        padded, names = np.append(scores, 9.0), np.append(items, np.int32(-7))
        left = drop_least(padded, names, count, width)
        assert min(width, count) <= left <= count
        greatest_first(padded, names, left, width)
        got = names[: min(left, width)]
        assert sorted(got.tolist()) == sorted(expected.tolist())
        assert [of[item] for item in got.tolist()] == padded[: len(got)].tolist()
        assert names[count] == -7


def test_most_of_what_is_not_among_them_is_dropped():
    scores = np.random.default_rng(0).random(2000)
    assert drop_least(scores, np.arange(2000, dtype=np.int32), 2000, 200) < 210
