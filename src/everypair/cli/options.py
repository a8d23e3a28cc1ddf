"""Options that several commands share, in bundles: a parameter of a command whose type is a bundle brings them all.

    @command
    def fit(events: Path, reading: Reading, run: Run) -> None: ...

has the options of ``Reading`` and ``Run`` besides its own, each with its help and its default, written down once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from everypair.cli.app import app
from everypair.cli.config import read_config, write_config

Option = typer.Option


@dataclass(frozen=True)
class Run:
    """How a command talks, and the file that repeats it."""

    json_output: Annotated[bool, Option("--json", help="Print JSON for programs.")] = False
    quiet: Annotated[bool, Option("--quiet", "-q", help="Say nothing on the way.")] = False
    config: Annotated[
        Path | None,
        Option(
            callback=read_config, is_eager=True, help="Repeat the run of this TOML file; other options replace its."
        ),
    ] = None
    save_config: Annotated[Path | None, Option(help="Write this run to a TOML file for --config.")] = None


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Add a function to the commands of ``everypair``, with the options of its bundles."""
    hints = get_type_hints(function, include_extras=True)
    own: list[inspect.Parameter] = []
    bundles: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(hints[name]):
            bundles[name] = hints[name]
            inside = get_type_hints(hints[name], include_extras=True)
            own += [
                inspect.Parameter(one.name, parameter.KEYWORD_ONLY, default=one.default, annotation=inside[one.name])
                for one in fields(hints[name])
            ]
        else:
            kept = parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
            own.append(kept)

    @wraps(function)
    def run(**given: Any) -> None:
        packed = {
            name: bundle(**{one.name: given[one.name] for one in fields(bundle)}) for name, bundle in bundles.items()
        }
        if given.get("save_config") is not None:
            from everypair.store.write import check_place

            check_place(given["save_config"])
        function(**packed, **{name: value for name, value in given.items() if name in hints})
        if given.get("save_config") is not None:
            write_config(given["save_config"], name_of(function), given)

    run.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in own}
    app.command(name_of(function))(run)
    return function


def name_of(function: Callable[..., Any]) -> str:
    """The name of the command of a function: ``models_`` is ``models``, ``warm_up`` is ``warm-up``."""
    return function.__name__.rstrip("_").replace("_", "-")
