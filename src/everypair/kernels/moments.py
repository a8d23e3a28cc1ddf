"""ISO 8601 dates to seconds since 1970, UTC, and numbers of a clock as they are.

    2024-01-31    2024-01-31T18:30    2024-01-31 18:30:05.25    …Z    …+02:00    …+0200    …+02

A date without an offset is taken as UTC. Days since 1970 of year y, month m, day d in the Gregorian calendar, with
years that begin in March: 365y' + ⌊y'/4⌋ − ⌊y'/100⌋ + ⌊y'/400⌋ + ⌊(153m' + 2)/5⌋ + d − 719469.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from everypair.kernels.decimals import decimal

LEFT, INTEGER, DECIMAL, DATE, EMPTY = 0, 1, 2, 3, 4
_LARGEST_TENTH = (2**63 - 1) // 10


@njit(nogil=True, cache=True)
def parse_moments(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    integers: NDArray[np.int64],
    values: NDArray[np.float64],
    kinds: NDArray[np.uint8],
) -> None:
    """Read text[start:end] as a moment for every slice; blanks around it do not count.

    INTEGER fills ``integers``, DECIMAL (a number) and DATE (seconds) fill ``values``; EMPTY is empty; LEFT is anything
    else, left to the caller.
    """
    for t in range(len(starts)):
        at, end = starts[t], ends[t]
        while at < end and text[at] == ord(" "):
            at += 1
        while end > at and text[end - 1] == ord(" "):
            end -= 1
        kinds[t] = LEFT
        if at == end:
            kinds[t] = EMPTY
        elif end - at >= 10 and text[at + 4] == ord("-"):
            seconds, good = _date(text, at, end)
            if good:
                values[t] = seconds
                kinds[t] = DATE
        else:
            whole, good = _integer(text, at, end)
            if good:
                integers[t] = whole
                kinds[t] = INTEGER
            else:
                value, stop = decimal(text, at, end)
                if stop == end:
                    values[t] = value
                    kinds[t] = DECIMAL


@njit(nogil=True, cache=True)
def _integer(text: Any, at: int, end: int) -> tuple[int, bool]:
    negative = text[at] == ord("-")
    if negative:
        at += 1
    if at == end:
        return 0, False
    whole = 0
    for i in range(at, end):
        digit = int(text[i]) - ord("0")
        if digit < 0 or digit > 9 or whole > _LARGEST_TENTH or (whole == _LARGEST_TENTH and digit > 7):
            return 0, False
        whole = 10 * whole + digit
    return -whole if negative else whole, True


@njit(nogil=True, cache=True)
def _digits(text: Any, at: int, count: int, end: int) -> int:
    """The number of ``count`` digits at ``at``, or −1."""
    if at + count > end:
        return -1
    number = 0
    for i in range(at, at + count):
        digit = int(text[i]) - ord("0")
        if digit < 0 or digit > 9:
            return -1
        number = 10 * number + digit
    return number


@njit(nogil=True, cache=True)
def _date(text: Any, at: int, end: int) -> tuple[float, bool]:
    year, month, day = _digits(text, at, 4, end), _digits(text, at + 5, 2, end), _digits(text, at + 8, 2, end)
    if text[at + 7] != ord("-") or year < 1 or month < 1 or month > 12 or day < 1 or day > _month_length(year, month):
        return 0.0, False
    shifted = year - 1 if month <= 2 else year
    days = 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 719469
    at += 10
    if at == end:
        return 86400.0 * days, True
    if text[at] != ord("T") and text[at] != ord(" "):
        return 0.0, False
    hour, minute = _digits(text, at + 1, 2, end), _digits(text, at + 4, 2, end)
    if minute < 0 or minute > 59 or hour < 0 or hour > 23 or text[at + 3] != ord(":"):
        return 0.0, False
    at += 6
    seconds = 86400 * days + 3600 * hour + 60 * minute
    fraction = 0.0
    if at < end and text[at] == ord(":"):
        second = _digits(text, at + 1, 2, end)
        if second < 0 or second > 59:
            return 0.0, False
        seconds += second
        at += 3
        if at < end and text[at] == ord("."):
            at += 1
            numerator, scale, first = 0, 1, at
            while at < end and ord("0") <= text[at] <= ord("9"):
                if at - first < 9:
                    numerator = 10 * numerator + int(text[at] - ord("0"))
                    scale *= 10
                at += 1
            if at == first:
                return 0.0, False
            fraction = numerator / scale
    if at == end:
        return seconds + fraction, True
    if text[at] == ord("Z") and at + 1 == end:
        return seconds + fraction, True
    if text[at] != ord("+") and text[at] != ord("-"):
        return 0.0, False
    sign = 1 if text[at] == ord("+") else -1
    hour = _digits(text, at + 1, 2, end)
    at += 3
    if at < end and text[at] == ord(":"):
        at += 1
    minute = 0 if at >= end else _digits(text, at, 2, end)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or (at < end and at + 2 != end):
        return 0.0, False
    return seconds - sign * (3600 * hour + 60 * minute) + fraction, True


@njit(nogil=True, cache=True)
def _month_length(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31
