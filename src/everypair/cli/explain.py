"""``everypair explain``: why a user has a score for an item."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everypair.cli.items import ItemsFile
from everypair.cli.options import Run, command
from everypair.cli.say import show, table


@command
def explain(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    user: Annotated[str, typer.Argument(help="User.")],
    item: Annotated[str, typer.Argument(help="Item.")],
    run: Run,
    file: ItemsFile,
    n: Annotated[int, typer.Option("--n", "-n", help="Reasons to show, the largest first.", min=1)] = 10,
) -> None:
    """Split the score of a user and an item into contributions of the items that the user has.

    everypair explain model.ep ann iron
    """
    from everypair.cli.model_files import ids_of, load_to_ask, offered, typed

    loaded = file.described(load_to_ask(model))
    titles = file.titles(loaded)
    users, items = ids_of(loaded)
    (row,), (column,) = typed([user], users, "user"), typed([item], items, "item")
    why = offered(loaded, "explain")(row, column)
    names, shares = why.items.tolist(), why.contributions.tolist()
    if run.json_output:
        values = {"user": row, "item": column, "score": why.score, "base": why.base}
        values |= {"items": names[:n], "contributions": shares[:n], **titles.field(names[:n])}
        if why.features is not None and why.feature_contributions is not None:
            values |= {"features": why.features.tolist()[:n]}
            values |= {"feature_contributions": why.feature_contributions.tolist()[:n]}
        show(values)
        return
    rows = [[str(name), *titles.cells(name), f"{share:+.4f}"] for name, share in zip(names[:n], shares[:n])]
    blank = [""] * len(titles.head)
    if len(names) > n:
        rows.append([f"{len(names) - n} more", *blank, f"{sum(shares[n:]):+.4f}"])
    rows += [["(without any of them)", *blank, f"{why.base:+.4f}"], ["score", *blank, f"{why.score:+.4f}"]]
    table(["because of", *titles.head, "contribution"], rows, f"{row} and {column}")
    if why.features is not None and why.feature_contributions is not None:
        shared = zip(why.features.tolist()[:n], why.feature_contributions.tolist())
        table(["which share", "contribution"], [[str(name), f"{share:+.4f}"] for name, share in shared])
