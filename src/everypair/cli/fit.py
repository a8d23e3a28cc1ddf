"""``everypair fit``: from a file of events to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from everypair.cli.choice import ModelChoice
from everypair.cli.options import Run, command
from everypair.cli.reading import FeatureTables, Reading
from everypair.cli.say import note, show


@command
def fit(
    events: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, Arrow or npz with a user and an item per line.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    choice: ModelChoice,
    reading: Reading,
    tables: FeatureTables,
    run: Run,
    holdout: Annotated[
        float | None, typer.Option(help="First measure on this share of the pairs, then fit on all of them.")
    ] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Keep where training stands here, and go on from it.")] = None,
    serve_only: Annotated[bool, typer.Option("--serve-only", help="Leave out what only training needs.")] = False,
    cluster: Annotated[
        str | None, typer.Option(help="Train on a Dask cluster: tcp://scheduler:port, or local:4 processes.")
    ] = None,
    shards: Annotated[int | None, typer.Option(help="Of either side on a cluster.", show_default="by the data")] = None,
) -> None:
    """Fit a model on a file of events and write it to a model file.

    everypair fit events.csv --output model.ep --rank 32
    """
    from everypair import Checkpoint
    from everypair.cli.training import as_values, fitted, measured, show_metrics, split
    from everypair.store.write import check_place

    check_place(output)
    model = choice.build()
    if cluster is not None:
        if holdout is not None or any(value is not None for value in vars(tables).values() if value != "error"):
            raise ValueError("--cluster trains on events alone: leave out --holdout and features, or fit in Python.")
        _fit_on_cluster(model, events, reading, cluster, shards, checkpoint, run)
        model.save(output, serve_only=serve_only)
        users, items = model.interactions_.shape
        told = {"output": output, "model": choice.model, "users": users, "items": items, "sweeps": model.n_iter_}
        if run.json_output:
            seconds = model.history_[-1]["seconds"]
            show({**told, "pairs": model.interactions_.nnz, "seconds": seconds, "status": model.status_})
        else:
            note(f"{users:,} users × {items:,} items, {model.interactions_.nnz:,} pairs.", run.quiet)
            note(f"{model.n_iter_} sweeps in {model.history_[-1]['seconds']:.2f} s. {model.status_}", run.quiet)
            print(f"{choice.model} written to {output}.")
        return
    if shards is not None:
        raise ValueError("--shards belongs to --cluster.")
    data = reading.read(events, run.quiet)
    features = tables.read(data, run.quiet)
    found = None
    if holdout is not None:
        parts = split(data, "entries", holdout, 1, choice.seed)
        found = measured(fitted(choice.build(), parts.train, features, run.quiet), parts, [10])
    keep = () if checkpoint is None else (Checkpoint(checkpoint),)
    fitted(model, data, features, run.quiet, keep)
    model.save(output, serve_only=serve_only)
    users, items = data.matrix.shape
    history = getattr(model, "history_", None) or []
    if run.json_output:
        show({
            "output": output, "model": choice.model, "users": users, "items": items, "pairs": data.matrix.nnz,
            "duplicates": data.duplicates, "dropped": dict(data.dropped), "sweeps": len(history) or None,
            "seconds": history[-1]["seconds"] if history else None, "status": getattr(model, "status_", None),
            "held_out": None if found is None else as_values(found),
        })  # fmt: skip
    else:
        if found is not None:
            show_metrics(found, [10], f"On {parts.test.matrix.nnz:,} pairs held out:")
        left_out = "".join(f", {count:,} left out ({why})" for why, count in data.dropped.items())
        note(f"{users:,} users × {items:,} items, {data.matrix.nnz:,} pairs{left_out}.", run.quiet)
        if history:
            note(f"{len(history)} sweeps in {history[-1]['seconds']:.2f} s. {model.status_}", run.quiet)
        print(f"{choice.model} written to {output}.")


def _fit_on_cluster(
    model: Any, events: Path, reading: Reading, where: str, shards: int | None, checkpoint: Path | None, run: Run
) -> None:
    from everypair.cli.cluster import fit_there
    from everypair.progress import Progress
    from everypair.training.train import shown_sweeps

    read = reading.options()
    if (read.pop("min_user_events"), read.pop("min_item_events")) != (1, 1):
        raise ValueError("--min-user-events and --min-item-events are not known file by file: leave out --cluster.")
    read["verbose"] = not run.quiet
    with Progress(getattr(model, "max_iter", 0), "sweeps", run.quiet, at_most=True) as progress:
        fit_there(model, events, read, where, shards, checkpoint, shown_sweeps(progress))
