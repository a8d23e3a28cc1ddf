"""One column of slices of text → ids, numbers or times, block by block.

A compiled kernel reads what is plain; what it leaves, missing values and mistakes among it, is looked at in Python. A
column is given up at its first mistake, which is reported with its row.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np

from everypair.data.tables.columns import MISSING_WORDS, Column, Problems, Where, check_integers, code_texts, shown
from everypair.data.tables.numbering import StringNumbers
from everypair.kernels import decimals, moments
from everypair.types import Array

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")


class Reader(Protocol):
    """Collects one column."""

    def add(self, text: Array, starts: Array, ends: Array) -> None:
        """Read text[start:end] of the next rows."""
        ...

    def column(self, name: Hashable, where: Where, problems: Problems) -> Column:
        """Return what was read, and what was wrong."""
        ...


def reader_for(kind: str, encoding: str = "utf-8", ids: str = "auto") -> Reader:
    """Return a reader of one of the kinds of `columns`."""
    if kind == "number":
        return NumberReader()
    if kind == "moment":
        return MomentReader()
    return IdReader(encoding, "string" if kind == "text" else ids)


class IdReader:
    """Ids, numbered by hashing their bytes; only distinct ones become Python strings."""

    def __init__(self, encoding: str, ids: str) -> None:
        self._encoding, self._ids = encoding, ids
        self._numbers = StringNumbers()
        self._codes: list[Array] = []

    def add(self, text: Array, starts: Array, ends: Array) -> None:
        """Number the next rows."""
        codes = self._numbers.add(text, starts, ends)
        self._codes.append(codes.astype(np.int32) if codes.max() < 2**31 else codes)

    def column(self, name: Hashable, where: Where, problems: Problems) -> Column:
        """Return the ids in ascending order and the position of each row's among them."""
        codes = _joined(self._codes, np.int64)
        distinct = []
        for code, raw in enumerate(self._numbers.strings()):
            try:
                distinct.append(raw.decode(self._encoding))
            except UnicodeDecodeError:
                row = int(np.argmax(codes == code))
                problems.add(
                    f"Column {name!r} holds {shown(raw.decode('latin-1'))} in {where(row)}, which is not "
                    f"{self._encoding}: say encoding='cp1252' if it was written on Windows.",
                    about=name,
                )
                return Column(codes)
        column = code_texts(distinct, codes, self._ids)
        if self._ids == "integer":
            check_integers(column, name, where, problems)
        return column


class NumberReader:
    """Finite numbers, NaN where missing."""

    def __init__(self) -> None:
        self._values: list[Array] = []
        self._rows = 0
        self._bad: tuple[int, str] | None = None

    def add(self, text: Array, starts: Array, ends: Array) -> None:
        """Read the next rows."""
        if self._bad is None:
            values, kinds = np.empty(len(starts)), np.empty(len(starts), np.uint8)
            decimals.parse_numbers(text, starts, ends, values, kinds)
            for row in np.flatnonzero(kinds == decimals.LEFT).tolist():
                word = _word(text, starts[row], ends[row])
                if word in MISSING_WORDS:
                    continue
                if _NUMBER.fullmatch(word):
                    values[row] = float(word)
                if not np.isfinite(values[row]):
                    self._bad = self._rows + row, word
                    break
            self._values.append(values)
        self._rows += len(starts)

    def column(self, name: Hashable, where: Where, problems: Problems) -> Column:
        """Return the numbers."""
        if self._bad is not None:
            row, word = self._bad
            hint = "write a decimal point" if _DECIMAL_COMMA.fullmatch(word) else "mend or drop that row"
            problems.add(
                f"Column {name!r} must hold numbers: {shown(word)} in {where(row)} is no finite one; {hint}.",
                about=name,
            )
            return Column(np.zeros(self._rows))
        values = _joined(self._values, np.float64)
        missing = np.isnan(values)
        return Column(values, missing if missing.any() else None)


class MomentReader:
    """Times: ISO dates, or numbers of any clock."""

    def __init__(self, error: type[Exception] = ValueError) -> None:
        self._error = error
        self._integers: list[Array] = []
        self._values: list[Array] = []
        self._kinds: list[Array] = []
        self._rows = 0
        self._bad: tuple[int, str] | None = None

    def add(self, text: Array, starts: Array, ends: Array) -> None:
        """Read the next rows."""
        if self._bad is None:
            integers, values = np.zeros(len(starts), np.int64), np.zeros(len(starts))
            kinds = np.empty(len(starts), np.uint8)
            moments.parse_moments(text, starts, ends, integers, values, kinds)
            for row in np.flatnonzero(kinds == moments.LEFT).tolist():
                word = _word(text, starts[row], ends[row])
                if word not in MISSING_WORDS:
                    self._bad = self._rows + row, word
                    break
                kinds[row] = moments.EMPTY
            self._integers.append(integers)
            self._values.append(values)
            self._kinds.append(kinds)
        self._rows += len(starts)

    def column(self, name: Hashable, where: Where, problems: Problems) -> Column:
        """Return the times: int64 if all are whole numbers, else float64."""
        if self._bad is not None:
            row, word = self._bad
            problems.add(
                f"Column {name!r} must hold numbers or dates: {shown(word)} in {where(row)} is neither a number nor an "
                "ISO date such as 2024-01-31 or 2024-01-31T18:30:00Z; convert it.",
                self._error,
                about=name,
            )
            return Column(np.zeros(self._rows))
        kinds = _joined(self._kinds, np.uint8)
        dated = kinds == moments.DATE
        counted = (kinds == moments.INTEGER) | (kinds == moments.DECIMAL)
        if dated.any() and counted.any():
            problems.add(
                f"Column {name!r} mixes dates ({where(int(np.argmax(dated)))}) and numbers "
                f"({where(int(np.argmax(counted)))}): write all of them in one way.",
                about=name,
            )
        integers = _joined(self._integers, np.int64)
        values = _joined(self._values, np.float64)
        if not (dated.any() or (kinds == moments.DECIMAL).any()):
            values = integers
        elif counted.any():
            values = np.where(kinds == moments.INTEGER, integers, values)
        missing = kinds == moments.EMPTY
        return Column(values, missing if missing.any() else None)


def as_slices(texts: list[str]) -> tuple[Array, Array, Array]:
    """Return texts as one array of bytes and where each starts and ends.

    >>> text, starts, ends = as_slices(["a", "bc"])
    >>> bytes(text), starts.tolist(), ends.tolist()
    (b'abc', [0, 1], [1, 3])
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), np.concatenate([[0], ends[:-1]]), ends


def _word(text: Array, start: int, end: int) -> str:
    return bytes(text[start:end]).decode("utf-8", "replace").strip()


def _joined(parts: list[Array], dtype: Any) -> Array:
    """Concatenate blocks and let go of them."""
    whole = np.concatenate(parts) if parts else np.empty(0, dtype)
    parts.clear()
    return whole
