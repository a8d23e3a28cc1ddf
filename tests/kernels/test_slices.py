"""The hash table of byte strings against a Python dict, growth and collisions included."""

import numpy as np
import pytest

from everypair.kernels.slices import N_STRINGS, hash_bytes, move_slots, number_slices


def table(slots, pool, strings):
    return (
        np.zeros(2, np.int64),
        np.zeros((slots, 2), np.uint64),
        np.zeros(pool, np.uint8),
        np.zeros(strings, np.int64),
    )


def as_slices(words):
    ends = np.cumsum([len(word) for word in words])
    return np.frombuffer(b"".join(words), np.uint8), np.concatenate([[0], ends[:-1]]), ends


@pytest.mark.parametrize("seed", range(4))
def test_numbers_like_a_dict(seed):
    rng = np.random.default_rng(seed)
    words = [bytes(rng.integers(0, 4, rng.integers(0, 6)).astype(np.uint8)) for _ in range(3000)]
    text, starts, ends = as_slices(words)
    sizes, _, pool, pool_ends = parts = table(4096, 8000, 2000)
    codes = np.empty(len(words), np.int64)
    assert number_slices(text, starts, ends, 0, np.uint64(seed), *parts, codes) == len(words)
    numbers = {}
    want = [numbers.setdefault(word, len(numbers)) if word else -1 for word in words]
    assert codes.tolist() == want
    assert sizes[N_STRINGS] == len(numbers)
    begins = np.concatenate([[0], pool_ends[:-1]])
    assert [bytes(pool[a:b]) for a, b in zip(begins, pool_ends)][: len(numbers)] == list(numbers)


def test_equal_hashes_do_not_collide():
    text, starts, ends = as_slices([b"a", b"b", b"bb"])
    _, slots, *_ = parts = table(8, 10, 5)
    codes = np.empty(1, np.int64)
    number_slices(text, starts[:1], ends[:1], 0, np.uint64(1), *parts, codes)
    slots[slots[:, 1] != 0, 0] = hash_bytes(text, 1, 2, np.uint64(1))  # "a" now has the hash of "b"
    moved = np.zeros_like(slots)
    move_slots(slots, moved)
    slots[:] = moved
    for word, want in ((slice(1, 2), 1), (slice(1, 2), 1), (slice(2, 3), 2)):
        assert number_slices(text, starts[word], ends[word], 0, np.uint64(1), *parts, codes) == 1
        assert codes[0] == want


@pytest.mark.parametrize(("slots", "pool", "strings"), [(4, 100, 100), (256, 7, 100), (256, 100, 3)])
def test_it_stops_where_the_room_ends_and_goes_on_in_more(slots, pool, strings):
    words = [f"{i}x".encode() for i in range(20)] * 2
    text, starts, ends = as_slices(words)
    small = table(slots, pool, strings)
    codes = np.full(len(words), -7)
    reached = number_slices(text, starts, ends, 0, np.uint64(5), *small, codes)
    assert 0 < reached < 20
    assert codes[:reached].tolist() == list(range(reached))
    assert (codes[reached:] == -7).all()
    large = table(64, 100, 100)
    large[0][:] = small[0]
    move_slots(small[1], large[1])
    for new, old in zip(large[2:], small[2:]):
        new[: min(len(new), len(old))] = old[: len(new)]
    assert number_slices(text, starts, ends, reached, np.uint64(5), *large, codes) == len(words)
    assert codes.tolist() == [*range(20), *range(20)]
