"""Tables in memory: data frames of any library, mappings of columns, rows as tuples, arrays with named fields.

Every column becomes an Arrow array. What Arrow does not take, Python objects of several kinds, is looked at one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from everypair.data.ids import is_missing, number_ids
from everypair.data.tables.columns import LIST_MARK, Column, Problems
from everypair.data.tables.values import (
    Times,
    UnreadableError,
    check_integers,
    joined_times,
    read_integers,
    read_numbers,
    read_strings,
    read_times,
    spelled_times,
    whole_numbers,
)
from everypair.data.tables.words import TimeWords
from everypair.types import Array

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class FrameTable:
    """A mapping from names to columns, whatever it was before."""

    def __init__(self, columns: Mapping[Any, Any], source_name: str = "", positional: bool = False) -> None:
        self.names: list[Hashable] = list(columns)
        self.source_name = source_name
        self.positional = positional
        self._columns = columns

    @classmethod
    def of(cls, source: Any, source_name: str = "") -> FrameTable:
        """Take a data frame, a mapping of columns, rows or an array apart."""
        if isinstance(source, Mapping):
            return cls(source, source_name)
        if isinstance(source, np.ndarray):
            return cls._of_array(source)
        try:
            frame = nw.from_native(source, eager_only=True, pass_through=True)
        except DuplicateError:
            raise ValueError(
                f"{source_name}The frame has columns of the same name: give them different names."
            ) from None
        if isinstance(frame, nw.DataFrame):
            return cls(dict(zip(frame.columns, frame.iter_columns())), source_name)
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
        import pyarrow as pa

        kind = _as_arrow(self._columns[name], name).type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            return "moment"
        return "number" if _is_number(kind) else None

    def read(self, kinds: Mapping[Hashable, str], problems: Problems, ids: str = "auto") -> dict[Hashable, Column]:
        """Read the columns of these names, each as one of the kinds of `columns`."""
        columns: dict[Hashable, Column] = {}
        for name, kind in kinds.items():
            values = _as_arrow(self._columns[name], name)
            try:
                columns[name] = self._column(values, kind, name, problems, ids)
            except (TypeError, ValueError) as failure:
                problems.add(str(failure), type(failure), about=name)
                columns[name] = Column(np.zeros(len(values), np.int64))
        return columns

    def _column(self, values: Any, kind: str, name: Hashable, problems: Problems, ids: str) -> Column:
        if kind == "text":
            return _texts(values)
        if isinstance(values, list):
            if kind == "id":
                return _object_ids(values, name)
            values = _floats(values, name, kind)
        elif _is_list(values.type):
            raise ValueError(f"Column {name!r} must be one-dimensional, got lists in it.")
        if kind == "id":
            return self._ids(values, name, problems, ids)
        return self._numbers(values, name) if kind == "number" else self._times(values, name, problems)

    def _ids(self, array: Any, name: Hashable, problems: Problems, ids: str) -> Column:
        import pyarrow as pa

        kind = array.type
        if pa.types.is_floating(kind):
            array = whole_numbers(array) or array
        if pa.types.is_integer(array.type):
            return read_strings(array.cast(pa.string()), "string") if ids == "string" else read_integers(array, name)
        if pa.types.is_null(kind) or _is_string(kind):
            column = read_strings(array, "string" if ids == "auto" else ids)
            if ids == "integer":
                check_integers(column, name, self.where, problems)
            return column
        raise TypeError(
            f"Column {name!r} must be all strings or all integers, got {_type_names(array)}: convert them with "
            "astype(str) or astype(int) first."
        )

    def _numbers(self, array: Any, name: Hashable) -> Column:
        import pyarrow as pa

        if not (_is_number(array.type) or pa.types.is_null(array.type)):
            raise _no_numbers(name, _type_names(array))
        column = read_numbers(array)
        strange = ~np.isfinite(column.values) & (True if column.missing is None else ~column.missing)
        if strange.any():
            where = self.where(int(np.argmax(strange)))
            raise ValueError(f"Column {name!r} has NaN or infinite values, the first in {where}: drop or mend them.")
        return column

    def _times(self, array: Any, name: Hashable, problems: Problems) -> Column:
        import pyarrow as pa

        if _is_string(array.type):
            return self._spelled_times(array, name, problems)
        dated = pa.types.is_timestamp(array.type) or pa.types.is_date(array.type) or pa.types.is_null(array.type)
        if not (dated or _is_number(array.type)) or pa.types.is_boolean(array.type):
            raise _no_times(name, _type_names(array))
        column = joined_times([read_times(array)])
        strange = ~np.isfinite(column.values)
        if strange.any():
            where = self.where(int(np.argmax(strange)))
            raise ValueError(
                f"Column {name!r} has missing or infinite times, the first in {where}: drop those events or fill in a "
                "time."
            )
        return column

    def _spelled_times(self, array: Any, name: Hashable, problems: Problems) -> Column:
        """Read strings of dates or numbers as a text file's."""
        import pyarrow as pa

        array = array.cast(pa.large_string())
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        try:
            times: list[Times] = [spelled_times(chunk) for chunk in chunks]
            return joined_times(times)
        except UnreadableError:
            reader = TimeWords(TypeError)
            for word in array.to_pylist():
                reader.add(word or "")
            return reader.column(name, self.where, problems)


def _as_arrow(values: Any, name: Hashable) -> Any:
    """Return a column as an Arrow array; as a list where Arrow does not take it."""
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        if series.dtype in (nw.Int128, nw.UInt128):
            raise TypeError(f"Column {name!r} holds {series.dtype}: cast it to Int64, or to strings.")
        if series.dtype != nw.Object:
            return series.to_arrow()
        values = series.to_list()
    if isinstance(values, np.ma.MaskedArray):
        return pa.array(np.asarray(values), mask=np.ma.getmaskarray(values))
    if not isinstance(values, list | tuple):
        values = np.asarray(values)
        if values.ndim != 1:
            raise ValueError(f"Column {name!r} must be one-dimensional, got {values.ndim} dimensions.")
        if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] not in ("D", "s", "ms", "us", "ns"):
            values = values.astype("datetime64[s]")
        if values.dtype.kind not in "OU":
            return pa.array(values, from_pandas=True)
        values = values.tolist()
    return _as_objects(list(values))


def _as_objects(values: list[Any]) -> Any:
    """Python objects as an Arrow array where they are of one kind, dates with a zone and without among them."""
    import pyarrow as pa

    kinds = {type(one) for one in values if not is_missing(one)}
    if kinds and all(issubclass(kind, date) for kind in kinds):
        return pa.array([None if is_missing(one) else _microseconds(one) for one in values]).cast(pa.timestamp("us"))
    if len(kinds) > 1 and not all(issubclass(kind, str) for kind in kinds):
        return values
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # lone surrogates, integers beyond 64 bits
        return values


def _object_ids(values: list[Any], name: Hashable) -> Column:
    """Ids that are Python objects of several types, most of which are refused."""
    there = np.array([not is_missing(one) for one in values], np.bool_)
    known, positions = number_ids([one for one in values if not is_missing(one)], f"Column {name!r}")
    spread = np.full(len(values), -1, np.int64)
    spread[there] = positions
    return Column(spread, None if there.all() else ~there, known)


def _floats(values: list[Any], name: Hashable, kind: str) -> Any:
    """Numbers of several types as one."""
    import pyarrow as pa

    present = [one for one in values if not is_missing(one)]
    if not all(isinstance(one, int | float | Decimal | np.number) and not isinstance(one, bool) for one in present):
        types = ", ".join(sorted({type(one).__name__ for one in present})[:3])
        raise _no_numbers(name, types) if kind == "number" else _no_times(name, types)
    return pa.array([None if is_missing(one) else float(one) for one in values], pa.float64())


def _texts(values: Any) -> Column:
    """Anything as text; the values of a list are set apart by a character that no text holds."""
    import pyarrow as pa

    if isinstance(values, list) or not _is_string(values.type):
        if not isinstance(values, list):
            values = (values.cast(pa.string()) if pa.types.is_temporal(values.type) else values).to_pylist()
        values = pa.array([None if is_missing(one) else _as_text(one) for one in values], pa.string())
    return read_strings(values, "string")


def _as_text(one: Any) -> str:
    return LIST_MARK.join(map(str, one)) if isinstance(one, list | tuple | np.ndarray) else str(one)


def _microseconds(moment: date) -> int:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86400 + since.seconds) * 10**6 + since.microseconds


def _no_numbers(name: Hashable, types: str) -> TypeError:
    return TypeError(f"Column {name!r} must hold numbers, got {types}: convert it with astype(float).")


def _no_times(name: Hashable, types: str) -> TypeError:
    return TypeError(
        f"Column {name!r} must hold numbers or dates, got {types}: convert it to numbers or datetime64 (UTC)."
    )


def _is_string(kind: Any) -> bool:
    import pyarrow as pa

    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(is_kind(value) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    kinds = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean
    return any(is_kind(kind) for is_kind in kinds)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return any(is_kind(kind) for is_kind in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def _type_names(array: Any) -> str:
    return type(next(iter(array.drop_null()), array[0]).as_py()).__name__
