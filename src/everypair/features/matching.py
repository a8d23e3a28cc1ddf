"""Which row of a table is which id: ``places[t]`` is the row of ``ids[t]``, −1 where it has none.

Rows belong to ids by what a column or an index holds, never by their position. An id with two rows is refused by name,
and so are ids without a row and rows of unknown ids where the caller does not say what to do with them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from everypair.check import as_frame
from everypair.column_names import find_role
from everypair.data.ids import Ids
from everypair.data.matching import find_alike
from everypair.data.tables import Column, Problems, Table, resolve_names
from everypair.data.tables.frames import FrameTable
from everypair.types import Array
from everypair.words import listed

INDEX = "index"
KINDS = ("user", "item")


@dataclass(frozen=True)
class RowIds:
    """What a table's rows are called: a ``column`` of ``table``; without one, all ids in their order."""

    table: Table
    column: Hashable | None


def find_row_ids(table: Table, source: Any, id: Hashable | None, ids: Ids, features: list[Any]) -> RowIds:
    """Return what names the rows: a column, by name or by its usual name, a pandas index, or their order."""
    if not isinstance(ids, Ids):
        raise TypeError(f"ids must be Ids, such as events.item_ids, got {type(ids).__name__}: wrap them in Ids(…).")
    if id is None:
        return RowIds(table, None)
    frame = nw.from_native(source, eager_only=True, pass_through=True)
    index = index_of(frame, numbers=id == INDEX) if isinstance(frame, nw.DataFrame) else None
    by_index = None if index is None else RowIds(FrameTable({INDEX: index}), INDEX)
    if id == INDEX and INDEX not in table.names:
        if by_index is None:
            raise ValueError(f"{table.source_name}id='index' is for pandas frames: name the column with the ids, id=.")
        return by_index
    if id != "auto":
        return RowIds(table, resolve_names(table, {"id": id})["id"])
    free = [name for name in table.names if name not in features]
    roles, plain = id_columns(free, (1, 0))
    usual = roles or plain
    if len(usual) == 1:
        return RowIds(table, usual[0])
    if not usual and by_index is not None:
        return by_index
    raise ValueError(
        f"{table.source_name}Which column holds the ids: {listed(usual or free, 20)}? Say id=, or id=None if the rows "
        "are in the order of ids."
    )


def aligned_columns(
    table: Table, kinds: Mapping[Any, str], ids: Ids | None, row_ids: RowIds | None, absent: str, extra: str
) -> tuple[dict[Any, Column], NDArray[np.int64], int]:
    """Return the columns of the rows that have an id, in the order of ids, and for each id its row among them, or −1.

    The last is the number of rows of other ids. Without ids all rows are returned as they are.
    """
    if absent not in ("error", "zeros"):
        raise ValueError(f'absent must be "error" or "zeros", got {absent!r}.')
    check_extra(extra)
    problems = Problems(table.source_name)
    columns = table.read(kinds, problems)
    size = max(len(column.values) for column in columns.values())
    for name, column in columns.items():
        if len(column.values) != size:
            problems.add(f"Column {name!r} has {len(column.values)} rows, others have {size}.")
    problems.report()
    if ids is None or row_ids is None:
        return columns, np.arange(size), 0
    name, named = row_ids.column, row_ids.table
    if name is None:
        if size != len(ids):
            raise ValueError(
                f"{table.source_name}There are {size} rows for {len(ids)} ids: name the column of the ids, id=."
            )
        return columns, np.arange(size), 0
    cells = named.read({name: "id"}, problems, "string" if ids.are_strings else "auto")[name]
    positions = positions_of(cells, name, named, ids, extra, problems)
    if len(positions) != size:
        raise ValueError(f"{table.source_name}Column {name!r} has {len(positions)} rows, others have {size}.")
    places = places_of(positions, len(ids))
    matched = np.flatnonzero(positions >= 0)
    if not len(matched):
        problems.report()
        raise ValueError(
            f"{table.source_name}Column {name!r} has none of the {len(ids)} ids, such as "
            f"{listed(ids.values[:3].tolist())}: is it the right column, and the right table?"
        )
    again = matched[places[positions[matched]] != matched]
    if len(again):
        t = positions[again[0]]
        where = f"{table.where(int(places[t]))} and {table.where(int(again[0]))}"
        problems.add(f"{ids[int(t)]!r} has two rows, {where}: keep one per id.")
    if absent == "error" and (places < 0).any():
        problems.add(f"{without_row(ids, places)}. Add them, or say absent='zeros'.")
    problems.report()
    order = places[places >= 0]
    rows = np.where(places >= 0, np.cumsum(places >= 0) - 1, -1)
    return {column: _rows_of(cells, order) for column, cells in columns.items()}, rows, size - len(matched)


def positions_of(
    column: Column, name: Hashable, table: Table, ids: Ids, extra: str, problems: Problems
) -> NDArray[np.int64]:
    """Return the position of each row's id, −1 for those that are not among ``ids``, which are named."""
    if column.ids is None:  # it could not be read, which is among the problems
        return np.full(len(column.values), -1, np.int64)
    if column.missing is not None:
        count, where = int(column.missing.sum()), table.where(int(np.argmax(column.missing)))
        problems.add(f"Column {name!r} has {count} missing ids, the first in {where}: drop those rows.")
    positions = ids.find(column.ids)
    if extra == "error" and (positions < 0).any():
        unknown = unknown_ids(column.ids, positions, f" of column {name!r}")
        problems.add(f"{unknown}. Say extra='drop' to leave them out.")
    return np.append(positions, -1)[column.values]


def check_extra(extra: str) -> None:
    """Refuse anything but the two things to do with rows of unknown ids."""
    if extra not in ("error", "drop"):
        raise ValueError(f'extra must be "error" or "drop", got {extra!r}.')


def rows_by_id(row_ids: Ids, ids: Ids, name: str) -> NDArray[np.int64]:
    """Return the row of each id, where a table must have one for every id; others are left out.

    >>> rows_by_id(Ids(["bob", "cem", "ann"]), Ids(["ann", "bob"]), "left_features").tolist()
    [2, 0]
    """
    positions = find_alike(ids, row_ids)
    places = places_of(positions, len(ids))
    if (places < 0).any():
        raise ValueError(f"{name} must have one row for every id; {without_row(ids, places)}.")
    return places


def places_of(positions: Array, count: int) -> NDArray[np.int64]:
    """Return the first row of each of ``count`` ids, −1 without one; ``positions`` are those of the rows' ids, or −1.

    >>> places_of(np.array([2, -1, 0, 2]), 3).tolist()
    [2, -1, 0]
    """
    places = np.full(count + 1, -1, np.int64)  # the last is for rows of unknown ids
    places[positions[::-1]] = np.arange(len(positions))[::-1]
    return places[:-1]


def without_row(ids: Ids, places: Array) -> str:
    """Say which ids have no row."""
    absent = ids.values[places < 0]
    return f"{len(absent)} ids have no row: {listed(absent.tolist())}"


def unknown_ids(ids: Ids, positions: Array, where: str = "") -> str:
    """Say which ids are not among those that are known."""
    unknown = ids.values[positions < 0]
    return f"{len(unknown)} ids{where} are unknown: {listed(unknown.tolist())}"


def id_columns(names: list[Any], sides: tuple[int, ...] = (0, 1)) -> tuple[list[Any], list[Any]]:
    """Return the columns that are usually ids of users or items, the likeliest first, and those called "id".

    >>> id_columns(["movieId", "age", "ID"])
    (['movieId'], ['ID'])
    """
    roles = [name for side in sides for name in find_role(names, KINDS[side])]
    return roles, [name for name in names if isinstance(name, str) and name.casefold() == "id"]


def index_of(frame: nw.DataFrame[Any], numbers: bool = False) -> Array | None:
    """Return what a pandas frame's index holds; None where it only ``numbers`` the rows, unless that will do."""
    index = nw.maybe_get_index(frame)
    only_numbers = type(index).__name__ == "RangeIndex"
    return None if index is None or (only_numbers and not numbers) else np.asarray(index.to_numpy())


def candidate_ids(source: Any, side: int, name: str) -> Iterator[tuple[Any, Ids]]:
    """What may name the rows of a frame or of a mapping of columns, the likeliest first: columns, None for an index."""
    frame = as_frame(source, name)
    roles, plain = id_columns(list(source) if frame is None else frame.columns, (side,))
    for column in (*roles, *plain):
        values = np.asarray(source[column]) if frame is None else frame[column].to_numpy()
        if values.dtype.kind in "iuOU":
            try:
                yield column, Ids(values)
            except (TypeError, ValueError):  # repeated, missing or mixed: a feature, or refused as text
                continue
    index = None if frame is None else index_of(frame)
    if index is not None:
        try:
            yield None, Ids(index)
        except (TypeError, ValueError) as failure:
            raise type(failure)(f"the index of {name}: {failure}") from None


def best_match(candidates: list[tuple[Any, Ids]], ids: Ids, name: str) -> tuple[Any, Ids]:
    """Return the candidate most of whose ids are among ``ids``."""
    counts = [
        int((find_alike(ids, own) >= 0).sum()) if ids.are_strings or not own.are_strings else 0 for _, own in candidates
    ]
    if not max(counts):
        where = " or ".join("its index" if column is None else f"column {column!r}" for column, _ in candidates)
        raise ValueError(f"{name}: no id in {where} is a known one, such as {listed(ids[:3])}.")
    return candidates[int(np.argmax(counts))]


def _rows_of(column: Column, rows: Array) -> Column:
    missing = None if column.missing is None or not column.missing[rows].any() else column.missing[rows]
    return Column(column.values[rows], missing, column.ids)
