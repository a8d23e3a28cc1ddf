"""``everypair update``: new events into a model, without fitting it again: ``model.update``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from everypair.cli.options import Run, command
from everypair.cli.reading import Reading
from everypair.cli.say import note, show


@command
def update(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write; the same one is replaced.")],
    reading: Reading,
    run: Run,
    events: Annotated[
        Path | None, typer.Argument(help="File of new events.", show_default="only what the tables of features have")
    ] = None,
    item_features: Annotated[Path | None, typer.Option(help="Table of the new items' features.")] = None,
    user_features: Annotated[Path | None, typer.Option(help="Table of the new users' features.")] = None,
    known: Annotated[
        Literal["fold-in", "ignore"], typer.Option(help="Events of known users with known items.")
    ] = "fold-in",
) -> None:
    """Bring new events into a model: new users and items are added, known users folded in anew.

    everypair update model.ep today.csv --output model.ep
    """
    from everypair.cli.model_files import load_recommender, offered
    from everypair.store.write import check_output

    check_output(output, events, user_features, item_features)
    if events is None and item_features is None and user_features is None:
        raise ValueError("say what is new: a file of events, or a table with --item-features or --user-features.")
    loaded = load_recommender(model)
    name = type(loaded).__name__
    grow = offered(loaded, "update")
    read = None if events is None else reading.read(events, run.quiet, loaded.state_.log)
    counts = grow(read, user_features=user_features, item_features=item_features, known=known)
    loaded.save(output)
    if counts.not_later:
        note(f"{counts.not_later:,} of the pairs are not later than all that the model had read before.", run.quiet)
    if run.json_output:
        show({"output": output, **counts._asdict()})
    else:
        print(
            f"New users: {counts.new_users:,}, new items: {counts.new_items:,}, known users folded in: "
            f"{counts.folded_in:,}; {name} written to {output}."
        )
