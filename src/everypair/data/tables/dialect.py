"""How a delimited text is written: delimiter, quotes, encoding, and whether its first line names the columns.

What is not said is found in the first 64 kB. The delimiter is the one under which all lines have the same number of
fields, two or more: of several, the one that makes the first line a header of usual names, then the one with the most
fields. The first line is a header if it names a user and an item, holds a name that was asked for or is usual and no
number, or only words above numbers; it is none if it holds a number. Where neither is the case the owner has to say.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everypair.column_names import PLAIN, find_role, looks_like_events
from everypair.data.tables.streams import open_stream
from everypair.data.tables.words import MISSING_WORDS
from everypair.words import shortened

SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 100
DELIMITERS = ("\t", "::", ",", ";", "|", " ")
BYTE_ORDER_MARK = codecs.BOM_UTF8
SEPARATOR = "\x1f"  # stands for a delimiter of several bytes, which neither Arrow nor the csv module takes
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

    def changed(self) -> list[str]:
        """Return the names of the options that differ from the default."""
        defaults = TextOptions()
        names = ("delimiter", "header", "quote", "encoding")
        return [name for name in names if getattr(self, name) != getattr(defaults, name)]


@dataclass(frozen=True)
class Dialect:
    """How a text is written; ``names`` are its columns, positions where it has no header, which takes so many lines."""

    delimiter: str
    quote: str | None
    encoding: str
    header_lines: int
    names: tuple[Hashable, ...]

    @property
    def separator(self) -> str:
        """The one byte between fields that readers are given."""
        return self.delimiter if len(self.delimiter.encode(self.encoding)) == 1 else SEPARATOR

    def rows(self, lines: Iterator[str]) -> Any:
        """A reader of the csv module; fields still hold the separator where they held the delimiter."""
        if self.separator != self.delimiter:
            lines = (line.replace(self.delimiter, self.separator) for line in lines)
        if self.quote is None:
            return csv.reader(lines, delimiter=self.separator, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self.separator, quotechar=self.quote)

    def restored(self, field: str) -> str:
        """A field as it is in the file."""
        return field if self.separator == self.delimiter else field.replace(self.separator, self.delimiter)


def find_dialect(path: Path, options: TextOptions, column_names: Sequence[Any] = ()) -> Dialect:
    """Read the beginning of a text and return how it is written; ``column_names`` are those that the caller named."""
    _check_options(options)
    raw, whole = _beginning(path)
    _refuse_other_files(path, raw)
    text = raw.removeprefix(BYTE_ORDER_MARK).decode(options.encoding, "replace")
    named = {name for name in column_names if isinstance(name, str)}
    best: tuple[Any, ...] = ()
    for preference, delimiter in enumerate(DELIMITERS if options.delimiter is None else (options.delimiter,)):
        dialect = Dialect(delimiter, options.quote, options.encoding, 0, ())
        rows, lines = _sample_rows(text, dialect, whole)
        if not rows:
            continue
        counts = [len(row) for row in rows]
        fields = max(set(counts), key=counts.count)
        if fields < 2:
            continue
        even = counts.count(fields) / len(counts)
        score = (even == 1.0, _usual_names(rows[0], named), even, fields, -preference)
        if not best or score > best[0]:
            best = score, delimiter, rows, lines
    quote_open = whole and options.quote is not None and text.count(options.quote) % 2
    if quote_open and (not best or any("\n" in name for name in best[2][0])):
        number = next(n for n, line in enumerate(text.splitlines(), 1) if line.count(options.quote or "") % 2)
        raise ValueError(
            f"{path}: A quote is opened in line {number} and never closed: close it, or say quote=None if quotes mean "
            "nothing in this file."
        )
    if not best:
        raise ValueError(_no_delimiter(path, text, options))
    _, delimiter, rows, lines = best
    header, names = _header(path, rows, options.header, named)
    return Dialect(delimiter, options.quote, options.encoding, lines if header else 0, names)


def _no_delimiter(path: Path, text: str, options: TextOptions) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        return f"{path} is empty: it has nothing but blank lines."
    if options.delimiter is not None:
        return (
            f"{path}: separated by {options.delimiter!r} the first line, {shortened(first)}, is one field only: leave "
            "out delimiter= to have it found."
        )
    return (
        f"{path}: no delimiter was found, the first line is {shortened(first)}; say which it is, as in delimiter=';'."
    )


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
    if start.startswith(b"["):
        raise ValueError(
            f"{path} looks like a list of JSON: write a line per event (JSON lines), or read it into a data frame "
            "(pandas.read_json) and give that."
        )
    if b"\r" in raw and b"\n" not in raw:
        raise ValueError(f"{path} ends its lines with \\r alone: save it with \\n or \\r\\n.")
    if not raw:
        raise ValueError(f"{path} is empty.")


def _sample_rows(text: str, dialect: Dialect, whole: bool) -> tuple[list[list[str]], int]:
    """Rows of the sample, blank lines left out, and how many lines the first takes, those before it included."""
    reader = dialect.rows(io.StringIO(text, newline=""))
    rows: list[list[str]] = []
    lines = 0
    for row in reader:
        if row:
            lines = lines or reader.line_num
            rows.append([dialect.restored(field) for field in row])
        if len(rows) > SAMPLE_ROWS:
            break
    return (rows if whole or len(rows) < 2 else rows[:-1])[:SAMPLE_ROWS], lines


def _usual_names(row: list[str], named: set[str]) -> int:
    """Count the names in a row that the caller named or that are usual."""
    names = [name.strip() for name in row]
    usual = {name for role in PLAIN for name in find_role(names, role)}
    return len(usual | (named & set(names)))


def _header(
    path: Path, rows: list[list[str]], header: bool | Sequence[str] | None, named: set[str]
) -> tuple[bool, tuple[Hashable, ...]]:
    """Return whether the first row is a header, and the names of the columns."""
    first = [name.strip() for name in rows[0]]
    if header is not None and not isinstance(header, bool):
        if len(header) != len(first):
            raise ValueError(f"{path}: header names {len(header)} columns, but the first line has {len(first)} fields.")
        return False, tuple(header)
    if header is None:
        header = _is_header(rows, first, named)
    if header is None:
        raise ValueError(
            f"{path}: is the first line, {shortened(', '.join(first))}, a header or an event? Say header=True, "
            "header=False, or name the columns of a file without one: header=['user', 'item']."
        )
    return header, tuple(first) if header else tuple(range(len(first)))


def _is_header(rows: list[list[str]], first: list[str], named: set[str]) -> bool | None:
    """Whether a first row names columns; None where that cannot be told."""
    numeric = [[_is_value(value) for value in row] for row in rows if len(row) == len(first)]
    below = [any(column) for column in zip(*numeric[1:])] if len(numeric) > 1 else []
    of_index = first[0] == "" and len(rows) > 1 and all(row[0].strip() for row in rows[1:])  # as pandas writes it
    if named & set(first) or looks_like_events(first) or of_index:
        return True
    if not any(numeric[0]):
        return True if _usual_names(first, set()) or any(below) else None
    if "".join(filter(str.isalnum, first[0].casefold())) in (*PLAIN["user"], *PLAIN["item"]):
        return True  # of a column per item or per user
    return None if first == list(map(str, range(len(first)))) else False  # as pandas names columns without names


def _is_value(text: str) -> bool:
    """Whether a field is a number, a date or missing: nothing a column would be called."""
    return text.strip() in MISSING_WORDS or bool(_NUMBER.fullmatch(text)) or bool(_DATE.fullmatch(text))
