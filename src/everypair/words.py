"""Values as messages and tables show them: lists of names, long texts cut short, numbers in three digits, columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any


def listed(names: Iterable[Any], most: int = 5) -> str:
    """Return names for a message: the first few, and how many more there are.

    >>> listed(["a", "b"]), listed(range(9), 3)
    ("'a', 'b'", '0, 1, 2 and 6 more')
    """
    every = list(names)
    first = ", ".join(shortened(name, 60) for name in every[:most])
    return first if len(every) <= most else f"{first} and {len(every) - most} more"


def is_or_are(names: Sequence[Any]) -> str:
    """Return names as the subject of a sentence.

    >>> is_or_are(["age"]), is_or_are(["age", "hair"])
    ("'age' is", "'age', 'hair' are")
    """
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'}"


def shortened(value: Any, most: int = 40) -> str:
    """Return a value as Python writes it; a text of more than ``most`` characters is cut.

    >>> shortened("drama"), shortened("a" * 9, 6), shortened(7)
    ("'drama'", "'aaa...'", '7')
    """
    if isinstance(value, str) and len(value) > most:
        value = value[: most - 3] + "..."
    return repr(value)


def in_digits(value: Any) -> str:
    """Return a parameter's value for a table: numbers in three digits, a dash for None.

    >>> in_digits(0.0123456), in_digits(("degree", 0.25)), in_digits(None)
    ('0.0123', 'degree 0.25', '–')
    """
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, tuple):
        return " ".join(map(in_digits, value))
    return "–" if value is None else str(value)


def moment(seconds: float) -> str:
    """Return a time as it is stored, and the day it is where it counts seconds since 1970, as dates do.

    >>> moment(1704067200), moment(12.5)
    ('1704067200 (2024-01-01)', '12.5')
    """
    shown = f"{seconds:.15g}"
    return f"{shown} ({datetime.fromtimestamp(seconds, UTC):%Y-%m-%d})" if 2e8 < seconds < 8e9 else shown


def in_columns(rows: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> str:
    """Return rows of cells as aligned lines; columns lean to the ``right``, those of False to the left.

    >>> print(in_columns([["model", "ndcg"], ["OneClassMF", "0.31"]], right=[False, True]))
    model       ndcg
    OneClassMF  0.31
    """
    right = [True] * len(rows[0]) if right is None else right
    widths = [max(map(width_of, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        room = [" " * (width - width_of(cell)) for cell, width in zip(row, widths)]
        lines.append(
            "  ".join(gap + cell if last else cell + gap for cell, gap, last in zip(row, room, right)).rstrip()
        )
    return "\n".join(lines)


def width_of(text: str) -> int:
    """Columns of a terminal that a text takes: East Asian letters take two, marks on letters none.

    >>> width_of("rain"), width_of("商品"), width_of("e\u0301")
    (4, 4, 1)
    """
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)
