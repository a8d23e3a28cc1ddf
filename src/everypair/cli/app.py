"""The command ``everypair`` itself: what its subcommands share."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from everypair import __version__

app = typer.Typer(help="Learn from every pair: the few that were observed and all the rest.", no_args_is_help=True)
console = Console()


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"everypair {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn from every pair: the few that were observed and all the rest."""
