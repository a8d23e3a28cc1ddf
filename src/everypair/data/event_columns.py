"""Which column of a table is the user, the item, the weight and the time: named by the caller, or guessed by name.

A rating is never taken for a weight (one star is not a little liking): it is read where a threshold says what a
positive is. What was guessed is said in one line.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from everypair.column_names import find_role
from everypair.data.tables import Table, listed_names, resolve_names

AUTO = "auto"
ROLES = ("user", "item", "weight", "time")


@dataclass(frozen=True)
class EventColumns:
    """The column of each role, ``None`` where a table of events does without, and what to say about it."""

    user: Hashable
    item: Hashable
    weight: Hashable | None
    time: Hashable | None
    guessed: frozenset[str] = frozenset()
    note: str = ""


def choose_columns(table: Table, given: dict[str, Any], threshold: Any, count_only: bool) -> EventColumns:
    """Return the columns to read; ``count_only`` leaves weights aside.

    >>> from everypair.data.tables import open_table
    >>> table = open_table({"userId": [1], "movieId": [2], "rating": [5.0], "timestamp": [0]})
    >>> choose_columns(table, dict.fromkeys(ROLES, "auto"), None, False).note
    "user 'userId', item 'movieId', time 'timestamp'; 'rating' is not read: say threshold=4 or weight='rating'"
    """
    named = {role: given[role] for role in ROLES if given[role] is not None and given[role] != AUTO}
    chosen: dict[str, Hashable | None] = dict.fromkeys(ROLES)
    chosen.update(resolve_names(table, named) if named else {})
    free = [name for name in table.names if name not in chosen.values()]
    if table.positional or all(isinstance(name, int) for name in table.names):
        return _by_position(table, given, chosen, threshold, count_only)
    guessed = {}
    wanted = [role for role in ROLES if given[role] == AUTO and not (role == "weight" and count_only)]
    for role in wanted:
        spelled = "rating" if role == "weight" and threshold is not None else role
        found = find_role(free, spelled) or (find_role(free, role) if spelled != role else [])
        if len(found) > 1 and role in ("user", "item"):
            raise ValueError(
                f"{table.place}Which column is the {role}: {' or '.join(map(repr, found))}? Say {role}={found[0]!r}."
            )
        if not found and role in ("user", "item"):
            raise ValueError(
                f"{table.place}No column looks like the {role}: the columns are {listed_names(table.names)}. "
                f"Name yours with {role}=."
            )
        if len(found) == 1:
            chosen[role] = guessed[role] = found[0]
    _check_threshold(table, chosen["weight"], threshold)
    note = ", ".join(f"{role} {name!r}" for role, name in guessed.items())
    ratings = find_role(free, "rating")
    if given["weight"] == AUTO and chosen["weight"] is None and not count_only and ratings:
        note += f"; {ratings[0]!r} is not read: say threshold=4 or weight={ratings[0]!r}"
    plain = all(role == name for role, name in guessed.items()) and set(guessed) <= {"user", "item"} and ";" not in note
    return EventColumns(**chosen, guessed=frozenset(guessed), note="" if plain else note)


def _by_position(
    table: Table, given: dict[str, Any], chosen: dict[str, Hashable | None], threshold: Any, count_only: bool
) -> EventColumns:
    """Take columns without names in order: user, item and, where the rows are a program's own, weight and time."""
    free = [name for name in table.names if name not in chosen.values()]
    roles = ROLES if table.positional else ROLES[:2]
    guessed = set()
    for role in roles:
        if given[role] == AUTO and free and not (role == "weight" and count_only and table.positional):
            chosen[role] = free.pop(0)
            guessed.add(role)
        elif role == "weight" and count_only and given[role] == AUTO and free:
            free.pop(0)
    if chosen["user"] is None or chosen["item"] is None:
        raise ValueError(f"{table.place}Events need a user and an item, but there is only {len(table.names)} column.")
    _check_threshold(table, chosen["weight"], threshold)
    note = ""
    if not table.positional:
        note = f"no header; user {_place(chosen['user'])}, item {_place(chosen['item'])}"
        if free:
            note += f"; {', '.join(map(_place, free))} not read (weight=…, time=… take a column's number)"
    return EventColumns(**chosen, guessed=frozenset(guessed), note=note)


def _check_threshold(table: Table, weight: Hashable | None, threshold: Any) -> None:
    if threshold is not None and weight is None:
        raise ValueError(
            f"{table.place}threshold={threshold!r} needs a column of ratings, and none of "
            f"{listed_names(table.names)} looks like it: name it with weight=."
        )


def _place(name: Hashable | None) -> str:
    return f"column {name}"
