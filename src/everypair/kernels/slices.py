"""Byte strings to numbers 0, 1, 2, … in order of appearance: an open-addressing hash table over slices of a text.

The bytes of every distinct string are copied once, one after the other, to ``pool``. A slot holds a string's hash and
its number + 1 side by side, so that a look at it is one access to memory; 0 is a free slot, at most half of them are
used. Equal hashes are compared byte by byte, so that numbers never collide. Memory: at least 40 bytes per distinct
string beside its own.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

N_STRINGS, N_BYTES = 0, 1
AHEAD = 64  # hashes computed before the table is looked at: the processor then fetches several slots at once
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
    slots: NDArray[np.uint64],
    pool: NDArray[np.uint8],
    pool_ends: NDArray[np.int64],
    codes: NDArray[np.int64],
) -> int:
    """Number the slices from ``begin`` on and return how far it came: all of them, or where the room ran out.

    An empty slice is −1. ``sizes`` holds the number of distinct strings and of their bytes.
    """
    mask = len(slots) - 1
    hashes = np.empty(AHEAD, np.uint64)
    for first in range(begin, len(starts), AHEAD):
        last = min(first + AHEAD, len(starts))
        for t in range(first, last):
            hashes[t - first] = hash_bytes(text, starts[t], ends[t], seed)
        for t in range(first, last):
            start, length, mixed = starts[t], ends[t] - starts[t], hashes[t - first]
            if length == 0:
                codes[t] = -1
                continue
            slot = np.int64(mixed & np.uint64(mask))
            while slots[slot, 1] != 0 and not (
                slots[slot, 0] == mixed and _same(text, start, length, pool, pool_ends, np.int64(slots[slot, 1]) - 1)
            ):
                slot = (slot + 1) & mask
            code = np.int64(slots[slot, 1]) - 1
            if code < 0:
                code, used = sizes[N_STRINGS], sizes[N_BYTES]
                if 2 * (code + 1) > len(slots) or code >= len(pool_ends) or used + length > len(pool):
                    return t
                for i in range(length):
                    pool[used + i] = text[start + i]
                sizes[N_STRINGS], sizes[N_BYTES] = code + 1, used + length
                pool_ends[code] = used + length
                slots[slot, 0], slots[slot, 1] = mixed, np.uint64(code + 1)
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
def move_slots(old: NDArray[np.uint64], new: NDArray[np.uint64]) -> None:
    """Put what the slots ``old`` hold into ``new``, all of which are free."""
    mask = len(new) - 1
    for t in range(len(old)):
        if old[t, 1] != 0:
            slot = np.int64(old[t, 0] & np.uint64(mask))
            while new[slot, 1] != 0:
                slot = (slot + 1) & mask
            new[slot, 0], new[slot, 1] = old[t, 0], old[t, 1]


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
