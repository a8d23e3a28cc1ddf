"""How a delimited text is written: delimiter, quotes, encoding, and whether its first line names the columns.

What is not given is found in the first 64 kB. The delimiter is the one under which all lines have the same number of
fields, two or more: of several, the one that makes the first line a header of usual names, then the one with the most
fields. The first line is a header if it holds a name that was asked for or is usual, or only words above numbers;
it is none if it holds a number. Where neither is the case the owner has to say.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everypair.column_names import PLAIN, find_role
from everypair.data.tables.columns import MISSING_WORDS, shown
from everypair.data.tables.streams import open_stream

SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 100
DELIMITERS = ("\t", "::", ",", ";", "|", " ")
BYTE_ORDER_MARK = codecs.BOM_UTF8
_NUMBER = re.compile(r"\s*[-+]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?\s*")
_DATE = re.compile(r"\s*[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}.*", re.DOTALL)
_SINGLE_BYTE = re.compile(r"ascii|iso8859-[0-9]+|cp12[0-9]{2}|koi8-[a-z]|mac-[a-z]+")


@dataclass(frozen=True)
class TextOptions:
    """What the caller says about a text file; ``None`` is to be found."""

    delimiter: str | None = None
    header: bool | Sequence[str] | None = None
    quote: str | None = '"'
    encoding: str = "utf-8"

    def given(self) -> list[str]:
        """Return the names of the options that differ from the default."""
        defaults = TextOptions()
        names = ("delimiter", "header", "quote", "encoding")
        return [name for name in names if getattr(self, name) != getattr(defaults, name)]


@dataclass(frozen=True)
class Dialect:
    """How a text is written; ``names`` are its columns, positions where it has no header."""

    delimiter: str
    quote: str | None
    encoding: str
    header: bool
    names: tuple[Hashable, ...]


def find_dialect(path: Path, options: TextOptions, asked: Sequence[Any] = ()) -> Dialect:
    """Read the beginning of a text and return how it is written; ``asked`` are columns the caller named."""
    _check_options(options)
    raw, whole = _beginning(path)
    _refuse_other_files(path, raw)
    text = raw.removeprefix(BYTE_ORDER_MARK).decode(options.encoding, "replace")
    known = {name for name in asked if isinstance(name, str)}
    candidates = DELIMITERS if options.delimiter is None else (options.delimiter,)
    best: tuple[Any, ...] = ()
    for preference, delimiter in enumerate(candidates):
        rows = _sample_rows(text, delimiter, options.quote, whole)
        if not rows:
            continue
        counts = [len(row) for row in rows]
        fields = max(set(counts), key=counts.count)
        if fields < 2:
            continue
        even = counts.count(fields) / len(counts)
        score = (even == 1.0, _usual_names(rows[0], known), even, fields, -preference)
        if not best or score > best[0]:
            best = score, delimiter, rows
    if not best:
        first = next((line for line in text.splitlines() if line.strip()), "")
        if not first:
            raise ValueError(f"{path} is empty: it has nothing but blank lines.")
        if options.delimiter is not None:
            raise ValueError(
                f"{path}: separated by {options.delimiter!r} the first line, {shown(first)}, is one field only: leave "
                "out delimiter= to have it found."
            )
        raise ValueError(
            f"{path}: no delimiter was found, the first line is {shown(first)}; say which it is, as in delimiter=';'."
        )
    _, delimiter, rows = best
    header, names = _header(path, rows, options.header, known)
    return Dialect(delimiter, options.quote, options.encoding, header, names)


def split_text(text: str, delimiter: str, quote: str | None) -> list[list[str]]:
    """Split a text into rows of fields by the rules of `kernels.fields`; blank lines are left out.

    >>> split_text("a;'b;''c'", ";", "'")
    [['a', "b;'c"]]
    """
    rows: list[list[str]] = []
    at, row = 0, [""]
    while at < len(text):
        if quote and text.startswith(quote, at) and row[-1] == "":
            stop = text.find(quote, at + 1)
            while stop >= 0 and text.startswith(quote, stop + 1):
                stop = text.find(quote, stop + 2)
            stop = len(text) if stop < 0 else stop
            row[-1] = text[at + 1 : stop].replace(2 * quote, quote)
            at = stop + 1
        elif text.startswith(delimiter, at):
            row.append("")
            at += len(delimiter)
        elif text[at] == "\n":
            rows.append(row)
            row = [""]
            at += 1
        else:
            if not text.startswith("\r\n", at):
                row[-1] += text[at]
            at += 1
    return [one for one in [*rows, row] if one != [""]]


def _check_options(options: TextOptions) -> None:
    delimiter, quote = options.delimiter, options.quote
    if delimiter is not None and (not isinstance(delimiter, str) or not delimiter or set(delimiter) & set("\r\n\0")):
        raise ValueError(f"delimiter must be one or more characters other than line ends, got {delimiter!r}.")
    if quote is not None and (not isinstance(quote, str) or len(quote) != 1 or not quote.isascii() or quote in "\r\n"):
        raise ValueError(f"quote must be one character such as '\"', or None for no quotes, got {quote!r}.")
    if quote is not None and delimiter is not None and quote in delimiter:
        raise ValueError(f"quote and delimiter must differ, got {quote!r} and {delimiter!r}.")
    header = options.header
    named = isinstance(header, Sequence) and not isinstance(header, str) and all(isinstance(n, str) for n in header)
    if header is not None and not isinstance(header, bool) and not (named and header):
        raise ValueError(f"header must be True, False or a list of names for a file that has none, got {header!r}.")
    try:
        codec = codecs.lookup(options.encoding).name
    except (LookupError, TypeError):
        raise ValueError(f"encoding {options.encoding!r} is unknown: try 'utf-8' or 'cp1252'.") from None
    if codec != "utf-8" and not _SINGLE_BYTE.fullmatch(codec):
        raise ValueError(
            f"encoding must be 'utf-8' or one of single bytes such as 'cp1252', got {options.encoding!r}: "
            "convert the file to UTF-8 first."
        )


def _beginning(path: Path) -> tuple[bytes, bool]:
    """Return the first bytes and whether they are all there is."""
    parts = []
    left = SAMPLE_BYTES
    with open_stream(path) as stream:
        while left and (part := stream.read(left)):
            parts.append(part)
            left -= len(part)
    return b"".join(parts), left > 0


def _refuse_other_files(path: Path, raw: bytes) -> None:
    start = raw.removeprefix(BYTE_ORDER_MARK).lstrip()[:32].lower()
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError(f"{path} is written in UTF-16: save it as UTF-8.")
    if b"\0" in raw:
        raise ValueError(f"{path} holds zero bytes: it is no text (or one in UTF-16, to be saved as UTF-8).")
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise ValueError(f"{path} is a web page or XML, no table: was it downloaded properly?")
    if start.startswith((b"{", b"[")):
        raise ValueError(f"{path} looks like JSON: read it into a data frame (pandas.read_json) and give that.")
    if b"\r" in raw and b"\n" not in raw:
        raise ValueError(f"{path} ends its lines with \\r alone: save it with \\n or \\r\\n.")
    if not raw:
        raise ValueError(f"{path} is empty.")


def _sample_rows(text: str, delimiter: str, quote: str | None, whole: bool) -> list[list[str]]:
    rows = split_text(text, delimiter, quote)
    return (rows if whole or len(rows) < 2 else rows[:-1])[:SAMPLE_ROWS]


def _usual_names(row: list[str], known: set[str]) -> int:
    """Count the names in a row that were asked for or are usual."""
    names = [name.strip() for name in row]
    usual = {name for role in PLAIN for name in find_role(names, role)}
    return len(usual | (known & set(names)))


def _header(
    path: Path, rows: list[list[str]], given: bool | Sequence[str] | None, known: set[str]
) -> tuple[bool, tuple[Hashable, ...]]:
    """Return whether the first row is a header, and the names of the columns."""
    first = [name.strip() for name in rows[0]]
    if given is not None and not isinstance(given, bool):
        if len(given) != len(first):
            raise ValueError(f"{path}: header names {len(given)} columns, but the first line has {len(first)} fields.")
        return False, tuple(given)
    header = given
    if header is None:
        numeric = [[_is_value(value) for value in row] for row in rows[:SAMPLE_ROWS] if len(row) == len(first)]
        below = [any(column) for column in zip(*numeric[1:])] if len(numeric) > 1 else []
        if known & set(first) or (not any(numeric[0]) and _usual_names(rows[0], set())):
            header = True
        elif any(numeric[0]) and first != list(map(str, range(len(first)))):  # as pandas names columns without names
            header = False
        elif any(below) and not any(numeric[0]):
            header = True
        else:
            raise ValueError(
                f"{path}: is the first line, {shown(', '.join(first))}, a header or an event? Say header=True, "
                "header=False, or name the columns of a file without one: header=['user', 'item']."
            )
    return header, tuple(first) if header else tuple(range(len(first)))


def _is_value(text: str) -> bool:
    """Whether a field is a number, a date or missing: nothing a column would be called."""
    return text.strip() in MISSING_WORDS or bool(_NUMBER.fullmatch(text)) or bool(_DATE.fullmatch(text))
