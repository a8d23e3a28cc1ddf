"""``everypair evaluate``: how good a model is on events that it has not seen, beside Popularity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from everypair.cli.choice import ModelChoice
from everypair.cli.options import Run, command
from everypair.cli.reading import FeatureTables, Reading
from everypair.cli.say import show
from everypair.cli.training import HeldOutEvents, Split


@command
def evaluate(
    source: Annotated[Path, typer.Argument(help="A model file, or a file of events to fit a model on.")],
    choice: ModelChoice,
    reading: Reading,
    tables: FeatureTables,
    cut: Split,
    run: Run,
    test: Annotated[
        Path | None, typer.Argument(help="File of events that are held out.", show_default="a part of the events")
    ] = None,
    repeats: Annotated[
        Literal["drop", "count"],
        typer.Option(help="Test pairs that the user has already: leave them out, or rank what everybody has too."),
    ] = "drop",
    k: Annotated[list[int] | None, typer.Option("--k", help="Lengths of lists.", show_default="10", min=1)] = None,
) -> None:
    """Measure a model on held-out events, beside Popularity, with standard errors over users.

    everypair evaluate model.ep test.csv

    everypair evaluate events.csv --split last --set rank=32
    """
    from everypair.cli.model_files import is_model_file
    from everypair.cli.training import fitted, measured

    ks = k or [10]
    if test is not None and cut != Split():
        raise ValueError(f"{test} is what is held out: leave out --split, --test-share and --since.")
    cut.check()
    if is_model_file(source):
        if (choice, tables) != (ModelChoice(), FeatureTables()):
            raise ValueError(f"{source} is fitted already: leave out the options of models and features.")
        model, parts = _loaded(source, test, reading, run.quiet)
    else:
        model = choice.build()
        events = reading.read(source, run.quiet)
        if test is None:
            parts = cut.parts(events, choice.seed)
        else:
            parts = HeldOutEvents(events, reading.read(test, run.quiet))
        model = fitted(model, parts.train, tables.read(parts.train, run.quiet), run.quiet)
    found = measured(model, parts, ks, repeats)
    if run.json_output:
        left_out = max(one.repeats for one in found.metrics.values())
        show({"pairs": found.pairs - left_out, "repeats": left_out, "results": found.values()})
    else:
        found.show()


def _loaded(source: Path, test: Path | None, reading: Reading, quiet: bool) -> tuple[Any, Any]:
    """A model, and what it was fitted on as events, beside those of the test file."""
    from everypair.cli.model_files import ids_of, load_recommender
    from everypair.data.events import Events

    if test is None:
        raise ValueError(f"{source} is a model: name the file of held-out events too, or evaluate a file of events.")
    model = load_recommender(source)
    train = Events(model.interactions_, *ids_of(model), None, 0)
    return model, HeldOutEvents(train, reading.read(test, quiet, model.state_.log))
