"""Rows and fields of delimited text (RFC 4180, made wider): where each wanted field starts and ends.

A row ends with \\n or \\r\\n, or with the text. Fields are separated by a delimiter of one or more bytes. A field that
begins with the quote ends with the next single quote; inside, the delimiter and line ends are characters and a doubled
quote is one quote. Blank lines are skipped.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

RAGGED, BAD_QUOTE, OPEN_QUOTE, ZERO_BYTE = 0, 1, 2, 3
N_PROBLEMS = 4
NEWLINE, RETURN = ord("\n"), ord("\r")


@njit(nogil=True, cache=True)
def split_rows(
    text: NDArray[np.uint8],
    at: int,
    end: int,
    final: bool,
    line: int,
    delimiter: NDArray[np.uint8],
    quote: int,
    slot_of: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    lines: NDArray[np.int64],
    problems: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Split text[at:end] and return (rows, where the next row begins, its line).

    ``line`` is the line number of text[at]. Field f of row r goes to ``starts[slot_of[f], r]``, ``ends[…]`` unless
    the slot is −1, and ``lines[r]`` is its line. A row that the text may not hold in full is left for the next call,
    unless this one is ``final``. It stops where ``lines`` is full. Doubled quotes are made single in place.

    A row with other than ``len(slot_of)`` fields, text behind a closing quote, a quote that is never closed or a zero
    byte is left out; ``problems[kind]`` counts such rows in its first column and keeps the line and the number of
    fields of the first.
    """
    width, n_fields, room = len(delimiter), len(slot_of), len(lines)
    first = delimiter[0]
    doubled = np.zeros(len(starts), np.bool_)
    row = 0
    while at < end and row < room:
        row_start, row_line = at, line
        field, bad, complete = 0, -1, False
        doubled[:] = False
        while not complete:
            slot = slot_of[field] if field < n_fields else -1
            if at < end and text[at] == quote:
                at += 1
                start = at
                closed = False
                while at < end:
                    byte = text[at]
                    if byte == quote:
                        if at + 1 < end and text[at + 1] == quote:
                            at += 1
                            if slot >= 0:
                                doubled[slot] = True
                        else:
                            closed = at + 1 < end or final
                            break
                    elif byte == NEWLINE:
                        line += 1
                    elif byte == 0:
                        bad = ZERO_BYTE
                    at += 1
                if not closed and not final:
                    return row, row_start, row_line
                stop = at
                if closed:
                    at += 1
                else:
                    bad = OPEN_QUOTE
            else:
                start = stop = at
            behind = at
            found = False
            while at < end:
                byte = text[at]
                if byte == first:
                    found = at + width <= end
                    for t in range(1, width):
                        found = found and text[at + t] == delimiter[t]
                    if found:
                        break
                    if at + width > end and not final:
                        return row, row_start, row_line
                if byte == NEWLINE:
                    break
                if byte == 0:
                    bad = ZERO_BYTE
                at += 1
            if at == end and not final:
                return row, row_start, row_line
            last = at
            if not found and last > behind and text[last - 1] == RETURN:
                last -= 1
            if behind == start:
                stop = last
            elif last > behind and bad < 0:
                bad = BAD_QUOTE
            if slot >= 0:
                starts[slot, row], ends[slot, row] = start, stop
            field += 1
            if found:
                at += width
            else:
                complete = True
        blank = field == 1 and last == row_start
        if at < end:
            at += 1
            line += 1
        if blank:
            continue
        if bad < 0 and field != n_fields:
            bad = RAGGED
        if bad >= 0:
            if problems[bad, 0] == 0:
                problems[bad, 1], problems[bad, 2] = row_line, field
            problems[bad, 0] += 1
            continue
        for slot in range(len(starts)):
            if doubled[slot]:
                ends[slot, row] = _single_quotes(text, starts[slot, row], ends[slot, row], quote)
        lines[row] = row_line
        row += 1
    return row, at, line


@njit(nogil=True, cache=True)
def _single_quotes(text: NDArray[np.uint8], start: int, end: int, quote: int) -> int:
    """Make every doubled quote of text[start:end] single and return where the text now ends."""
    write = read = start
    while read < end:
        text[write] = text[read]
        read += 2 if text[read] == quote else 1
        write += 1
    return write
