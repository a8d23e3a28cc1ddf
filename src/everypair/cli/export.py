"""``everypair export``: ids and vectors of a model by factors, for a vector store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from everypair.cli.options import Run, command
from everypair.cli.say import note, show

ENDINGS = {".parquet": "parquet", ".npz": "npz"}


@command
def export(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    vectors: Annotated[Path, typer.Option(help="File to write: .parquet or .npz.")],
    run: Run,
    side: Annotated[Literal["items", "users"], typer.Option(help="Items to index, or users to ask with.")] = "items",
    augment: Annotated[
        bool, typer.Option("--augment", help="One more number, for stores that know cosine or distance alone.")
    ] = False,
    kind: Annotated[
        Literal["parquet", "npz"] | None,
        typer.Option("--format", help="Format of the file.", show_default="by the file's name"),
    ] = None,
) -> None:
    """Write the ids and vectors of items, whose products with those of users are the model's scores.

    everypair export model.ep --vectors items.parquet
    """
    from everypair.cli.model_files import load_recommender
    from everypair.models.recommend.vectors import vectors_of
    from everypair.store.write import check_output

    form = kind or ENDINGS.get(vectors.suffix.lower())
    if form is None:
        raise ValueError(f"{vectors} says no format: end it in {', '.join(ENDINGS)}, or say --format.")
    check_output(vectors, model)
    found = vectors_of(load_recommender(model), side, augment)
    {"parquet": _parquet, "npz": _npz}[form](vectors, *found)
    count, width = found.rows.shape
    if run.json_output:
        show({"output": vectors, "vectors": count, "numbers": width, "format": form})
    else:
        note(f"{count:,} vectors of {width} numbers written to {vectors}.", run.quiet)


def _parquet(path: Path, ids: Any, rows: Any) -> None:
    import pyarrow
    from pyarrow import parquet

    from everypair.store.write import replacing

    flat = pyarrow.array(rows.reshape(-1))
    columns = {"id": pyarrow.array(ids.tolist()), "vector": pyarrow.FixedSizeListArray.from_arrays(flat, rows.shape[1])}
    with replacing(path) as file:
        parquet.write_table(pyarrow.table(columns), file)


def _npz(path: Path, ids: Any, rows: Any) -> None:
    import numpy as np

    from everypair.store.write import replacing

    with replacing(path) as file:
        np.savez(file, ids=ids.astype(str) if ids.dtype == object else ids, vectors=rows)
