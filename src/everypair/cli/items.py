"""Options that say which items lists may have, by a table of items, and how items are shown: by their titles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

PANEL = "Items"


@dataclass(frozen=True)
class Titles:
    """Titles of items by id; without a table there are none, and nothing is shown."""

    ids: Any = None
    table: Any = None

    @property
    def head(self) -> list[str]:
        """The heading of a column of titles."""
        return [] if self.table is None else ["title"]

    def of(self, names: Sequence[Any]) -> list[str | None]:
        """Titles of items."""
        places: list[int] = self.ids.find(list(names)).tolist() if len(names) else []
        found: list[str | None] = self.table.titles(places)
        return found

    def cells(self, name: Any) -> list[str]:
        """The cell of one item in a table."""
        return [] if self.table is None else [self.of([name])[0] or ""]

    def field(self, names: Sequence[Any]) -> dict[str, Any]:
        """What programs are told."""
        return {} if self.table is None else {"titles": self.of(names)}


@dataclass(frozen=True)
class ItemsFile:
    """A table of items beside a model, in the place of the one that the model has."""

    items: Annotated[
        Path | None,
        typer.Option(help="Table of items: titles to show, columns to choose by.", rich_help_panel=PANEL,
                     show_default="the model's own"),
    ] = None  # fmt: skip

    def described(self, model: Any) -> Any:
        """The model with the table."""
        return model if self.items is None else model.describe_items(self.items)

    def names(self, ids: Any, model: Any) -> list[str] | None:
        """What items are called on a page: their titles, and ids where they have none; None for the ids alone."""
        from everypair.data.item_table import ItemTable

        own = vars(model).get("state_")
        table = ItemTable.read(self.items, ids) if self.items is not None else own and own.item_table
        if table is None or table.title is None:
            return None
        every = table.titles(range(len(ids)))
        return [str(one) if title is None else title for one, title in zip(ids.values.tolist(), every)]

    def titles(self, model: Any) -> Titles:
        """What items are called."""
        from everypair.cli.model_files import ids_of

        table = model.state_.item_table
        return Titles() if table is None or table.title is None else Titles(ids_of(model)[1], table)


@dataclass(frozen=True)
class ListFilters(ItemsFile):
    """Conditions on the items of a list."""

    where: Annotated[
        list[str] | None,
        typer.Option(help="A condition on a column: kind=book,film or 'price<20', again and again.",
                     rich_help_panel=PANEL),
    ] = None  # fmt: skip
    at_most: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=N", help="At most so many of one value: brand=2.", rich_help_panel=PANEL),
    ] = None
    diversity: Annotated[
        float,
        typer.Option(help="From 0, the order of scores, to 1: less of what is like items further up.",
                     rich_help_panel=PANEL, min=0, max=1),
    ] = 0.0  # fmt: skip

    def filters(self) -> dict[str, Any]:
        """The arguments of ``recommend``."""
        from everypair.data.item_table import parsed_where

        return {
            "where": None if not self.where else parsed_where(self.where),
            "at_most": None if not self.at_most else dict(map(_limit, self.at_most)),
            "diversity": self.diversity,
        }


def _limit(text: str) -> tuple[str, int]:
    name, equals, most = text.partition("=")
    if not equals or not name.strip() or not most.strip().isdecimal():
        raise ValueError(f"--at-most {text!r} must be a column and a number, such as brand=2.")
    return name.strip(), int(most)
