"""What the columns of a table are, as features: said by the caller, or guessed from type and content."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from everypair.data.tables import LIST_MARK, Column, Problems, Table, resolve_names
from everypair.data.tables.words import parse_number, parse_time

KINDS = ("number", "date", "category", "list", "text", "hashed")
_FEW = 20  # so many values are categories however few the rows are


def check_kinds(table: Table, kinds: Mapping[Any, str]) -> None:
    """Refuse kinds that there are not, and columns that are not there."""
    if not isinstance(kinds, Mapping) or any(not isinstance(kind, str) or kind not in KINDS for kind in kinds.values()):
        raise ValueError(f"kinds must say of each column that it is one of {', '.join(KINDS)}, got {kinds!r:.80}.")
    check_names(table, list(kinds))


def check_names(table: Table, names: list[Any]) -> None:
    """Refuse columns that are not there, by name."""
    resolve_names(table, {f"kinds[{name!r}]": name for name in names})
    strange = next((name for name in names if not isinstance(name, str)), None)
    if strange is not None:
        raise ValueError(
            f"{table.source_name}Columns of features need names, got {strange!r}: give them with header=[…]."
        )


def guess_kinds(table: Table, names: list[Hashable], separator: str) -> dict[Any, str]:
    """Return the kind of each column that has values."""
    check_names(table, names)
    native = {name: table.native_kind(name) for name in names}
    texts = table.read({name: "text" for name in names if native[name] is None}, Problems())
    kinds: dict[Any, str] = {}
    for name in names:
        kind = native[name] or _kind_of_texts(texts[name], separator)
        if kind is not None:
            kinds[name] = "date" if kind == "moment" else kind
    return kinds


def _kind_of_texts(column: Column, separator: str) -> str | None:
    """Return what distinct texts are: numbers, dates, lists, prose or categories; None for none at all."""
    texts = [] if column.ids is None else list(column.ids)
    if not texts:
        return None
    for kind, parse in (("number", parse_number), ("date", parse_time)):
        if all(parse(text) is not None for text in texts):
            return kind
    if np.mean([separator in text or LIST_MARK in text for text in texts]) > 0.2:
        return "list"
    few = len(texts) <= max(_FEW, 0.5 * len(column.values))
    return "category" if few and np.mean([len(text.split()) for text in texts]) < 5 else "text"
