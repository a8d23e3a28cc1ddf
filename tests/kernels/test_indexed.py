import numpy as np
import pytest
from numba.core.errors import TypingError

from everypair.kernels.indexed import accumulate, dots, normal_product

COUNTS = [0, 1, 2, 3, 4, 5, 7, 8, 11, 15, 16, 33]
RANKS = [1, 3, 4, 7, 8, 11, 16, 35]  # around whole vectors of four and of eight numbers
FIRST = 6
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-13}


def dots_twin(V, chosen, vector):
    return V[chosen] @ vector


def accumulate_twin(V, chosen, coefficients, total):
    return total + coefficients @ V[chosen]


def normal_product_twin(V, chosen, curve, vector, total):
    product = V[chosen] @ vector
    return product, total + (curve * product) @ V[chosen]


@pytest.fixture(params=[(dtype, index) for dtype in (np.float32, np.float64) for index in (np.int32, np.int64)])
def kinds(request):
    return request.param


@pytest.fixture(params=RANKS)
def rank(request):
    return request.param


@pytest.fixture(params=COUNTS)
def rows(request, kinds, rank):
    """Random rows among 20, starting at ``FIRST`` of the indices, with the vectors to multiply them with."""
    dtype, index = kinds
    count = request.param
    rng = np.random.default_rng(count)
    indices = rng.integers(0, 20, FIRST + count + 3).astype(index)
    return {
        "V": rng.normal(size=(20, rank)).astype(dtype),
        "indices": indices,
        "chosen": indices[FIRST : FIRST + count],
        "count": count,
        "per_pair": rng.normal(size=count + 2).astype(dtype),
        "vector": rng.normal(size=rank).astype(dtype),
        "total": rng.normal(size=rank + 2).astype(dtype),
        "tolerance": TOLERANCE[dtype],
    }


def wide(array):
    return array.astype(np.float64)


def test_dots(rows):
    out = np.full(rows["count"] + 2, 77, rows["V"].dtype)
    dots(rows["V"], rows["indices"], FIRST, 0, rows["count"], rows["vector"], out)
    expected = dots_twin(wide(rows["V"]), rows["chosen"], wide(rows["vector"]))
    np.testing.assert_allclose(out[: rows["count"]], expected, rtol=rows["tolerance"], atol=rows["tolerance"])
    assert (out[rows["count"] :] == 77).all()


def test_accumulate(rows, rank):
    total = rows["total"].copy()
    accumulate(rows["V"], rows["indices"], FIRST, 0, rows["count"], rows["per_pair"], total)
    coefficients = wide(rows["per_pair"])[: rows["count"]]
    expected = accumulate_twin(wide(rows["V"]), rows["chosen"], coefficients, wide(rows["total"])[:rank])
    np.testing.assert_allclose(total[:rank], expected, rtol=rows["tolerance"], atol=2 * rows["tolerance"])
    assert np.array_equal(total[rank:], rows["total"][rank:])


def test_normal_product(rows, rank):
    count, total = rows["count"], rows["total"].copy()
    product = np.full(count + 2, 77, rows["V"].dtype)
    normal_product(rows["V"], rows["indices"], FIRST, count, rows["per_pair"], rows["vector"], product, total)
    expected_product, expected_total = normal_product_twin(
        wide(rows["V"]), rows["chosen"], wide(rows["per_pair"])[:count], wide(rows["vector"]),
        wide(rows["total"])[:rank],
    )  # fmt: skip
    np.testing.assert_allclose(product[:count], expected_product, rtol=rows["tolerance"], atol=rows["tolerance"])
    np.testing.assert_allclose(total[:rank], expected_total, rtol=10 * rows["tolerance"], atol=40 * rows["tolerance"])
    assert (product[count:] == 77).all()
    assert np.array_equal(total[rank:], rows["total"][rank:])


def test_a_part_of_the_pairs(rows, rank):
    """Parts give the same bits as the whole where they begin at a multiple of eight, and touch nothing else."""
    count, total, by_parts = rows["count"], rows["total"].copy(), rows["total"].copy()
    out, parts = np.full((2, count + 2), 77, rows["V"].dtype)
    dots(rows["V"], rows["indices"], FIRST, 0, count, rows["vector"], out)
    accumulate(rows["V"], rows["indices"], FIRST, 0, count, rows["per_pair"], total)
    for begin in range(0, count, 8):
        end = min(begin + 8, count)
        dots(rows["V"], rows["indices"], FIRST, begin, end, rows["vector"], parts)
        accumulate(rows["V"], rows["indices"], FIRST, begin, end, rows["per_pair"], by_parts)
        assert (parts[end:] == 77).all()
    assert np.array_equal(parts, out)
    assert np.array_equal(by_parts, total)


def test_numbers_of_another_dtype_or_layout_are_refused():
    V, indices, vector = np.ones((4, 3)), np.zeros(2, np.int32), np.ones(3)
    with pytest.raises(TypingError, match="dtype float64"):
        dots(V, indices, 0, 0, 2, vector.astype(np.float32), np.empty(2))
    with pytest.raises(TypingError, match="C-contiguous"):
        dots(np.asfortranarray(V), indices, 0, 0, 2, vector, np.empty(2))
