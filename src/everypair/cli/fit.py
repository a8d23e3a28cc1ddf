"""``everypair fit``: from a file of events to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from everypair.cli.choice import ModelChoice
from everypair.cli.items import ItemsFile
from everypair.cli.options import Run, command
from everypair.cli.reading import FeatureTables, Reading
from everypair.cli.say import note, show
from everypair.cli.training import HeldOutMetrics, Split, check_whole, fitted, measured


@command
def fit(
    events: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, Arrow or npz with a user and an item per line.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    choice: ModelChoice,
    reading: Reading,
    tables: FeatureTables,
    file: ItemsFile,
    run: Run,
    holdout: Annotated[
        float | None, typer.Option(help="First measure on this share of the pairs, then fit on all of them.")
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Keep where training stands here, and go on from it.")] = None,
    cold_items: Annotated[
        Literal["drop", "include"],
        typer.Option(
            help="Items of --item-features without events: include those that the model can place by features."
        ),
    ] = "drop",
    serve_only: Annotated[bool, typer.Option("--serve-only", help="Leave out what only training needs.")] = False,
    cluster: Annotated[
        str | None, typer.Option(help="Train on a Dask cluster: tcp://scheduler:port, or local:4 processes.")
    ] = None,
    shards: Annotated[int | None, typer.Option(help="Of either side on a cluster.", show_default="by the data")] = None,
    start: Annotated[
        Path | None, typer.Option(help="A model file where training begins: last night's; items are matched by id.")
    ] = None,
    commit: Annotated[str | None, typer.Option(help="Of your code, to be noted in the file.")] = None,
    keep_partial: Annotated[
        bool, typer.Option("--keep-partial", help="After Ctrl-C replace a model file that is there all the same.")
    ] = False,
) -> None:
    """Fit a model on a file of events and write it to a model file.

    everypair fit events.csv --output model.ep --rank 32
    """
    from everypair.cli.cluster import fit_there
    from everypair.models.parameters import Iterating
    from everypair.models.recommend.recommender import Recommender
    from everypair.store.write import check_output
    from everypair.training.interruption import was_interrupted

    check_output(output, events, tables.user_features, tables.item_features, file.items)
    model = choice.build()
    if cold_items == "include" and tables.item_features is None:
        raise ValueError("--cold-items include needs what is known of them: say --item-features FILE.")
    if cluster is None:
        if shards is not None:
            raise ValueError("--shards belongs to --cluster.")
        log = _fit_here(model, choice, events, reading, tables, holdout, checkpoint, start, run.quiet)
    else:
        if holdout is not None or start is not None or tables != FeatureTables():
            raise ValueError(
                "--cluster trains on events alone: leave out --holdout, --start and features, or fit in Python."
            )
        fit_there(model, events, reading, cluster, shards, checkpoint, run.quiet)
        log = Log()
    if cold_items == "include":
        added = tables.add_items(model)
        note(f"{added:,} items without events are added by their features.", run.quiet)
    file.described(model)
    if isinstance(model, Recommender) and cluster is None:
        known = log.held_out.metrics[choice.model] if log.held_out is not None else None
        model.record(known, held_out=log.words, commit=commit)
    check_whole(was_interrupted(model), output, keep_partial)
    model.save(output, serve_only=serve_only)
    (users, items), pairs = model.interactions_.shape, model.interactions_.nnz
    iterates = isinstance(model, Iterating)
    history = model.history_ if iterates else []
    seconds, status = (history[-1]["seconds"], model.status_) if history else (None, None)
    if run.json_output:
        show({
            "output": output, "model": choice.model, "users": users, "items": items, "pairs": pairs,
            "duplicates": log.duplicates, "dropped": log.dropped, "sweeps": len(history) or None, "seconds": seconds,
            "status": status, "held_out": None if log.held_out is None else log.held_out.values(),
        })  # fmt: skip
        return
    if log.held_out is not None:
        log.held_out.show()
    left_out = "".join(f", {count:,} left out ({why})" for why, count in (log.dropped or {}).items())
    note(f"{users:,} users × {items:,} items, {pairs:,} pairs{left_out}.", run.quiet)
    if history:
        note(f"{len(history)} sweeps in {seconds:.2f} s. {status}", run.quiet)
    print(f"{choice.model} written to {output}.")


class Log(NamedTuple):
    """What was joined and left out in reading (workers do not tell), and what was measured on held-out pairs."""

    duplicates: int | None = None
    dropped: dict[str, int] | None = None
    held_out: HeldOutMetrics | None = None
    words: str | None = None


def _fit_here(
    model: Any, choice: ModelChoice, events: Path, reading: Reading, tables: FeatureTables, holdout: float | None,
    checkpoint: Path | None, start: Path | None, quiet: bool,
) -> Log:  # fmt: skip
    from inspect import signature

    from everypair import Checkpoint, load

    data = reading.read(events, quiet)
    features = tables.read(data, quiet)
    if start is not None:
        if "start" not in signature(model.fit).parameters:
            raise ValueError(f"{type(model).__name__} has no start: say --model OneClassMF, or leave out --start.")
        features["start"] = load(start)
    held_out = None
    if holdout is not None:
        parts = Split(test_share=holdout).parts(data, choice.seed)
        held_out = measured(fitted(choice.build(), parts.train, features, quiet), parts, [10])
    fitted(model, data, features, quiet, () if checkpoint is None else (Checkpoint(checkpoint),))
    words = None if holdout is None else Split(test_share=holdout).words(choice.seed)
    return Log(data.duplicates, dict(data.dropped), held_out, words)
