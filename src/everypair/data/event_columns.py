"""Which column of a table is the user, the item, the weight and the time: named by the caller, or guessed by name.

A rating is never taken for a weight (one star is not a little liking): it is read where `min_rating` says what a
positive is. What was guessed is said in one line.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from everypair.column_names import find_role
from everypair.data.tables import Table, resolve_names
from everypair.words import listed

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


def choose_columns(table: Table, arguments: dict[str, Any], min_rating: Any, count_only: bool) -> EventColumns:
    """Return the columns to read, which the ``arguments`` of each role name; ``count_only`` leaves weights aside.

    >>> from everypair.data.tables import open_table
    >>> table = open_table({"userId": [1], "movieId": [2], "rating": [5.0], "timestamp": [0]})
    >>> choose_columns(table, dict.fromkeys(ROLES, "auto"), None, False).note
    "user 'userId', item 'movieId', time 'timestamp'; 'rating' is not read: say min_rating=4 or weight='rating'"
    """
    named = {role: name for role, name in arguments.items() if name is not None and name != AUTO}
    chosen = dict.fromkeys(ROLES) | (resolve_names(table, named) if named else {})
    free = [name for name in table.names if name not in chosen.values()]
    open_roles = [role for role in ROLES if arguments[role] == AUTO]
    if table.positional:
        guessed = dict(zip(open_roles, free))
        note = ""
    elif all(isinstance(name, int) for name in table.names):
        guessed = dict(zip([role for role in open_roles if role in ("user", "item")], free))
        note = _note_of_positions(chosen | guessed, free[len(guessed) :])
    else:
        guessed = _by_name(table, free, open_roles, min_rating)
        note = _note_of_names(guessed, free, arguments, count_only)
    if count_only:
        guessed.pop("weight", None)
    chosen |= guessed
    for role in ("user", "item"):
        if chosen[role] is None:
            raise ValueError(f"{table.source_name}Events need a user and an item: there is no column for the {role}.")
    if min_rating is not None and chosen["weight"] is None:
        raise ValueError(
            f"{table.source_name}min_rating={min_rating!r} needs a column of ratings, and none of "
            f"{listed(table.names, 20)} looks like it: name it with weight=."
        )
    return EventColumns(**chosen, guessed=frozenset(guessed), note=note)


def _by_name(table: Table, free: list[Hashable], roles: list[str], min_rating: Any) -> dict[str, Hashable]:
    """Return the columns of usual names; which is the user and which the item must be clear."""
    guessed = {}
    for role in roles:
        found = find_role(free, "rating") if role == "weight" and min_rating is not None else []
        found = found or find_role(free, role)
        if len(found) == 1:
            guessed[role] = found[0]
        elif role in ("user", "item") and found:
            raise ValueError(
                f"{table.source_name}Which column is the {role}: {' or '.join(map(repr, found))}? "
                f"Say {role}={found[0]!r}."
            )
        elif role in ("user", "item"):
            raise ValueError(
                f"{table.source_name}No column looks like the {role}: the columns are {listed(table.names, 20)}. "
                f"Name yours with {role}=.{_pivot_hint(free)}"
            )
    return guessed


def _pivot_hint(free: list[Hashable]) -> str:
    """Say what to do with a column per item, which more than two columns of no role may be."""
    roles = [role for role in (*ROLES, "rating") if find_role(free, role)]
    if len(free) < 3 or set(roles) - {"user", "item"} or len(roles) > 1:
        return ""
    return " If every column is an item (a pivot table), make it a row per event first: pandas.melt does."


def _note_of_names(
    guessed: dict[str, Hashable], free: list[Hashable], arguments: dict[str, Any], count_only: bool
) -> str:
    """Say what was guessed, unless it is as plain as user and item, and that an index and ratings are left aside."""
    taken = {role: name for role, name in guessed.items() if not (role == "weight" and count_only)}
    note = ", ".join(f"{role} {name!r}" for role, name in taken.items())
    indexed = free[:1] == [""]
    if indexed and note:
        note += "; the first column has no name, as an index, and is left out"
    ratings = [name for name in find_role(free, "rating") if name not in taken.values()]
    if arguments["weight"] == AUTO and "weight" not in guessed and ratings and not count_only:
        return f"{note}; {ratings[0]!r} is not read: say min_rating=4 or weight={ratings[0]!r}"
    plain = all(role == name in ("user", "item") for role, name in taken.items())
    return "" if plain and not indexed else note


def _note_of_positions(chosen: dict[str, Any], unread: list[Hashable]) -> str:
    note = f"no header; user column {chosen['user']}, item column {chosen['item']}"
    if unread:
        listed = ", ".join(f"column {name}" for name in unread)
        note += f"; {listed} not read (weight=…, time=… take a column's number)"
    return note
