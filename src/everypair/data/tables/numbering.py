"""Distinct byte strings, numbered as they appear: the hash table of `kernels.slices`, which grows as it must."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.kernels.slices import N_BYTES, N_STRINGS, move_slots, number_slices

_FIRST_STRINGS = 1 << 10
_FIRST_BYTES = 1 << 14


class StringNumbers:
    """Numbers 0, 1, 2, … for byte strings.

    The hash begins with a random seed, so that nobody can prepare strings that collide; numbers do not depend on it.

    >>> numbers = StringNumbers()
    >>> numbers.add(np.frombuffer(b"anbobann", np.uint8), np.array([0, 2, 5]), np.array([2, 5, 8])).tolist()
    [0, 1, 2]
    >>> numbers.strings()
    [b'an', b'bob', b'ann']
    """

    def __init__(self) -> None:
        self._seed = np.uint64(secrets.randbits(64))
        self._sizes = np.zeros(2, np.int64)
        self._slots = np.zeros((2 * _FIRST_STRINGS, 2), np.uint64)
        self._pool = np.empty(_FIRST_BYTES, np.uint8)
        self._pool_ends = np.empty(_FIRST_STRINGS, np.int64)

    def add(self, text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of text[start:end] for every slice, −1 for an empty one."""
        codes = np.empty(len(starts), np.int64)
        reached = 0
        while True:
            table = (self._sizes, self._slots, self._pool, self._pool_ends)
            reached = number_slices(text, starts, ends, reached, self._seed, *table, codes)
            if reached == len(starts):
                return codes
            self._grow(int(ends[reached] - starts[reached]))

    def strings(self) -> list[bytes]:
        """Return the distinct strings in the order of their numbers."""
        ends = self._pool_ends[: self._sizes[N_STRINGS]].tolist()
        text = self._pool[: self._sizes[N_BYTES]].tobytes()
        return [text[start:end] for start, end in zip([0, *ends], ends)]

    def _grow(self, length: int) -> None:
        """Make room for another string of ``length`` bytes."""
        count, used = (int(size) for size in self._sizes)
        if used + length > len(self._pool):
            self._pool = _longer(self._pool, max(2 * len(self._pool), used + length))
        if count == len(self._pool_ends):
            self._pool_ends = _longer(self._pool_ends, 2 * count)
        if 2 * (count + 1) > len(self._slots):
            larger = np.zeros((2 * len(self._slots), 2), np.uint64)
            move_slots(self._slots, larger)
            self._slots = larger


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    longer = np.empty(length, array.dtype)
    longer[: len(array)] = array
    return longer
