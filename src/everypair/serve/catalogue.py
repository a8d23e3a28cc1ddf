"""What is known of items besides their ids: titles to search and show, columns to choose by, how many users have them.

search        exact id first, then titles (or ids) that contain the words, the most frequent items first
where         {"kind": "film"}, {"kind": ["film", "song"]}, {"price": ["<", 20]}, {"price": [[">=", 5], ["<", 20]]}

Both are those of :mod:`everypair.data.item_table`, whose comparisons are pairs, which JSON writes as lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.ids import Ids
from everypair.data.item_table import COMPARISONS, ItemTable
from everypair.serve.entities import Entities
from everypair.serve.errors import Refusal

MOST_SHOWN = 100  # different values of a column; one with more is nothing to choose from by hand
SEPARATOR = "\n"


class Catalogue:
    """Items of a model with their counts, and perhaps a table of titles and columns."""

    def __init__(self, items: Entities, counts: NDArray[np.int64], table: ItemTable | None = None) -> None:
        self.items, self.counts, self.table = items, counts, table
        self.titles = None if table is None or table.title is None else table.titles(range(items.count))
        self.order = np.argsort(-counts, kind="stable")
        names = [str(name) for name in items.names(np.arange(items.count))]
        words = names if self.titles is None else [title or name for title, name in zip(self.titles, names)]
        folded = [words[place].casefold().replace(SEPARATOR, " ") for place in self.order.tolist()]
        self._text = SEPARATOR.join(folded) + SEPARATOR
        self._ends = np.cumsum([len(word) + 1 for word in folded], dtype=np.int64)

    def title(self, position: int) -> str | None:
        """The title of an item, if there is a table and it has one."""
        return None if self.titles is None else self.titles[position]

    def search(self, words: str, most: int) -> list[int]:
        """Positions of items whose id is, or whose title contains, what was typed."""
        wanted = words.casefold().replace(SEPARATOR, " ").strip()
        found = [place for place in self.items.find([words.strip()]).tolist() if place >= 0]
        start = 0
        while len(found) < most:
            at = self._text.find(wanted, start)
            if at < 0 or at >= len(self._text):
                break
            row = int(np.searchsorted(self._ends, at, side="right"))
            if row >= len(self.order):
                break
            position = int(self.order[row])
            if position not in found[:1]:
                found.append(position)
            start = int(self._ends[row])
        return found[:most]

    def allowed(self, where: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Which items meet the conditions that are asked for."""
        if self.table is None:
            raise Refusal(422, "there is no table of items: start with --items, or fit with one.", "where")
        try:
            return self.table.allowed({name: _pairs(wanted) for name, wanted in where.items()})
        except ValueError as failure:
            raise Refusal(422, str(failure), "where") from None

    def choices(self) -> dict[str, list[str]]:
        """Columns but the titles that have few different values, and those."""
        if self.table is None:
            return {}
        found = {name: column.distinct() for name, column in self.table.columns.items() if name != self.table.title}
        return {name: values for name, values in found.items() if len(values) <= MOST_SHOWN}


def ids_of_items(items: Entities) -> Ids:
    """The ids that a table of items is matched by: positions where a model has none."""
    return Ids(range(items.count)) if items.ids is None else items.ids


def _pairs(wanted: Any) -> Any:
    """Lists that are comparisons, as pairs.

    >>> _pairs(["<", 20]), _pairs(["a", "b"]), _pairs([[">", 1], ["<", 2]])
    (('<', 20), ['a', 'b'], [('>', 1), ('<', 2)])
    """
    if not isinstance(wanted, list):
        return wanted
    if len(wanted) == 2 and isinstance(wanted[0], str) and wanted[0] in COMPARISONS:
        return tuple(wanted)
    return [tuple(one) if isinstance(one, list) else one for one in wanted]
