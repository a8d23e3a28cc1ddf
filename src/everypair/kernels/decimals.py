"""Text to numbers, exactly as Python's float reads them.

A number of digits m and a decimal exponent e is m·10^e. Where m ≤ 2^53 and |e| ≤ 22 both m and 10^|e| are exact
in float64, so that one product or quotient is the correctly rounded number (W. D. Clinger, "How to read
floating point numbers accurately", 1990). Everything else, errors included, is left to the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

LARGEST_DIGITS = 2**53
POWERS = 10.0 ** np.arange(23)
LEFT, NUMBER, EMPTY = 0, 1, 2


@njit(nogil=True, cache=True, error_model="numpy")  # no fastmath: it would turn the quotient into a product
def decimal(text: Any, at: int, end: int) -> tuple[float, int]:
    """Return the number that begins at ``at`` and where it stops, or (0, −1) where it needs a closer look."""
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
                return 0.0, -1
        at += 1
    if n_digits == 0:
        return 0.0, -1
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
            return 0.0, -1
        exponent += sign * power
    if abs(exponent) > 22:
        return 0.0, -1
    value = digits / POWERS[-exponent] if exponent < 0 else digits * POWERS[exponent]
    return -value if negative else value, at


@njit(nogil=True, cache=True, error_model="numpy")
def parse_numbers(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    values: NDArray[np.float64],
    kinds: NDArray[np.uint8],
) -> None:
    """Read text[start:end] as one number for every slice; blanks around it do not count.

    ``kinds`` says how it went: NUMBER; EMPTY, whose value is NaN; or LEFT to the caller.
    """
    for t in range(len(starts)):
        at, end = starts[t], ends[t]
        while at < end and text[at] == ord(" "):
            at += 1
        while end > at and text[end - 1] == ord(" "):
            end -= 1
        values[t] = np.nan
        if at == end:
            kinds[t] = EMPTY
            continue
        value, stop = decimal(text, at, end)
        kinds[t] = NUMBER if stop == end else LEFT
        if stop == end:
            values[t] = value
