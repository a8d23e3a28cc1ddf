"""``everypair card``: what a model file says of itself: where it comes from, what it read, how good it was."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from everypair.cli.options import Run, command
from everypair.cli.say import show


@command
def card(model: Annotated[Path, typer.Argument(help="Model file.")], run: Run) -> None:
    """Print a model's card as Markdown, or as JSON.

    everypair card model.ep > model.md
    """
    from everypair.cli.model_files import load_recommender
    from everypair.models.recommend.card import as_markdown
    from everypair.models.recommend.card import card as card_of

    found = card_of(load_recommender(model))
    if run.json_output:
        show(found)
    else:
        print(as_markdown(found))
