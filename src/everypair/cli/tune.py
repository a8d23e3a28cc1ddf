"""``everypair tune``: parameters found on held-out events, within a budget, and a model fitted with them."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from everypair.cli.app import START
from everypair.cli.choice import ModelChoice, parsed
from everypair.cli.options import Run, command
from everypair.cli.reading import FeatureTables, Reading
from everypair.cli.say import show
from everypair.cli.training import Split

LAST_SHARE = 0.25  # of a budget, for the report and the fit on everything after it


@command
def tune(
    events: Annotated[Path, typer.Argument(help="File of events.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    choice: ModelChoice,
    reading: Reading,
    tables: FeatureTables,
    cut: Split,
    run: Run,
    budget: Annotated[float | None, typer.Option(help="Seconds for everything.")] = None,
    trials: Annotated[
        int | None, typer.Option(help="Candidates; with these alone a run repeats exactly.", show_default="25", min=1)
    ] = None,
    metric: Annotated[str, typer.Option(help="What to maximise.")] = "ndcg@10",
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="What to search: reg=0.01:1 between two ends, rank=[16, 32] among a list.",
            show_default="around the defaults",
        ),
    ] = None,
    search: Annotated[
        Literal["plain", "optuna"] | None, typer.Option(help="How to search.", show_default="plain")
    ] = None,
    storage: Annotated[Path | None, typer.Option(help="SQLite file of optuna's, to go on with later.")] = None,
    trials_csv: Annotated[Path | None, typer.Option(help="Write all candidates to a CSV file.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a report to an HTML file, on events held out before tuning.")
    ] = None,
    keep_partial: Annotated[
        bool, typer.Option("--keep-partial", help="After Ctrl-C replace a model file that is there all the same.")
    ] = False,
) -> None:
    """Find parameters on held-out events, check that they beat the defaults, and fit them on everything.

    everypair tune events.csv --output model.ep --budget 300
    """
    from sklearn.base import clone

    from everypair import tune as search_parameters
    from everypair.cli.training import check_whole, fitted
    from everypair.metrics.held_out import checked_metric
    from everypair.store.write import check_output, replacing
    from everypair.training.interruption import was_interrupted

    for path in (output, trials_csv, report):
        if path is not None:
            check_output(path, events, tables.user_features, tables.item_features)
    if report is not None:
        from everypair.plots.report import check_report

        check_report(report)
    if budget is not None and not budget > 0:
        raise ValueError(f"budget= must be a positive number of seconds, got {budget!r}.")
    checked_metric(metric)
    model = choice.build()
    cut.check()
    inner = cut.entries
    data = reading.read(events, run.quiet)
    features = tables.read(data, run.quiet)
    seen, test = data, None
    if report is not None:  # it is measured on events that no candidate has seen
        seen, test, _ = cut.parts(data, choice.seed)
        inner = {**inner, "since": None}
    if budget is not None and budget > 0:  # reading counts, and so do the page and one more fit
        budget = max(budget - (time.perf_counter() - START), 1.0) * (1 if report is None else 1 - LAST_SHARE)
    result = search_parameters(
        model, seen, budget, trials=trials, metric=metric, **inner,
        space=None if space is None else dict(map(_dimension, space)), search=search, storage=storage,
        random_state=choice.seed, verbose=not run.quiet, **features,
    )  # fmt: skip
    final = result.model
    if report is not None:
        from everypair.plots import report as write_report

        note = f"{cut.words(choice.seed)}, held out before tuning"
        write_report(final, seen, test, report, tuning=result, test_note=note, random_state=choice.seed)
        final = fitted(clone(final), data, features, run.quiet)
    check_whole(result.interrupted or was_interrupted(final), output, keep_partial)
    final.record({result.metric: result.default + result.gain} if result.beats_default else None, held_out="by tune")
    final.save(output)
    if trials_csv is not None:
        with replacing(trials_csv) as file:
            file.write(_as_csv(result.table).encode())
    if run.json_output:
        show({
            "output": output, "parameters": result.parameters, "best": result.best, "metric": metric,
            "default": result.default, "gain": result.gain, "standard_error": result.standard_error,
            "beats_default": result.beats_default, "verdict": result.verdict, "table": result.table,
        })  # fmt: skip
    else:
        print(result)
        print(f"{choice.model} written to {output}.")


def _dimension(text: str) -> tuple[str, Any]:
    """Return what ``--space`` says of one parameter.

    >>> _dimension("reg=0.01:1"), _dimension("rank=[16, 32]"), _dimension("loss=squared")
    (('reg', (0.01, 1.0)), ('rank', [16, 32]), ('loss', ['squared']))
    """
    name, value = parsed(text)
    if isinstance(value, str) and ":" in value:
        low, _, high = value.partition(":")
        try:
            return name, (float(low), float(high))
        except ValueError:
            raise ValueError(f"--space {text!r} must have two numbers, such as reg=0.01:1.") from None
    return name, list(value) if isinstance(value, tuple) else [value]


def _as_csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
