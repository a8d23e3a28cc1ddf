"""Byte strings to numbers 0, 1, 2, … in order of appearance: an open-addressing hash table over slices of a text.

The bytes of every distinct string are copied once, one after the other, to ``pool``; ``slots`` holds numbers, −1 where
it is free, and at most half of it is used. Equal hashes are compared byte by byte, so that numbers never collide.
Memory: 24 bytes per distinct string beside its own bytes, and room to grow.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

N_STRINGS, N_BYTES = 0, 1
_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(33)


@njit(nogil=True, cache=True)
def number_slices(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    begin: int,
    seed: np.uint64,
    sizes: NDArray[np.int64],
    slots: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    pool: NDArray[np.uint8],
    pool_ends: NDArray[np.int64],
    codes: NDArray[np.int64],
) -> int:
    """Number the slices from ``begin`` on and return how far it came: all of them, or where the room ran out.

    An empty slice is −1. ``sizes`` holds the number of distinct strings and of their bytes.
    """
    mask = len(slots) - 1
    for t in range(begin, len(starts)):
        start, length = starts[t], ends[t] - starts[t]
        if length == 0:
            codes[t] = -1
            continue
        mixed = hash_bytes(text, start, ends[t], seed)
        slot = np.int64(mixed & np.uint64(mask))
        code = slots[slot]
        while code >= 0 and not (hashes[code] == mixed and _same(text, start, length, pool, pool_ends, code)):
            slot = (slot + 1) & mask
            code = slots[slot]
        if code < 0:
            code = sizes[N_STRINGS]
            used = sizes[N_BYTES]
            if 2 * (code + 1) > len(slots) or code >= len(pool_ends) or used + length > len(pool):
                return t
            for i in range(length):
                pool[used + i] = text[start + i]
            sizes[N_STRINGS], sizes[N_BYTES] = code + 1, used + length
            pool_ends[code], hashes[code], slots[slot] = used + length, mixed, code
        codes[t] = code
    return len(starts)


@njit(nogil=True, cache=True)
def hash_bytes(text: NDArray[np.uint8], start: int, end: int, seed: np.uint64) -> np.uint64:
    """FNV-1a from a seed, then a finaliser, so that the low bits depend on every byte."""
    mixed = seed
    for i in range(start, end):
        mixed = (mixed ^ np.uint64(text[i])) * _PRIME
    mixed ^= mixed >> _SHIFT
    mixed *= _MIX
    return mixed ^ (mixed >> _SHIFT)


@njit(nogil=True, cache=True)
def fill_slots(hashes: NDArray[np.uint64], count: int, slots: NDArray[np.int64]) -> None:
    """Put the numbers 0 to count − 1 into ``slots``, all of which are free (−1)."""
    mask = len(slots) - 1
    for code in range(count):
        slot = np.int64(hashes[code] & np.uint64(mask))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = code


@njit(nogil=True, cache=True)
def _same(
    text: NDArray[np.uint8],
    start: int,
    length: int,
    pool: NDArray[np.uint8],
    pool_ends: NDArray[np.int64],
    code: int,
) -> bool:
    begin = pool_ends[code - 1] if code > 0 else 0
    if pool_ends[code] - begin != length:
        return False
    same = True
    for i in range(length):
        same = same and pool[begin + i] == text[start + i]
    return same
