"""Rows of a table and ids: which row tells about which id. What does not match is refused by name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from everypair.column_names import find_role
from everypair.data.ids import Ids
from everypair.data.tables import Column, Problems, Table, listed_names, resolve_names
from everypair.data.tables.frames import FrameTable

INDEX = "index"


@dataclass(frozen=True)
class Owners:
    """Whose a table's rows are: the ids in a column of ``table``; without one, those of all ids in their order."""

    table: Table
    column: Hashable | None


def find_owners(table: Table, source: Any, id: Hashable | None, ids: Ids, taken: list[Any]) -> Owners:
    """Return whose the rows are: by a column, named or found by its usual name, a pandas index, or their order."""
    if not isinstance(ids, Ids):
        raise TypeError(f"ids must be Ids, such as events.item_ids, got {type(ids).__name__}: wrap them in Ids(…).")
    if id is None:
        return Owners(table, None)
    frame = nw.from_native(source, eager_only=True, pass_through=True)
    index = nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame) else None
    if id == INDEX and INDEX not in table.names:
        if index is None:
            raise ValueError(f"{table.place}id='index' is for pandas frames: name the column with the ids, id=.")
        return Owners(FrameTable({INDEX: index.to_numpy()}), INDEX)
    if id != "auto":
        return Owners(table, resolve_names(table, {"id": id})["id"])
    free = [name for name in table.names if name not in taken]
    found = [*find_role(free, "item"), *find_role(free, "user")]
    found = found or [name for name in free if isinstance(name, str) and name.casefold() == "id"]
    if len(found) == 1:
        return Owners(table, found[0])
    if not found and index is not None and type(index).__name__ != "RangeIndex":
        return Owners(FrameTable({INDEX: index.to_numpy()}), INDEX)
    raise ValueError(
        f"{table.place}Which column holds the ids: {listed_names(found or free)}? Say id=, or id=None if the rows are "
        "in the order of ids."
    )


def aligned_columns(
    table: Table, wanted: Mapping[Any, str], ids: Ids | None, owners: Owners | None, absent: str, extra: str
) -> tuple[dict[Any, Column], NDArray[np.int64]]:
    """Return the wanted columns of the rows that have an id, and for each id the place of its row, −1 without one.

    Without ids all rows are returned as they are.
    """
    if absent not in ("error", "zeros"):
        raise ValueError(f'absent must be "error" or "zeros", got {absent!r}.')
    if extra not in ("error", "drop"):
        raise ValueError(f'extra must be "error" or "drop", got {extra!r}.')
    problems = Problems(table.place)
    columns = table.read(wanted, problems)
    size = max(len(column.values) for column in columns.values())
    for name, column in columns.items():
        if len(column.values) != size:
            problems.add(f"Column {name!r} has {len(column.values)} rows, others have {size}.")
    problems.report()
    if ids is None or owners is None:
        return columns, np.arange(size)
    if owners.column is None:
        if size != len(ids):
            raise ValueError(f"{table.place}There are {size} rows for {len(ids)} ids: name the column of the ids, id=.")
        return columns, np.arange(size)
    owner = owners.table.read({owners.column: "id"}, problems, "string" if ids.are_strings else "auto")[owners.column]
    positions = positions_of(owner, owners.column, owners.table, ids, extra, problems)
    if len(positions) != size:
        raise ValueError(f"{table.place}Column {owners.column!r} has {len(positions)} rows, others have {size}.")
    used = np.flatnonzero(positions >= 0)
    order = used[np.argsort(positions[used], kind="stable")]
    told = positions[order]
    twice = np.flatnonzero(np.diff(told) == 0)
    if len(twice):
        where = f"{table.where(int(order[twice[0]]))} and {table.where(int(order[twice[0] + 1]))}"
        problems.add(f"{ids[int(told[twice[0]])]!r} has two rows, {where}: keep one per id.")
    without = np.setdiff1d(np.arange(len(ids)), told)
    if absent == "error" and len(without):
        problems.add(f"{len(without)} ids have no row: {_first_three(ids, without)}. Add them, or say absent='zeros'.")
    problems.report()
    if not len(order):
        raise ValueError(f"{table.place}No row is of any of the {len(ids)} ids: is {owners.column!r} the right column?")
    rows = np.full(len(ids), -1, np.int64)
    rows[told] = np.arange(len(order))
    return {name: _rows_of(column, order) for name, column in columns.items()}, rows


def positions_of(
    column: Column, name: Hashable, table: Table, ids: Ids, extra: str, problems: Problems
) -> NDArray[np.int64]:
    """Return the position of each row's id, −1 for those that are not among ``ids``, which are named."""
    if column.ids is None:  # it could not be read, which is known
        return np.full(len(column.values), -1, np.int64)
    if column.missing is not None:
        count, where = int(column.missing.sum()), table.where(int(np.argmax(column.missing)))
        problems.add(f"Column {name!r} has {count} missing ids, the first in {where}: drop those rows.")
    known = ids.find(column.ids)
    strangers = np.flatnonzero(known < 0)
    if len(strangers) and extra == "error":
        problems.add(
            f"{len(strangers)} ids of column {name!r} are unknown: {_first_three(column.ids, strangers)}. Say "
            "extra='drop' to leave them out."
        )
    return np.where(column.values < 0, -1, known[column.values]) if len(known) else np.full(len(column.values), -1)


def _first_three(ids: Ids, places: NDArray[np.int64]) -> str:
    return ", ".join(map(repr, ids.names(places[:3]).tolist())) + (", …" if len(places) > 3 else "")


def _rows_of(column: Column, rows: NDArray[np.int64]) -> Column:
    missing = None if column.missing is None or not column.missing[rows].any() else column.missing[rows]
    return Column(column.values[rows], missing, column.ids)
