"""A table of items beside a model: titles to show, columns to choose by.

    where      {"kind": "book"}, {"kind": ["book", "film"]}, {"price": ("<", 20)}, {"price": [(">=", 5), ("<", 20)]}
    groups     which value of a column an item has: what a list may have only so many of

Rows are matched by id; an item without a row, or without a value, meets no condition and is in no group. A cell of
several values, ``love|war`` or a list, meets a condition by any of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from everypair.check import is_number
from everypair.column_names import find_role
from everypair.data.ids import Ids, number_ids, string_array
from everypair.data.tables import LIST_MARK, Column, Problems, TextOptions, open_table
from everypair.types import Array
from everypair.words import listed

TITLE_NAMES = ("title", "name", "label", "description")
SEPARATOR = "|"
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


@dataclass(frozen=True)
class NumberColumn:
    """A number for every item, NaN without one."""

    values: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.values)

    def meets(self, comparison: str, wanted: Any, name: str) -> NDArray[np.bool_]:
        """Which items compare so."""
        if isinstance(wanted, str):
            with suppress(ValueError):
                wanted = float(wanted)
        if not is_number(wanted):
            raise ValueError(f"column {name!r} of the items holds numbers, which {wanted!r} is none of.")
        return np.asarray(COMPARISONS[comparison](self.values, wanted)) & ~np.isnan(self.values)

    def codes(self, name: str) -> NDArray[np.int64]:
        """A number per distinct value, −1 without one."""
        _, codes = np.unique(self.values, return_inverse=True)
        return np.where(np.isnan(self.values), -1, codes)

    def cell(self, item: int) -> Any:
        """What the item has."""
        value = float(self.values[item])
        return None if np.isnan(value) else int(value) if value.is_integer() else value

    def distinct(self) -> list[str]:
        """Its different values, as text."""
        return [as_text(one) for one in np.unique(self.values[~np.isnan(self.values)]).tolist()]

    def longer(self, count: int) -> NumberColumn:
        """The same with further items that have no value."""
        return NumberColumn(np.append(self.values, np.full(count, np.nan)))


@dataclass(frozen=True)
class TextColumn:
    """Texts of items: item j has ``names[indices[indptr[j]:indptr[j + 1]]]``, most often one."""

    names: Ids
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.indptr) - 1

    def meets(self, comparison: str, wanted: Any, name: str) -> NDArray[np.bool_]:
        """Which items have a text, or have it not."""
        if comparison not in ("==", "!="):
            raise ValueError(f"column {name!r} of the items holds text, which has no {comparison}: say == or !=.")
        place = self.names.find([as_text(wanted)])[0]
        if place < 0 and comparison == "==":
            raise ValueError(
                f"no item has {wanted!r} in column {name!r}, which has {listed(self.names.values.tolist())}."
            )
        owner = np.repeat(np.arange(self.size), np.diff(self.indptr))
        has = np.zeros(self.size, np.bool_)
        has[owner[self.indices == place]] = True
        return has if comparison == "==" else ~has & (np.diff(self.indptr) > 0)

    def codes(self, name: str) -> NDArray[np.int64]:
        """The number of the text of every item, −1 without one."""
        counts = np.diff(self.indptr)
        if (counts > 1).any():
            raise ValueError(
                f"column {name!r} of the items has several values in a cell: at_most= takes one of each item."
            )
        codes = np.full(self.size, -1, np.int64)
        codes[counts == 1] = self.indices
        return codes

    def cell(self, item: int) -> Any:
        """What the item has."""
        own = self.names.values[self.indices[self.indptr[item] : self.indptr[item + 1]]]
        return SEPARATOR.join(own) if len(own) else None

    def distinct(self) -> list[str]:
        """Its different values."""
        return self.names.values.tolist()

    def longer(self, count: int) -> TextColumn:
        """The same with further items that have no text."""
        return replace(self, indptr=np.append(self.indptr, np.full(count, self.indptr[-1])))


@dataclass(frozen=True)
class ItemTable:
    """Columns by name, each with a cell per item, and which of them holds the titles.

    >>> cells = {"item": ["a", "b"], "kind": ["book", "film|book"], "price": [5, 30]}
    >>> table = ItemTable.read(cells, Ids(["a", "b", "c"]))
    >>> table.allowed({"kind": "book"}).tolist(), table.allowed({"price": ("<", 20)}).tolist()
    ([True, True, False], [True, False, False])
    """

    columns: Mapping[str, NumberColumn | TextColumn]
    title: str | None = None

    def __post_init__(self) -> None:
        """Refuse columns that do not fit each other, as a damaged file may have them."""
        if self.title is not None and self.title not in self.columns:
            raise ValueError(f"the table of items has no column {self.title!r} of titles.")
        for name, column in self.columns.items():
            whole = isinstance(column, NumberColumn | TextColumn) and column.size == self.size
            if whole and isinstance(column, TextColumn):
                ends, places = column.indptr, column.indices
                whole = ends[0] == 0 and ends[-1] == len(places) and bool((np.diff(ends) >= 0).all())
                whole &= not len(places) or bool(0 <= places.min() <= places.max() < len(column.names))
            if not whole:
                raise ValueError(f"column {name!r} of the table of items is damaged.")

    @classmethod
    def read(cls, source: Any, ids: Ids, **text: Any) -> Self:
        """Read a file or a table in memory for items of these ids; rows of others are left out."""
        table = open_table(source, TextOptions(**text))
        names = [name for name in table.names if isinstance(name, str)]
        id_name = _id_column(names, table.source_name)
        others = [name for name in names if name != id_name]
        problems = Problems(table.source_name)
        read = table.read(
            {id_name: "id", **dict.fromkeys(others, "text")}, problems, "string" if ids.are_strings else "auto"
        )
        problems.report()
        own = read[id_name]
        assert own.ids is not None
        place = ids.find(own.ids.values)[own.values] if len(own.ids) else np.empty(0, np.int64)
        if own.missing is not None:
            place = np.where(own.missing, -1, place)
        if not (place >= 0).any():
            raise ValueError(
                f"{table.source_name}column {id_name!r} names no item of the model, such as "
                f"{listed(ids.values[:3].tolist())}."
            )
        rows = np.full(len(ids), -1, np.int64)
        rows[place[place >= 0]] = np.flatnonzero(place >= 0)
        columns = {name: _column(read[name], rows) for name in others}
        plain = {name.lower(): name for name in reversed(others)}
        return cls(columns, next((plain[name] for name in TITLE_NAMES if name in plain), None))

    @property
    def size(self) -> int | None:
        """Number of items, None without columns."""
        return next((column.size for column in self.columns.values()), None)

    def allowed(self, where: Any) -> NDArray[np.bool_]:
        """Which items meet every condition."""
        if not isinstance(where, Mapping):
            raise TypeError(f'where must be a dict of conditions such as {{"kind": "book"}}, got {where!r}.')
        allowed = np.ones(self.size or 0, np.bool_)
        for name, wanted in where.items():
            column = self._column(name)
            for condition in _conditions(wanted):
                allowed &= np.logical_or.reduce([column.meets(*one, name) for one in condition])
        return allowed

    def groups(self, name: str) -> NDArray[np.int64]:
        """Which value of a column every item has, as a number; −1 without one."""
        return self._column(name).codes(name)

    def titles(self, items: Sequence[int]) -> list[str | None]:
        """Titles of items by position, None without one."""
        column = None if self.title is None else self.columns[self.title]
        return [None if column is None or item < 0 else _or_none(column.cell(item)) for item in items]

    def longer(self, count: int) -> ItemTable:
        """The same with further items, of which nothing is known."""
        return replace(self, columns={name: column.longer(count) for name, column in self.columns.items()})

    def _column(self, name: str) -> NumberColumn | TextColumn:
        if name not in self.columns:
            raise ValueError(f"the table of items has no column {name!r}; it has {listed(list(self.columns), 20)}.")
        return self.columns[name]


def parsed_where(texts: Sequence[str]) -> dict[str, Any]:
    """Conditions as they are typed; several of one column must all hold, values with commas between are any of these.

    >>> parsed_where(["kind=book,film", "price<20", "price>=5"])
    {'kind': [[('==', 'book'), ('==', 'film')]], 'price': [[('<', '20')], [('>=', '5')]]}
    """
    found: dict[str, Any] = {}
    for text in texts:
        places = [
            (text.find(sign), -len(sign), sign) for sign in ("<=", ">=", "!=", "==", "=", "<", ">") if sign in text
        ]
        place, _, sign = min(places, default=(0, 0, ""))
        name, value = text[:place].strip(), text[place + len(sign) :].strip()
        if not name or not value:
            raise ValueError(f"{text!r} must be a condition on a column of the items, such as kind=book or 'price<20'.")
        comparison = "==" if sign == "=" else sign
        several = value.split(",") if comparison == "==" else [value]
        found.setdefault(name, []).append([(comparison, one.strip()) for one in several])
    return found


def as_text(value: Any) -> str:
    """A value as a table writes it: whole numbers without a point.

    >>> as_text(3.0), as_text("a"), as_text(True)
    ('3', 'a', 'true')
    """
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _or_none(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _conditions(wanted: Any) -> list[list[tuple[str, Any]]]:
    """What is said of a column: all of these must hold, each by any of its comparisons."""
    if isinstance(wanted, list | set | frozenset) and any(isinstance(one, list) for one in wanted):
        return [list(one) for one in wanted]
    if isinstance(wanted, tuple):
        return [[_comparison(wanted)]]
    if isinstance(wanted, list | set | frozenset):
        if not wanted:
            raise ValueError("where has an empty list: no item could meet it.")
        if all(isinstance(one, tuple) for one in wanted):
            return [[_comparison(one)] for one in wanted]
        return [[("==", one) for one in wanted]]
    return [[("==", wanted)]]


def _comparison(pair: tuple[Any, ...]) -> tuple[str, Any]:
    if len(pair) != 2 or pair[0] not in COMPARISONS:
        raise ValueError(
            f"a comparison is a pair such as ('<', 20), with one of {', '.join(COMPARISONS)}; got {pair!r}."
        )
    return pair[0], pair[1]


def _column(column: Column, rows: NDArray[np.int64]) -> NumberColumn | TextColumn:
    """The cells of every item: numbers where all are, text otherwise."""
    assert column.ids is not None
    there = rows >= 0
    if column.missing is not None:
        there &= ~column.missing[np.maximum(rows, 0)]
    items = np.flatnonzero(there)
    cells = column.ids.values[column.values[rows[items]]] if len(items) else np.empty(0, object)
    numbers = _numbers(column.ids)
    if numbers is not None:
        values = np.full(len(rows), np.nan)
        values[items] = numbers[column.values[rows[items]]]
        return NumberColumn(values)
    parts = [
        [one.strip() for one in str(cell).replace(LIST_MARK, SEPARATOR).split(SEPARATOR)] for cell in cells.tolist()
    ]
    parts = [list(dict.fromkeys(filter(None, own))) for own in parts]
    counts = np.zeros(len(rows), np.int64)
    counts[items] = list(map(len, parts))
    names, indices = number_ids(string_array([one for own in parts for one in own]), "values")
    if not len(names):
        names = Ids(string_array([]))
    return TextColumn(names, np.concatenate([[0], np.cumsum(counts)]), indices.astype(np.int64))


def _numbers(texts: Ids) -> Array | None:
    """The distinct cells of a column as numbers, None unless all are; codes such as 007 are none."""
    found = np.empty(len(texts))
    for place, one in enumerate(texts.values.tolist()):
        text = str(one).strip()
        if len(text) > 1 and text[0] == "0" and text[1].isdigit():
            return None
        try:
            found[place] = float(text)
        except ValueError:
            return None
    return found if np.isfinite(found).all() else None


def _id_column(names: Sequence[str], where: str) -> str:
    found = find_role(list(names), "item") or [name for name in names if name.lower() == "id"]
    if len(found) != 1:
        raise ValueError(
            f"{where}call the column of the items' ids 'item' or 'id': the columns are {listed(list(names), 20)}."
        )
    return str(found[0])
