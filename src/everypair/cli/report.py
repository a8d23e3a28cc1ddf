"""``everypair report``: data, convergence, quality and samples by name as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everypair.cli.choice import ModelChoice
from everypair.cli.items import ItemsFile
from everypair.cli.options import Run, command
from everypair.cli.reading import Reading
from everypair.cli.say import show
from everypair.cli.training import Split


@command
def report(
    source: Annotated[Path, typer.Argument(help="A model file, or a file of events to fit a model on.")],
    choice: ModelChoice,
    reading: Reading,
    cut: Split,
    file: ItemsFile,
    run: Run,
    test: Annotated[
        Path | None,
        typer.Argument(help="File of events that are held out.", show_default="a part of the events"),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    samples: Annotated[int, typer.Option(help="Users whose lists are shown by name.", min=0)] = 6,
) -> None:
    """Fit a model and write one HTML file about the data and the model (needs the extra `plot`).

    everypair report events.csv --output report.html

    everypair report model.ep test.csv
    """
    from everypair.cli.model_files import ids_of, is_model_file, load_recommender
    from everypair.data.events import Events
    from everypair.data.matching import IdPair, held_out_matrix
    from everypair.plots import report as write_report
    from everypair.plots.report import check_report
    from everypair.progress import part_of, shown_stages
    from everypair.store.write import check_output

    check_report(output)
    check_output(output, source, test)
    cut.check()
    if test is not None and cut != Split():
        raise ValueError(f"{test} is what is held out: leave out --split, --test-share and --since.")
    how = cut.entries
    if is_model_file(source):
        if choice != ModelChoice():
            raise ValueError(f"{source} is fitted already: leave out the options of models.")
        if test is None:
            raise ValueError(f"{source} is a model: name the file of held-out events too.")
        model = file.described(load_recommender(source))
        data = Events(model.interactions_, *ids_of(model), None, 0)
        log = model.state_.log
    else:
        model, data = choice.build(), reading.read(source, run.quiet)
        log = None
        if "verbose" in model.get_params():
            model.set_params(verbose=not run.quiet)
    held_out = None
    if test is not None:
        known = IdPair(data.user_ids, data.item_ids)
        held_out = held_out_matrix(reading.read(test, run.quiet, log), known, "test")
    how["item_ids"] = file.names(data.item_ids, model)
    with shown_stages(run.quiet), part_of(type(model).__name__):
        write_report(
            model,
            data,
            held_out,
            output,
            title=title,
            samples=samples,
            random_state=choice.seed,
            test_note=None if test is None else f"the events of {test.name}",
            **how,
        )
    if run.json_output:
        show({"output": output})
    else:
        print(f"Report written to {output}.")
