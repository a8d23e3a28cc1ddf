"""What is known of items besides their ids: titles to search and show, columns to choose by, how many users have them.

search        exact id first, then titles (or ids) that contain the words, the most frequent items first
where         {"kind": "film"} or {"kind": ["film", "song"], "year": 1999}: items whose columns have these values
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.ids import string_array
from everypair.serve.entities import Entities
from everypair.serve.errors import Refusal
from everypair.words import listed

MOST_VALUES = 20  # of a column, in the sentence about one that there is not
SEPARATOR = "\n"


class Catalogue:
    """Items of a model with their counts, and perhaps a table of titles and columns, a row per item of the model."""

    def __init__(
        self,
        items: Entities,
        counts: NDArray[np.int64],
        titles: list[str | None] | None = None,
        columns: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.items, self.counts, self.titles = items, counts, titles
        self.columns = {name: _codes(values) for name, values in (columns or {}).items()}
        self.order = np.argsort(-counts, kind="stable")
        names = [str(name) for name in items.names(np.arange(items.count))]
        words = names if titles is None else [title or name for title, name in zip(titles, names)]
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
        """Which items have the values that are asked for."""
        mask = np.ones(self.items.count, bool)
        for name, wanted in where.items():
            if name not in self.columns:
                have = f"it has {listed(self.columns, 20)}" if self.columns else "there is no table: start with --items"
                raise Refusal(422, f"the items table has no column {name[:60]!r}; {have}.", "where")
            codes, values = self.columns[name]
            chosen = wanted if isinstance(wanted, list) else [wanted]
            places = [values[text] for one in chosen if (text := _text(one)) in values]
            if not places:
                known, wrong = listed(values, MOST_VALUES), listed(map(_text, chosen))
                raise Refusal(422, f"no item has {wrong} in {name[:60]!r}, which has {known}.", "where")
            mask &= np.isin(codes, places)
        return mask


def _codes(values: NDArray[Any]) -> tuple[NDArray[np.int32], dict[str, int]]:
    """A column as numbers, and which number every value has."""
    distinct, codes = np.unique(string_array([_text(one) for one in values.tolist()]), return_inverse=True)
    return codes.astype(np.int32), {text: code for code, text in enumerate(distinct.tolist())}


def _text(value: Any) -> str:
    """A value as text; whole numbers without a point.

    >>> _text(3.0), _text("a"), _text(True)
    ('3', 'a', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
