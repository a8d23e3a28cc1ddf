"""Arrow arrays → columns: ids in ascending order and where each row's is among them, numbers, times.

Hashing, sorting and casting are Arrow's; only distinct ids ever become Python strings.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from everypair.data.ids import Ids, string_array
from everypair.data.tables.columns import Column, Problems, Where
from everypair.data.tables.words import EARLIEST, INTEGER_ID
from everypair.types import Array
from everypair.words import shortened

_PARTS_OF_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ZONED = r"(?:Z|[+-]\d\d(?::?\d\d)?)$"
_LARGEST_EXACT = 2.0**53


class UnreadableError(Exception):
    """What Arrow cannot read, or reads as something else than is meant: a closer look says why."""


class Times(NamedTuple):
    """Times of some rows: "integer" (int64), "decimal" or "date" (both float64), or "none" where all are missing."""

    kind: str
    values: Array
    missing: Array


def read_strings(array: Any, ids: str) -> Column:
    """Number strings in ascending order; unless ``ids`` is "string", as integers where all of them are.

    >>> import pyarrow as pa
    >>> column = read_strings(pa.array(["10", None, "9", "10"]), "auto")
    >>> column.ids, column.values.tolist(), column.missing.tolist()
    (Ids(2: 9, 10), [1, -1, 0, 1], [False, True, False, False])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)  # it may hold strings that no row has, or some twice
    if not pa.types.is_string(array.type):
        array = array.cast(pa.large_string())
    distinct, codes = _encoded(array)
    if ids != "string" and len(distinct) and pc.all(pc.match_substring_regex(distinct, INTEGER_ID)).as_py():
        integers = distinct.cast(pa.int64()).to_numpy()
        order = np.argsort(integers)
        return _ascending(integers[order], order, codes)
    order = pc.sort_indices(distinct).to_numpy()  # by bytes of UTF-8, which is by characters
    return _ascending(string_array(distinct.take(pa.array(order)).to_pylist()), order, codes)


def read_integers(array: Any, name: Hashable) -> Column:
    """Number integers in ascending order.

    >>> import pyarrow as pa
    >>> read_integers(pa.array([2**53 + 1, None, 7]), "user").ids
    Ids(2: 7, 9007199254740993)
    """
    import pyarrow as pa

    try:
        distinct, codes = _encoded(array.cast(pa.int64()))
    except pa.ArrowInvalid:
        raise ValueError(f"Column {name!r} has integers beyond the range of int64: convert them to strings.") from None
    integers = distinct.to_numpy()
    order = np.argsort(integers)
    return _ascending(integers[order], order, codes)


def whole_numbers(array: Any) -> Any:
    """Floats as integers, where some are missing and all others are whole: what a frame makes of such a column; None
    where they are not that.
    """
    import pyarrow as pa

    values = array.to_numpy(zero_copy_only=False) if isinstance(array, pa.Array) else array.to_numpy()
    missing = np.isnan(values)
    there = values[~missing]
    if not missing.any() or not len(there) or (there != np.round(there)).any() or np.abs(there).max() >= _LARGEST_EXACT:
        return None
    return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)


def read_numbers(array: Any) -> Column:
    """Numbers as float64, NaN where missing; they may be infinite."""
    import pyarrow as pa

    missing = _mask(array.is_null(nan_is_null=True))
    values = _numpy(array.cast(pa.float64(), safe=False)) if len(array) else np.empty(0)
    return Column(values, missing if missing.any() else None)


def read_times(array: Any) -> Times:
    """Timestamps, dates, integers, floats and strings of these as times, 0 where missing; they may be infinite."""
    import pyarrow as pa

    missing = _mask(array.is_null(nan_is_null=True))
    if missing.all():
        return Times("none", np.zeros(len(array), np.int64), missing)
    kind = array.type
    if pa.types.is_date(kind):
        array = array.cast(pa.timestamp("ms" if pa.types.is_date64(kind) else "s"))
        kind = array.type
    if pa.types.is_timestamp(kind):
        parts = _PARTS_OF_SECOND[kind.unit]
        seconds, rest = np.divmod(_numpy(array.cast(pa.int64()).fill_null(0)), parts)
        return Times("date", seconds + rest / parts, missing)
    if pa.types.is_integer(kind):
        return Times("integer", _numpy(array.cast(pa.int64()).fill_null(0)), missing)
    values = _numpy(array.cast(pa.float64()))
    return Times("decimal", np.where(missing, 0.0, values), missing)


def spelled_times(words: Any) -> Times:
    """Read strings as times: all as integers, all as numbers, or all as ISO dates, with a zone or without.

    >>> import pyarrow as pa
    >>> spelled_times(pa.array(["2024-01-01", "2024-01-01T02:00+02:00"])).values.tolist()
    [1704067200.0, 1704067200.0]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if words.null_count == len(words):
        return read_times(words)
    for number in (pa.int64(), pa.float64()):
        try:
            times = read_times(words.cast(number))
        except pa.ArrowInvalid:
            continue
        if (times.kind == "decimal" and not np.isfinite(times.values).all()) or _hold_hexadecimals(words):
            raise UnreadableError
        return times
    zoned = _mask(pc.match_substring_regex(words, _ZONED)) & (pc.utf8_length(words).fill_null(0).to_numpy() > 10)
    values, missing = np.zeros(len(words)), _mask(words.is_null())
    for rows, zone in ((zoned, "UTC"), (~zoned, None)):
        if rows.any():
            values[rows] = read_times(_as_timestamps(words.filter(pa.array(rows)), zone)).values
    if (values < EARLIEST).any():
        raise UnreadableError
    return Times("date", values, missing)


def _hold_hexadecimals(words: Any) -> bool:
    """Whether some of the words that were read as integers are 0x1f and the like; nearly always no byte is an x."""
    import pyarrow.compute as pc

    text = words.buffers()[2].to_pybytes()
    return (b"x" in text or b"X" in text) and bool(pc.any(pc.match_substring(words, "x", ignore_case=True)).as_py())


def joined_times(parts: list[Times]) -> Column:
    """Put the times of blocks of rows together: int64 where all are integers."""
    kinds = {part.kind for part in parts} - {"none"}
    if "date" in kinds and len(kinds) > 1:
        raise UnreadableError
    values = np.concatenate([part.values for part in parts]) if parts else np.empty(0, np.int64)
    missing = np.concatenate([part.missing for part in parts]) if parts else np.empty(0, np.bool_)
    if kinds - {"integer"}:
        values = values.astype(np.float64)
    return Column(values, missing if missing.any() else None)


def check_integers(column: Column, name: Hashable, where: Where, problems: Problems) -> None:
    """Say where an id is no integer although ``ids="integer"`` asks for them."""
    if column.ids is None or not column.ids.are_strings or not len(column.ids):
        return
    odd = next((place for place, text in enumerate(column.ids) if not re.match(INTEGER_ID, text)), 0)
    row = int(np.argmax(column.values == odd))
    problems.add(
        f"Column {name!r} holds {shortened(column.ids[odd])} in {where(row)}, which is no integer: "
        'leave out ids="integer".',
        about=name,
    )


def _as_timestamps(words: Any, zone: str | None) -> Any:
    import pyarrow as pa

    for unit in ("us", "ns"):
        try:
            return words.cast(pa.timestamp(unit, zone))
        except pa.ArrowInvalid:
            continue
    raise UnreadableError


def _encoded(array: Any) -> tuple[Any, Array]:
    """The distinct values and where each row's is among them, −1 where it is missing."""
    import pyarrow as pa

    encoded = array.dictionary_encode()
    chunks = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
    if not chunks:
        return pa.array([], array.type), np.empty(0, np.int32)
    codes = [chunk.indices.fill_null(-1).to_numpy() for chunk in chunks]
    return chunks[-1].dictionary, np.concatenate(codes)


def _ascending(values: Array, order: Array, codes: Array) -> Column:
    """Positions among ``values``, which were at ``order`` when ``codes`` were given."""
    rank = np.full(len(values) + 1, -1, codes.dtype)  # the last is for −1
    rank[order] = np.arange(len(values), dtype=codes.dtype)
    positions = rank[codes]
    missing = positions < 0
    return Column(positions, missing if missing.any() else None, Ids._of_distinct(values))


def _numpy(array: Any) -> Array:
    import pyarrow as pa

    return np.asarray(array.to_numpy(zero_copy_only=False) if isinstance(array, pa.Array) else array.to_numpy())


def _mask(flags: Any) -> Array:
    return _numpy(flags.fill_null(False)).astype(np.bool_, copy=False)
