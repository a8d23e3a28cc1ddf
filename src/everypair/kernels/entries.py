"""Text ``f:v f:v`` to numbers, exactly as Python's int and float read them.

A value of digits m and a decimal exponent e is m·10^e. Where m ≤ 2^53 and |e| ≤ 22 both m and 10^|e| are exact
in float64, so that one product or quotient is the correctly rounded number (W. D. Clinger, "How to read
floating point numbers accurately", 1990). Everything else, errors included, is left to the caller.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

LARGEST_INDEX = 2**31 - 1
LARGEST_DIGITS = 2**53
POWERS = 10.0 ** np.arange(23)


@njit(nogil=True, cache=True, error_model="numpy")  # no fastmath: it would turn the quotient into a product
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

        negative = at < end and text[at] == ord("-")
        if at < end and (text[at] == ord("-") or text[at] == ord("+")):
            at += 1
        digits, exponent, n_digits, after_point = 0, 0, 0, False
        while at < end and (ord("0") <= text[at] <= ord("9") or (text[at] == ord(".") and not after_point)):
            if text[at] == ord("."):
                after_point = True
            else:
                digits = 10 * digits + int(text[at] - ord("0"))
                n_digits += 1
                exponent -= after_point
                if digits > LARGEST_DIGITS:
                    return -1
            at += 1
        if n_digits == 0:
            return -1
        if at < end and (text[at] == ord("e") or text[at] == ord("E")):
            at += 1
            sign = 1
            if at < end and (text[at] == ord("-") or text[at] == ord("+")):
                sign = -1 if text[at] == ord("-") else 1
                at += 1
            power, start = 0, at
            while at < end and ord("0") <= text[at] <= ord("9") and power < 1000:
                power = 10 * power + int(text[at] - ord("0"))
                at += 1
            if at == start:
                return -1
            exponent += sign * power
        if abs(exponent) > 22 or (at < end and text[at] != ord(" ")):
            return -1

        value = digits / POWERS[-exponent] if exponent < 0 else digits * POWERS[exponent]
        indices[count] = index
        values[count] = -value if negative else value
        count += 1
