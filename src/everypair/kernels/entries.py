"""Text ``f:v f:v`` to numbers, exactly as Python's int and float read them; what needs a closer look is left."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from everypair.kernels.decimals import decimal

LARGEST_INDEX = 2**31 - 1


@njit(nogil=True, cache=True, error_model="numpy")
def parse_entries(text: NDArray[np.uint8], indices: NDArray[np.int32], values: NDArray[np.float32]) -> int:
    """Write the entries and return their number, or −1 where the text needs a closer look.

    ``indices`` and ``values`` have room for ``len(text) // 3 + 1`` entries.

    >>> indices, values = np.empty(9, np.int32), np.empty(9, np.float32)
    >>> count = parse_entries(np.frombuffer(b" 3:0.5  10:-2e1", np.uint8), indices, values)
    >>> indices[:count].tolist(), values[:count].tolist()
    ([3, 10], [0.5, -20.0])
    """
    at, end, count = 0, len(text), 0
    while True:
        while at < end and text[at] == ord(" "):
            at += 1
        if at == end:
            return count

        index, start = 0, at
        while at < end and ord("0") <= text[at] <= ord("9") and index <= LARGEST_INDEX:
            index = 10 * index + int(text[at] - ord("0"))
            at += 1
        if at in (start, end) or index > LARGEST_INDEX or text[at] != ord(":"):
            return -1
        at += 1

        value, at = decimal(text, at, end)
        if at < 0 or (at < end and text[at] != ord(" ")):
            return -1
        indices[count] = index
        values[count] = value
        count += 1
