"""What a table gives for each wanted column, and the problems met on the way, all reported at once.

"id"        the distinct ids, ascending, and the position of every row's id among them
"text"      the same, but strings even where all of them are whole numbers
"number"    float64
"moment"    times: int64, or float64 where not all are whole or where they were dates (seconds since 1970, UTC)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from everypair.data.ids import Ids
from everypair.words import listed

LIST_MARK = "\x1f"  # between the values of a list that is read as text: the unit separator of ASCII
ID_TYPES = ("auto", "string", "integer")
Where = Callable[[int], str]  # a row's number as its owner counts, such as "line 7"


@dataclass(frozen=True)
class Column:
    """Values of one column: positions in ``ids``, numbers or times; where ``missing`` is true they mean nothing.

    ``missing`` is None where nothing is.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    ids: Ids | None = None


class Table(Protocol):
    """Anything with named columns."""

    names: list[Hashable]
    source_name: str  # where it came from, to begin a message with
    positional: bool  # rows of a program's own making, so that the order of the columns means something

    def read(self, wanted: Mapping[Hashable, str], problems: Problems, ids: str = "auto") -> dict[Hashable, Column]:
        """Read the columns of these names, each as one of the four kinds; what is wrong goes to ``problems``."""
        ...

    def where(self, row: int) -> str:
        """Return a row's number as its owner counts, such as "line 7"."""
        ...

    def native_kind(self, name: Hashable) -> str | None:
        """Return "number" or "moment" if the column is known to be of that type, None for text."""
        ...


@dataclass(frozen=True)
class Problem:
    """A sentence about what is wrong, the column it is about (if one) and the error it is raised as."""

    sentence: str
    kind: type[Exception]
    about: Hashable | None


@dataclass
class Problems:
    """What is wrong with a table, raised as one error."""

    source_name: str = ""
    entries: list[Problem] = field(default_factory=list)

    def add(self, sentence: str, kind: type[Exception] = ValueError, about: Hashable | None = None) -> None:
        """Keep a problem."""
        self.entries.append(Problem(sentence, kind, about))

    def take(self, about: Hashable) -> list[Problem]:
        """Return the problems of one column, which are then no longer reported."""
        taken = [problem for problem in self.entries if problem.about == about]
        self.entries = [problem for problem in self.entries if problem.about != about]
        return taken

    def report(self) -> None:
        """Raise what was found, if anything was."""
        if len(self.entries) == 1:
            raise self.entries[0].kind(self.source_name + self.entries[0].sentence)
        if self.entries:
            listed = "".join(f"\n- {problem.sentence}" for problem in self.entries)
            raise self.entries[0].kind(f"{self.source_name}{len(self.entries)} problems:{listed}")


def resolve_names(table: Table, given: Mapping[str, Any]) -> dict[str, Hashable]:
    """Return the column that each argument names, by its name or its position.

    >>> from everypair.data.tables.frames import FrameTable
    >>> resolve_names(FrameTable({"a": [1], "b": [2]}), {"user": 1, "item": "a"})
    {'user': 'b', 'item': 'a'}
    """
    resolved: dict[str, Hashable] = {}
    absent = []
    for argument, name in given.items():
        count = table.names.count(name)
        if count > 1:
            raise ValueError(
                f"{table.source_name}There are {count} columns called {name!r}: give them different names."
            )
        if count:
            resolved[argument] = name
        elif isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < len(table.names):
            resolved[argument] = table.names[int(name)]
        else:
            absent.append(repr(name))
    if absent:
        raise ValueError(
            f"{table.source_name}There is no column {', '.join(absent)}: the columns are {listed(table.names, 20)}. "
            f"Name yours with {', '.join(f'{argument}=' for argument in given)}."
        )
    for argument, name in resolved.items():
        twin = next((other for other, same in resolved.items() if same == name and other != argument), None)
        if twin is not None:
            raise ValueError(f"{table.source_name}{argument}= and {twin}= name the same column, {name!r}.")
    return resolved
