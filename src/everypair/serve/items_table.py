"""A table of items, as any program writes it: which column has the ids, which the titles, and the rest to choose by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.column_names import find_role
from everypair.data.ids import string_array
from everypair.data.tables import open_table
from everypair.data.tables.columns import Problems
from everypair.serve.entities import Entities
from everypair.words import listed

ID_NAMES = ("id", "item", "itemid", "item_id")
TITLE_NAMES = ("title", "name", "label", "description")


class ItemsTable(NamedTuple):
    """Titles and columns in the order of a model's items; None where the table has no such row."""

    titles: list[str | None]
    columns: dict[str, NDArray[Any]]
    known: int


def read_items(source: Any, items: Entities) -> ItemsTable:
    """Read a table, a file or a data frame, for the items of a model; rows of others are left out."""
    table = open_table(source)
    names = list(table.names)
    id_name, title_name = _id_column(names, table.source_name), _title_column(names)
    problems = Problems(table.source_name)
    read = table.read(dict.fromkeys(names, "text"), problems)
    problems.report()
    ids = read[id_name]
    assert ids.ids is not None
    place = items.find(ids.ids.values.tolist())[ids.values]
    if ids.missing is not None:
        place[ids.missing] = -1
    rows = np.flatnonzero(place >= 0)
    if not len(rows):
        raise ValueError(
            f"{table.source_name}the column {id_name!r} names no item of the model, such as "
            f"{listed(items.names(range(min(3, items.count))))}."
        )

    def column(name: Any) -> NDArray[Any]:
        values = read[name]
        assert values.ids is not None
        there = rows if values.missing is None else rows[~values.missing[rows]]
        placed = string_array([""] * items.count)
        placed[place[there]] = values.ids.values[values.values[there]]
        return placed

    titles: list[str | None] = [None] * items.count
    if title_name is not None:
        titles = [title or None for title in column(title_name).tolist()]
    others = [name for name in names if name not in (id_name, title_name)]
    return ItemsTable(titles, {str(name): column(name) for name in others}, len(np.unique(place[rows])))


def _id_column(names: Sequence[Any], where: str) -> Any:
    found = find_role(names, "item") or [name for name in names if str(name).lower() in ID_NAMES]
    if len(found) != 1:
        raise ValueError(
            f"{where}call the column of the items' ids 'item' or 'id': the columns are {listed(names, 20)}."
        )
    return found[0]


def _title_column(names: Sequence[Any]) -> Any:
    plain = {str(name).lower(): name for name in reversed(names)}
    return next((plain[name] for name in TITLE_NAMES if name in plain), None)
