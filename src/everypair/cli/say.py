"""What a command prints: tables for people, JSON for programs, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from everypair.words import in_columns


def note(sentence: str, quiet: bool = False) -> None:
    """Print a sentence on standard error."""
    if not quiet:
        print(sentence, file=sys.stderr, flush=True)


def as_json(value: Any) -> str:
    """Return one line of JSON; numpy's numbers are numbers, and what JSON has no number for is null.

    >>> as_json({"a": float("nan"), "b": (1, "é")})
    '{"a": null, "b": [1, "é"]}'
    """
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def show(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(as_json(value))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table: with lines on a terminal, in plain aligned columns elsewhere.

    >>> table(["item", "score"], [["rain", "1.25"], ["a|b", "-0.5"]], "Ann")
    Ann
    item  score
    rain   1.25
    a|b    -0.5
    """
    numbers = [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(head))]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        drawn = Table(title=title or None, title_justify="left")
        for name, right in zip(head, numbers):
            drawn.add_column(Text(name), justify="right" if right else "left")
        for row in rows:
            drawn.add_row(*map(Text, row))
        Console().print(drawn)
        return
    if title:
        print(title)
    print(in_columns([head, *rows], right=numbers))


def _is_number(cell: str) -> bool:
    first = cell.replace(",", "").split(" ")[0].rstrip("%")
    try:
        float(first)
    except ValueError:
        return cell == ""
    return True


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
