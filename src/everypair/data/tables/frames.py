"""Tables in memory: data frames of any library, mappings of columns, rows as tuples, arrays with named fields."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from everypair.data.ids import is_missing, number_ids, string_array
from everypair.data.tables.columns import LIST_MARK, Column, Problems, check_integers, code_texts, rank_texts
from everypair.data.tables.readers import MomentReader, as_slices
from everypair.types import Array

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_EXACT = 2.0**53


class FrameTable:
    """A mapping from names to columns, whatever it was before."""

    def __init__(self, columns: Mapping[Any, Any], place: str = "", positional: bool = False) -> None:
        self.names: list[Hashable] = list(columns)
        self.place = place
        self.positional = positional
        self._columns = columns

    @classmethod
    def of(cls, source: Any, place: str = "") -> FrameTable:
        """Take a data frame, a mapping of columns, rows or an array apart."""
        if isinstance(source, Mapping):
            return cls(source, place)
        if isinstance(source, np.ndarray):
            return cls._of_array(source)
        try:
            frame = nw.from_native(source, eager_only=True, pass_through=True)
        except DuplicateError:
            raise ValueError(f"{place}The frame has columns of the same name: give them different names.") from None
        if isinstance(frame, nw.DataFrame):
            return cls(dict(zip(frame.columns, frame.iter_columns())), place)
        if hasattr(source, "read"):
            raise TypeError(f"{type(source).__name__} is an open file: give the path of the file, or a data frame.")
        if isinstance(source, str | bytes) or hasattr(source, "collect") or not isinstance(source, Iterable):
            raise TypeError(
                "a table of events is a file, a data frame, a mapping from column names to arrays or rows of tuples, "
                f"got {type(source).__name__}; collect a lazy frame first."
            )
        return cls._of_rows(source)

    @classmethod
    def _of_array(cls, array: Array) -> FrameTable:
        if array.dtype.names:
            return cls({name: array[name] for name in array.dtype.names})
        if array.ndim != 2:
            raise ValueError(f"an array of events has a row per event and a column per field, got {array.ndim}-D.")
        return cls(dict(enumerate(array.T)), positional=True)

    @classmethod
    def _of_rows(cls, rows: Iterable[Any]) -> FrameTable:
        listed = list(rows)
        if not listed:
            raise ValueError("there are no events: the list of them is empty.")
        strange = next((row for row in listed if not isinstance(row, tuple | list)), None)
        if strange is not None:
            raise TypeError(f"events must be rows (user, item), got a {type(strange).__name__}: {strange!r:.60}.")
        lengths = {len(row) for row in listed}
        if len(lengths) > 1:
            odd = next(place for place, row in enumerate(listed) if len(row) != len(listed[0]))
            raise ValueError(
                f"the rows of events differ in length: row 0 has {len(listed[0])} fields, row {odd} has "
                f"{len(listed[odd])}."
            )
        return cls({place: list(column) for place, column in enumerate(zip(*listed))}, positional=True)

    def where(self, row: int) -> str:
        """Return the number of a row, from 0 as Python counts."""
        return f"row {row}"

    def native_kind(self, name: Hashable) -> str | None:
        """Return "number" or "moment" if the column is of that type."""
        present, _ = _without_missing(_one_dimensional(self._columns[name], name))
        if present.dtype == object and len(present) and all(isinstance(one, date) for one in present.tolist()):
            return "moment"
        return {"M": "moment"}.get(present.dtype.kind, "number" if present.dtype.kind in "buif" else None)

    def read(self, wanted: Mapping[Hashable, str], problems: Problems, ids: str = "auto") -> dict[Hashable, Column]:
        """Read the columns of these names, each as one of the kinds of `columns`."""
        readers = {"id": self._ids, "text": self._texts, "number": self._numbers, "moment": self._moments}
        columns = {}
        for name, kind in wanted.items():
            values = self._columns[name]
            known = _distinct_strings(values) if kind == "text" or (kind == "id" and ids != "integer") else None
            if known is None:
                columns[name] = readers[kind](_one_dimensional(values, name), name, problems, ids)
            else:
                columns[name] = rank_texts(*known)
        return columns

    def _ids(self, array: Array, name: Hashable, problems: Problems, ids: str) -> Column:
        present, missing = _without_missing(array)
        if missing is not None and present.dtype.kind == "f" and _whole(present):
            present = present.astype(np.int64)  # a frame turns integers into floats where one is missing
        if ids == "string" and present.dtype.kind in "iu":
            present = string_array([_as_text(one) for one in present.tolist()])
        try:
            known, positions = number_ids(present, f"Column {name!r}")
        except (TypeError, ValueError) as failure:
            problems.add(str(failure), type(failure), about=name)
            return Column(np.zeros(len(array), np.int64))
        if ids == "integer" and known.are_strings:
            column = code_texts(known.values.tolist(), positions, ids)
            check_integers(column, name, self.where, problems)
            known, positions = column.ids or known, column.values
        return Column(_spread(positions, missing, -1), missing, known)

    def _texts(self, array: Array, name: Hashable, problems: Problems, ids: str) -> Column:
        present, missing = _without_missing(array)
        known, positions = number_ids(string_array([_as_text(one) for one in present.tolist()]), f"Column {name!r}")
        return Column(_spread(positions, missing, -1), missing, known)

    def _numbers(self, array: Array, name: Hashable, problems: Problems, ids: str) -> Column:
        present, missing = _without_missing(array)
        if present.dtype == object and all(isinstance(one, int | float | Decimal) for one in present.tolist()):
            present = np.array([float(one) for one in present.tolist()])
        if present.dtype.kind not in "buif" and len(present):
            problems.add(
                f"Column {name!r} must hold numbers, got {_type_name(present)}: convert it with astype(float).",
                TypeError,
                about=name,
            )
            return Column(np.zeros(len(array)))
        values = present.astype(np.float64)
        if not np.isfinite(values).all():
            row = np.flatnonzero(~np.isfinite(_spread(values, missing, 0.0)))[0]
            problems.add(
                f"Column {name!r} has NaN or infinite values, the first in {self.where(row)}: drop or mend them.",
                about=name,
            )
        return Column(_spread(values, missing, np.nan), missing)

    def _moments(self, array: Array, name: Hashable, problems: Problems, ids: str) -> Column:
        present, missing = _without_missing(array)
        if present.dtype.kind in "OU" and len(present):
            listed = present.tolist()
            if all(isinstance(one, str) for one in listed):
                return self._spelled_moments(listed, missing, name, problems)
            if all(isinstance(one, date) for one in listed):
                present = np.array([_seconds(one) for one in listed])
        if len(present) and present.dtype.kind not in "iufM":
            problems.add(
                f"Column {name!r} must hold numbers or dates, got {_type_name(present)}: "
                "convert it to numbers or datetime64 (UTC).",
                TypeError,
                about=name,
            )
            return Column(np.zeros(len(array)))
        if present.dtype.kind == "M":
            values: Array = (present - np.datetime64(0, "s")) / np.timedelta64(1, "s")
        else:
            values = present.astype(np.float64 if present.dtype.kind == "f" else np.int64)
        if not np.isfinite(values).all():
            row = np.flatnonzero(~np.isfinite(_spread(values, missing, 0)))[0]
            problems.add(
                f"Column {name!r} has missing or infinite times, the first in {self.where(row)}: drop those events or "
                "fill in a time.",
                about=name,
            )
        return Column(_spread(values, missing, 0), missing)

    def _spelled_moments(
        self, words: list[str], missing: NDArray[np.bool_] | None, name: Hashable, problems: Problems
    ) -> Column:
        """Read strings of dates or numbers as a text file's; ``words`` are those that are not missing."""
        rows = np.arange(len(words)) if missing is None else np.flatnonzero(~missing)
        reader = MomentReader(TypeError)
        reader.add(*as_slices(words))
        column = reader.column(name, lambda row: self.where(int(rows[row])), problems)
        absent = np.zeros(len(words) if missing is None else len(missing), np.bool_)
        absent[rows] = False if column.missing is None else column.missing
        if missing is not None:
            absent |= missing
        return Column(_spread(column.values, missing, 0), absent if absent.any() else None)


def _distinct_strings(values: Any) -> tuple[list[str], Array] | None:
    """Return a column of strings as distinct ones and where each row's is among them, −1 where missing, by pyarrow.

    Without pyarrow, or for anything but strings, None: the column is then read value by value.
    """
    if not isinstance(values, nw.Series) or values.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return None
    try:
        encoded = values.to_arrow().dictionary_encode()
    except (ImportError, AttributeError):
        return None
    if not hasattr(encoded, "dictionary"):  # a column in several pieces, as of frames that were put together
        encoded = encoded.combine_chunks()
    distinct = encoded.dictionary.to_pylist()
    if not all(isinstance(one, str) for one in distinct):
        return None
    codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    used = np.zeros(len(distinct) + 1, np.bool_)  # a category need not have a row; the last is for −1
    used[codes] = True
    if used[:-1].all():
        return distinct, codes
    place = np.where(used, np.cumsum(used) - 1, -1)
    place[-1] = -1
    return [one for one, kept in zip(distinct, used.tolist()) if kept], place[codes]


def _one_dimensional(values: Any, name: Hashable) -> Array:
    """Return a column as an array; strings stay Python objects, each at its own length."""
    if isinstance(values, nw.Series):
        array = values.to_numpy()
    elif isinstance(values, list | tuple):
        kinds = set(map(type, values))
        array = string_array(list(values)) if kinds & {str, type(None)} or len(kinds) > 1 else np.asarray(values)
    else:
        array = np.asarray(values)
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        array = np.asarray(values).astype(object)
        array[np.ma.getmaskarray(values)] = None
    if array.ndim != 1:
        raise ValueError(f"Column {name!r} must be one-dimensional, got {array.ndim} dimensions.")
    return array


def _without_missing(array: Array) -> tuple[Array, NDArray[np.bool_] | None]:
    """Return the values that are there and, unless all are, which are missing."""
    if array.dtype.kind == "f":
        missing = np.isnan(array)
    elif array.dtype.kind == "M":
        missing = np.isnat(array)
    elif array.dtype == object and set(map(type, array.tolist())) != {str}:
        missing = np.fromiter(map(is_missing, array.tolist()), np.bool_, len(array))
    else:
        return array, None
    if not missing.any():
        return _tightened(array), None
    return _tightened(array[~missing]), missing


def _tightened(array: Array) -> Array:
    """Return Python integers, numbers or dates as an array of their own type."""
    if array.dtype != object or not len(array):
        return array
    kinds = set(map(type, array.tolist()))
    if all(issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds) and len(kinds) == 1:
        try:
            return np.array(array.tolist())
        except OverflowError:
            return array
    return array


def _spread(values: Array, missing: NDArray[np.bool_] | None, fill: Any) -> Array:
    """Return values in their rows, ``fill`` where missing."""
    if missing is None:
        return values
    whole = np.full(len(missing), fill, values.dtype)
    whole[~missing] = values
    return whole


def _whole(values: Array) -> bool:
    return bool(len(values)) and bool((values == np.round(values)).all() and np.abs(values).max() <= _LARGEST_EXACT)


def _as_text(one: Any) -> str:
    """Return a value as text; those of a list are set apart by a character that no text holds."""
    return LIST_MARK.join(map(str, one)) if isinstance(one, list | tuple | np.ndarray) else str(one)


def _seconds(moment: date) -> float:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return since.total_seconds()


def _type_name(array: Array) -> str:
    kinds = sorted({type(one).__name__ for one in array.tolist()}) if array.dtype == object else [str(array.dtype)]
    return ", ".join(kinds[:3])
