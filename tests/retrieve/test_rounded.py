"""Lists found through factors in bytes are those of exact scores, whatever numbers try to break the bound."""

import numpy as np
import pytest
import scipy.sparse as sp

from everypair.kernels.bounded_search import CAUTION
from everypair.kernels.byte_rows import MOST_OF_A_SUM, bound_run, round_rows, round_word
from everypair.retrieve import Scores, bounded, index
from everypair.retrieve.index import Index
from everypair.retrieve.rounded import RoundedFactors

ROWS, ITEMS = 6, 2000


def hostile(kind, rank, dtype, seed=0):
    """Users and items: numbers whose rounding to bytes, or whose scores in ``dtype``, go wrong in some way."""
    random = np.random.default_rng(seed)
    left, right = (random.standard_normal((size, rank)) for size in (ROWS, ITEMS))
    if kind == "ties":
        right[5:400:7] = right[3]
        right[1000:1400] = right[3] * (1 + 2e-7 * random.standard_normal((400, 1)))
    elif kind == "scales":  # of rows, over most of the range of float32
        right *= 10.0 ** random.uniform(-30, 30, (ITEMS, 1))
        left *= 10.0 ** random.uniform(-6, 6, (ROWS, 1))
    elif kind == "columns":  # a column a thousand times the others: these are lost in bytes, and decide
        right[:, 0] *= 1e3
        left[:, 0] *= 1e-6
    elif kind == "tiny":
        right *= 1e-40 if dtype == np.float32 else 1e-310
    elif kind == "huge":
        right *= 1e30 if dtype == np.float32 else 1e140
    elif kind == "below":  # all items have the same bytes
        right = (random.integers(-126, 126, rank) + random.uniform(-0.45, 0.45, right.shape)) / 127
        right[:, 0] = 1
    elif kind == "zeros":
        right[::2] = 0
        left[0] = 0
    elif kind == "negative":  # every score is, so that the best are those nearest to 0
        left, right = -np.abs(left), np.abs(right)
    elif kind == "close":  # one direction, lengths a few units of rounding apart
        right = np.ones((ITEMS, 1)) * right[:1] * (1 + 1e-6 * random.standard_normal((ITEMS, 1)))
    return left.astype(dtype), right.astype(dtype)


KINDS = ("plain", "ties", "scales", "columns", "tiny", "huge", "below", "zeros", "negative", "close")


@pytest.fixture
def rounding(monkeypatch):
    """Switch for rounding: always or never."""

    def switch(on):
        monkeypatch.setattr(index, "ROUNDED_FROM", 0 if on else np.inf)
        monkeypatch.setattr(index, "SEARCHES_BEFORE", 0)

    return switch


def with_offsets(left, found, size, dtype):
    offsets = (size * np.random.default_rng(1).standard_normal((len(left), ITEMS))).astype(dtype)

    def fill(start, stop, out):
        out[:] = offsets[start:stop]

    return Scores(len(left), ITEMS, np.dtype(dtype), fill, left, found)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [1, 7, 64, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_lists_and_bits_are_those_of_exact_scores(kind, rank, dtype, rounding):
    left, right = hostile(kind, rank, dtype)
    size = float(np.abs(left[:3] @ right[:50].T).max())
    hidden = np.random.default_rng(2).choice(ITEMS, 100, replace=False)
    found = []
    for on in (False, True):
        rounding(on)
        items = Index.of(right)
        asked = [
            Scores.of_index(left, items),
            Scores.of_index(left[:1], items),
            Scores.of_index(items.unit.rows(np.arange(ROWS)), items.unit),
            with_offsets(left, items, size, dtype),
        ]
        asks = [(scores, n, block) for scores in asked for n in (1, 10, 200) for block in (None, hidden)]
        found.append([scores.top_k(n, block=block) for scores, n, block in asks])
        assert ("rounded" in items.__dict__ and items.rounded is not None) == on
    for (exact, scores), (items, values) in zip(*found):
        assert np.array_equal(exact, items)
        assert np.array_equal(scores, values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_no_score_exceeds_its_bound(kind, dtype, rounding):
    rounding(True)
    left, right = hostile(kind, 24, dtype, seed=3)
    items = Index.of(right)
    found, exact = items.rounded, np.empty((ROWS, ITEMS), dtype)
    items.products(left, exact)
    bounds, numbers = np.empty((ROWS, ITEMS)), np.finfo(dtype)
    for row, out, own in zip(left, bounds, exact):
        word = np.empty(24, np.int16)
        unit, size, lost = round_word(row, word)
        bound_run(word, unit, size, found.bytes, found.units, found.lost, 0, ITEMS, np.empty(ITEMS, np.int32), out)
        rounding = numbers.eps * (24 + CAUTION) * np.longdouble(size) * found.reach + 24 * np.longdouble(numbers.tiny)
        assert (own <= out.astype(np.longdouble) + rounding + lost * found.reach).all()


@pytest.mark.parametrize("rank", [1, 31, 32, 100])
def test_kernels_are_those_of_plain_numpy(rank):
    left, right = hostile("plain", rank, np.float32)
    numbers, units, lost = np.empty(right.shape, np.int8), *np.empty((2, ITEMS), np.float32)
    round_rows(right, numbers, units, lost)
    np.testing.assert_allclose(units, np.abs(right).max(axis=1) / 127, rtol=1e-6)
    assert np.abs(numbers - right / units[:, None]).max() <= 0.5 + 1e-4
    gaps = np.linalg.norm(right - numbers * units[:, None].astype(float), axis=1)
    assert ((lost >= gaps) & (lost <= gaps * (1 + 1e-5) + 1e-37)).all()
    for row in left:
        word, bounds = np.empty(rank, np.int16), np.empty(90)
        unit, size, _ = round_word(row, word)
        bound_run(word, unit, size, numbers, units, lost, 5, 95, np.empty(90, np.int32), bounds)
        rough = (numbers * units[:, None].astype(float)) @ (word * unit) + size * lost
        np.testing.assert_allclose(bounds, rough[5:95], rtol=1e-6, atol=1e-6)


def test_few_are_scored_exactly(rounding, monkeypatch):
    """The tests above would pass if all were, or if none were rounded."""
    rounding(True)
    counts, search = [], bounded.search_rows
    monkeypatch.setattr(bounded, "search_rows", lambda *args: [search(*args), counts.append(args[-1])][0])
    left, right = hostile("plain", 64, np.float32)
    Scores.of_index(left, Index.of(right)).top_k(10)
    assert 10 * ROWS <= np.sum(counts) < 0.1 * ROWS * ITEMS


@pytest.mark.parametrize(("kind", "part"), [("columns", "lost"), ("below", "lost"), ("close", "margin")])
def test_without_what_is_lost_items_are_lost(kind, part, rounding, monkeypatch):
    """So the data above hold items that only that part of the bound keeps."""
    left, right = hostile(kind, 64, np.float32)
    rounding(False)
    exact = Scores.of_index(left, Index.of(right)).top_k(10)[0]
    rounding(True)
    if part == "lost":
        nothing = property(lambda self: np.zeros_like(self[2]))
        monkeypatch.setattr(RoundedFactors, "lost", nothing)
    else:
        monkeypatch.setattr(RoundedFactors, "reach", 0.0)  # by which rounding is multiplied
        monkeypatch.setattr(RoundedFactors, "lost", property(lambda self: np.zeros_like(self[2])))
    assert not np.array_equal(Scores.of_index(left, Index.of(right)).top_k(10)[0], exact)


def test_what_is_lost_of_rows_is_known():
    random = np.random.default_rng(0)
    for row in random.standard_normal((5, 2100)):  # so wide that words have fewer bits
        word = np.empty(2100, np.int16)
        unit, size, lost = round_word(row, word)
        assert int(np.abs(word).max()) * 127 * 2100 <= MOST_OF_A_SUM
        np.testing.assert_allclose(lost, np.linalg.norm(row - word * unit))
        np.testing.assert_allclose(size, np.linalg.norm(row))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_filters_are_those_of_exact_scores(dtype, rounding):
    """Hidden and allowed items by row, for everybody, and all at once."""
    left, right = hostile("plain", 16, dtype)
    random = np.random.default_rng(5)
    by_row = [sp.csr_array(random.random((ROWS, ITEMS)) < share) for share in (0.3, 0.4)]
    listed = random.choice(ITEMS, 200, replace=False)
    cases = [
        {"exclude": by_row[0]}, {"allow": by_row[1]}, {"block": listed}, {"block": by_row[1]},
        {"exclude": by_row[0], "allow": by_row[1], "block": listed},
        {"exclude": by_row[0], "allow": by_row[1], "block": by_row[0]},
    ]  # fmt: skip
    found = []
    for on in (False, True):
        rounding(on)
        scores = Scores.of_index(left, Index.of(right))
        found.append([scores.top_k(20, **case) for case in cases])
    for (exact, values), (items, bits) in zip(*found):
        assert np.array_equal(exact, items)
        assert np.array_equal(values, bits)
    shown = left @ right.T
    shown[by_row[0].toarray() | ~by_row[1].toarray()] = -np.inf
    shown[:, listed] = -np.inf
    assert np.array_equal(found[1][4][0], np.argsort(-shown, axis=1)[:, :20])


def test_they_are_made_once_they_pay(monkeypatch):
    monkeypatch.setattr(index, "ROUNDED_FROM", 0)
    monkeypatch.setattr(index, "SEARCHES_BEFORE", 3)
    left, right = hostile("plain", 8, np.float32)
    items = Index.of(right)
    for search in range(5):
        Scores.of_index(left[:1], items).top_k(3)
        assert ("rounded" in items.__dict__) == (search >= 3)


def test_numbers_that_are_too_large_for_a_bound_are_not_rounded(rounding):
    left, right = hostile("plain", 8, np.float64)
    found = []
    for on in (False, True):
        rounding(on)
        for scale in (1e-140, 1e290):
            items = Index.of(right * scale)
            found.append(Scores.of_index(left / scale, items).top_k(10)[0])
            assert scale < 1 or items.rounded is None
    assert all(np.array_equal(found[0], other) for other in found)


@pytest.mark.parametrize("rows", [1, 64, 65])
def test_searches_of_many_rows_use_bytes_that_are_there(rows, rounding):
    rounding(True)
    random = np.random.default_rng(7)
    left, right = (random.standard_normal((size, 8)).astype(np.float32) for size in (rows, ITEMS))
    items = Index.of(right)
    first = Scores.of_index(left, items).top_k(3, n_threads=2)
    assert ("rounded" in items.__dict__) == (rows <= 64)
    assert items.rounded is not None
    again = Scores.of_index(left, items).top_k(3, n_threads=2)
    assert all(map(np.array_equal, first, again))
