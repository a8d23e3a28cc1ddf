"""One word of a text as an id, a number or a time, and columns that are read word by word.

This is slow, and knows which word it cannot read: what Arrow refuses is read so, to be read all the same or explained.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import numpy as np

from everypair.data.tables.columns import Column, Problems, Where
from everypair.words import shortened

MISSING_WORDS = ("", r"\N", "NULL", "null", "NaN", "nan", "NA", "N/A", "<NA>", "None")
INTEGER_ID = r"^(?:0|-?[1-9][0-9]{0,17}|-?[1-8][0-9]{18})$"  # as Python writes it, and sure to fit int64
EARLIEST = -62135596800  # 0001-01-01
INTEGER, DECIMAL, DATE, MISSING = 0, 1, 2, 3
_MISSING = frozenset(MISSING_WORDS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")
_DATE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9})[0-9]*)?)?)?"
    r"(Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?"
)


def parse_number(word: str) -> float | None:
    """Return a finite number, NaN for a word that stands for nothing, or None.

    >>> parse_number(" 2.5 "), parse_number("NULL"), parse_number("2,5")
    (2.5, nan, None)
    """
    word = word.strip()
    if word in _MISSING:
        return np.nan
    number = float(word) if _NUMBER.fullmatch(word) else np.nan
    return number if np.isfinite(number) else None


def parse_time(word: str) -> tuple[int, float] | None:
    """Return the kind of a time and its value, or None for a word that is none.

    >>> parse_time("1970-01-02T00:00+01:00") == (DATE, 82800.0), parse_time("5") == (INTEGER, 5), parse_time("today")
    (True, True, None)
    """
    word = word.strip()
    if word in _MISSING:
        return MISSING, 0
    if re.fullmatch(r"-?[0-9]{1,18}|-?[1-8][0-9]{18}", word):
        return INTEGER, int(word)
    date = _DATE.fullmatch(word)
    if date is None:
        number = parse_number(word)
        return None if number is None else (DECIMAL, number)
    day, hour, minute, second, fraction, _, sign, zone_hours, zone_minutes = date.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{hour or '00'}:{minute or '00'}:{second or '00'}+00:00")
        zone = timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
    except ValueError:
        return None
    if int(zone_hours or 0) > 23 or int(zone_minutes or 0) > 59:
        return None
    passed = (moment - _EPOCH) + (zone if sign == "-" else -zone)
    scale = 10 ** len(fraction or "")
    return DATE, ((passed.days * 86400 + passed.seconds) * scale + int(fraction or 0)) / scale


class WordReader(Protocol):
    """Collects one column."""

    def add(self, word: str) -> None:
        """Read the word of the next row."""
        ...

    def column(self, name: Hashable, where: Where, problems: Problems) -> Column:
        """Return what was read, and what was wrong."""
        ...


def word_reader(kind: str, encoding: str = "utf-8") -> WordReader:
    """Return a reader of one of the kinds of `columns`."""
    if kind == "number":
        return NumberWords()
    return TimeWords() if kind == "moment" else IdWords(encoding)


def read_words(words: Iterable[str], reader: WordReader, name: Hashable, where: Where, problems: Problems) -> Column:
    """Read all words of a column."""
    for word in words:
        reader.add(word)
    return reader.column(name, where, problems)


class IdWords:
    """Ids as they are; bytes that the encoding does not know stand as lone surrogates in them."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self.words: list[str | None] = []
        self._seen: dict[str, str] = {}

    def add(self, word: str) -> None:
        """Keep a word, one copy of it."""
        self.words.append(None if word in _MISSING else self._seen.setdefault(word, word))

    def column(self, name: Hashable, where: Where, problems: Problems) -> Column:
        """Return which are missing; the ids themselves are numbered elsewhere."""
        for word in self._seen:
            if any("\ud800" <= letter <= "\udfff" for letter in word):
                raw = word.encode("utf-8", "surrogateescape").decode("latin-1")
                problems.add(
                    f"Column {name!r} holds {shortened(raw)} in {where(self.words.index(word))}, which is not "
                    f"{self.encoding}: say encoding='cp1252' if it was written on Windows.",
                    about=name,
                )
                break
        missing = np.fromiter((word is None for word in self.words), np.bool_, len(self.words))
        return Column(np.zeros(len(self.words), np.int32), missing if missing.any() else None)


class NumberWords:
    """Finite numbers, NaN where missing."""

    def __init__(self) -> None:
        self._values = array("d")
        self._bad: tuple[int, str] | None = None

    def add(self, word: str) -> None:
        """Read a number, or keep the first word that is none."""
        number = parse_number(word)
        if number is None:
            self._bad = self._bad or (len(self._values), word.strip())
            number = 0.0
        self._values.append(number)

    def column(self, name: Hashable, where: Where, problems: Problems) -> Column:
        """Return the numbers."""
        if self._bad is not None:
            row, word = self._bad
            hint = "write a decimal point" if _DECIMAL_COMMA.fullmatch(word) else "mend or drop that row"
            problems.add(
                f"Column {name!r} must hold numbers: {shortened(word)} in {where(row)} is no finite one; {hint}.",
                about=name,
            )
        values = np.array(self._values, np.float64)
        missing = np.isnan(values)
        return Column(values, missing if missing.any() and self._bad is None else None)


class TimeWords:
    """Times: ISO dates, or numbers of any clock."""

    def __init__(self, error: type[Exception] = ValueError) -> None:
        self._error = error
        self._values: list[Any] = []
        self._kinds = bytearray()
        self._bad: tuple[int, str] | None = None

    def add(self, word: str) -> None:
        """Read a time, or keep the first word that is none."""
        time = parse_time(word)
        if time is None:
            self._bad = self._bad or (len(self._values), word.strip())
            time = MISSING, 0
        self._kinds.append(time[0])
        self._values.append(time[1])

    def column(self, name: Hashable, where: Where, problems: Problems) -> Column:
        """Return the times: int64 if all are whole numbers, else float64."""
        kinds = np.frombuffer(bytes(self._kinds), np.uint8)
        dates, numbers = kinds == DATE, kinds <= DECIMAL
        missing = kinds == MISSING
        if self._bad is not None:
            row, word = self._bad
            problems.add(
                f"Column {name!r} must hold numbers or dates: {shortened(word)} in {where(row)} is neither a number "
                "nor an ISO date such as 2024-01-31 or 2024-01-31T18:30:00Z; convert it.",
                self._error,
                about=name,
            )
            missing = np.zeros(len(kinds), np.bool_)
        elif dates.any() and numbers.any():
            problems.add(
                f"Column {name!r} mixes dates ({where(int(np.argmax(dates)))}) and numbers "
                f"({where(int(np.argmax(numbers)))}): write all of them in one way.",
                about=name,
            )
        whole = not (dates.any() or (kinds == DECIMAL).any())
        values = np.array(self._values, np.int64 if whole else np.float64)
        return Column(values, missing if missing.any() else None)
