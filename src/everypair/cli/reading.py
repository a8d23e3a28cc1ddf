"""Options that say how files of events and of features are read: those of ``read_events`` and ``table_features``."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from everypair.cli.say import note
from everypair.cli.sentences import as_options

EVENTS, FEATURES = "Reading events", "Features"
IN_ORDER = ", or id=None if the rows are in the order of ids"  # which a file's rows are by accident only
NONE = "none"  # does without a weight or a time


def _option(help: str, panel: str = EVENTS, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=panel, **more)


@dataclass(frozen=True)
class Reading:
    """How a file of events is read; without a word about it, as ``read_events`` finds it."""

    user: Annotated[str | None, _option("Column of users, by name or number from 0.", show_default="by its name")] = (
        None
    )
    item: Annotated[str | None, _option("Column of items.", show_default="by its name")] = None
    weight: Annotated[str | None, _option("Column of weights, or of ratings with --min-rating; none does without.")] = (
        None
    )
    time: Annotated[str | None, _option("Column of times; none does without.")] = None
    min_rating: Annotated[float | None, _option("Ratings from here on are positives; lower ones are left out.")] = None
    dislike_weight: Annotated[float, _option("Keep ratings below --min-rating as dislikes of this weight.")] = 0.0
    duplicates: Annotated[
        Literal["auto", "sum", "last", "max", "count"], _option("What several events of one pair become.")
    ] = "auto"
    missing: Annotated[Literal["error", "drop"], _option("Events without a user, item, weight or time.")] = "error"
    min_user_events: Annotated[int, _option("Leave out users with fewer different items.", min=1)] = 1
    min_item_events: Annotated[int, _option("Leave out items with fewer different users.", min=1)] = 1
    ids: Annotated[Literal["auto", "string", "integer"], _option("What ids are.")] = "auto"
    delimiter: Annotated[str | None, _option(r"Between columns, such as ';' or '\t'.", show_default="found")] = None
    header: Annotated[
        str | None, _option("no: the first line is data; user,item,…: names of the columns.", show_default="found")
    ] = None
    encoding: Annotated[str, _option("Encoding of text files.")] = "utf-8"

    def options(self) -> dict[str, Any]:
        """The arguments of ``read_events``."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        columns = {role: _column(given.pop(role), role) for role in ("user", "item", "weight", "time")}
        return {**given, **columns, "delimiter": _delimiter(self.delimiter), "header": _header(self.header)}

    def chosen(self) -> dict[str, Any]:
        """The arguments of ``read_events`` that are not the usual ones."""
        usual = Reading().options()
        return {name: value for name, value in self.options().items() if value != usual[name]}

    def read(self, path: Path, quiet: bool, log: Any = None) -> Any:
        """Return the events of a file, read as a model's were where its ``log`` is given and no option says more."""
        from everypair.data.event_log import read_like

        said = io.StringIO()
        with redirect_stderr(said):
            events = read_like(path, log, verbose=not quiet, **self.chosen())
        if said.getvalue():
            note(as_options(said.getvalue().rstrip("\n"), []))
        return events


@dataclass(frozen=True)
class FeatureTables:
    """Tables of what is known about users and items."""

    user_features: Annotated[Path | None, _option("Table of users: ids and what is known of them.", FEATURES)] = None
    item_features: Annotated[Path | None, _option("Table of items: ids and what is known of them.", FEATURES)] = None
    user_kind: Annotated[
        list[str] | None,
        _option("Columns to take and what they are: age=number, …; also date, category, list, text, hashed.", FEATURES),
    ] = None
    item_kind: Annotated[list[str] | None, _option("The same for items: genre=list.", FEATURES)] = None
    user_id: Annotated[
        str | None, _option("Column of ids in the table of users.", FEATURES, show_default="by its name")
    ] = None
    item_id: Annotated[
        str | None, _option("Column of ids in the table of items.", FEATURES, show_default="by its name")
    ] = None
    absent: Annotated[Literal["error", "zeros"], _option("Ids that the table does not have.", FEATURES)] = "error"
    extra: Annotated[Literal["error", "drop"], _option("Rows of ids that the events do not have.", FEATURES)] = "drop"

    def read(self, events: Any, quiet: bool) -> dict[str, Any]:
        """Return the arguments of ``fit`` with the features of the users and items of events."""
        from everypair.features import table_features

        found = {}
        for kind, path, kinds, column, ids in (
            ("user", self.user_features, self.user_kind, self.user_id, events.user_ids),
            ("item", self.item_features, self.item_kind, self.item_id, events.item_ids),
        ):
            if path is None:
                if kinds or column:
                    raise ValueError(f"columns of features need the table: say --{kind}-features FILE.")
                continue
            own: dict[str, Any] = {
                "id": column or "auto",
                "kinds": _kinds(kinds),
                "absent": self.absent,
                "extra": self.extra,
            }
            try:
                features = table_features(path, ids, **own, verbose=False)
            except ValueError as failure:
                said = str(failure).replace(IN_ORDER, "")
                raise ValueError(re.sub(r"\bid=", f"--{kind}-id", said)) from None
            found[f"{kind}_features"] = features
            beyond = len(features.encoder.ids_of(path, ids, own["id"])) - len(ids) if self.extra == "drop" else 0
            if beyond > 0:
                note(f"{path}: {beyond:,} {kind}s have no events: training leaves them out.", quiet)
            first = ", ".join(features.names[:4]) + ", …" * (len(features.names) > 4)
            if not quiet:
                note(f"{path}: {len(features.names)} features ({first}); --{kind}-kind chooses.")
        return found

    def add_items(self, model: Any) -> int:
        """Add the items of the table that have no events to a fitted model; return how many there were."""
        from everypair.cli.model_files import offered
        from everypair.data import Ids

        grow = offered(model, "add_items")
        encoder = model.state_.feature_map(1).encoders[""]
        every = encoder.ids_of(self.item_features, model.item_ids_, self.item_id or "auto")
        rest = Ids(every.values[model.item_ids_.find(every.values) < 0])
        if len(rest):
            own = encoder.transform(self.item_features, rest, id=self.item_id or "auto", extra="drop")
            grow(ids=rest, features=own)
        return len(rest)


def _column(text: str | None, role: str) -> Any:
    if text is None:
        return "auto"
    if text.lower() == NONE and role in ("weight", "time"):
        return None
    return int(text) if text.isdecimal() else text


def _delimiter(text: str | None) -> str | None:
    return text if text is None else {"\\t": "\t", "tab": "\t"}.get(text, text)


def _header(text: str | None) -> Any:
    if text is None:
        return None
    return {"no": False, "yes": True}.get(text.lower(), text.split(","))


def _kinds(given: list[str] | None) -> dict[str, str] | None:
    """Return the kinds of columns, None for a guess.

    >>> _kinds(["age=number,town=category", "about=text"])
    {'age': 'number', 'town': 'category', 'about': 'text'}
    """
    if not given:
        return None
    kinds = {}
    for one in ",".join(given).split(","):
        column, equals, kind = one.partition("=")
        if not equals or not column or not kind:
            raise ValueError(f"{one!r} must be a column and what it is, such as age=number.")
        kinds[column.strip()] = kind.strip()
    return kinds
