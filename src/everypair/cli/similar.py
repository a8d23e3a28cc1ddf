"""``everypair similar``: the items, or users, nearest to one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everypair.cli.items import ItemsFile, Titles
from everypair.cli.options import Run, command
from everypair.cli.say import show, table


@command
def similar(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    run: Run,
    file: ItemsFile,
    item: Annotated[list[str] | None, typer.Option("--item", "-i", help="An item, again and again.")] = None,
    user: Annotated[list[str] | None, typer.Option("--user", "-u", help="A user, again and again.")] = None,
    n: Annotated[int, typer.Option("--n", "-n", help="How many of each.", min=1)] = 10,
) -> None:
    """Show the items that are nearest to an item, or the users nearest to a user, by cosine.

    everypair similar model.ep --item rain
    """
    from everypair.cli.model_files import ids_of, load_to_ask, offered, typed
    from everypair.cli.ranked_files import rounded, shown

    if (item is None) == (user is None):
        raise ValueError("say what to compare: --item or --user, one of them.")
    kind, texts = ("item", item or []) if user is None else ("user", user)
    loaded = file.described(load_to_ask(model))
    titles = file.titles(loaded) if kind == "item" else Titles()
    ids = ids_of(loaded)[kind == "item"]
    names = typed(texts, ids, kind)
    answers = offered(loaded, f"similar_{kind}s")(names, n=min(n, len(ids) - 1))
    for name, nearest, cosines in zip(names, *map(list, answers)):
        there = shown(cosines)
        answers, rated = nearest[there].tolist(), rounded(cosines[there])
        if run.json_output:
            show({kind: name, f"similar_{kind}s": answers, "cosines": rated, **titles.field(answers)})
        else:
            rows = [[str(one), *titles.cells(one), f"{cosine:.4f}"] for one, cosine in zip(answers, rated)]
            table([f"similar {kind}", *titles.head, "cosine"], rows, str(name))
