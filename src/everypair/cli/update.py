"""``everypair update``: new events into a model, without fitting it again.

New items come first, folded in by the known users who have them; then known users with new events are folded in anew,
and new users for the first time, each with all of their events. Known items stay as they are: fit again from time to
time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from everypair.cli.options import Run, command
from everypair.cli.reading import Reading
from everypair.cli.say import show


@command
def update(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    events: Annotated[Path, typer.Argument(help="File of new events.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write; the same one is replaced.")],
    reading: Reading,
    run: Run,
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
    from everypair.store.write import check_place

    check_place(output)
    loaded = load_recommender(model)
    name = type(loaded).__name__
    offered(loaded, "add_users")
    if loaded.user_ids_ is None:
        raise ValueError("this model was fitted on a matrix and has no ids that events could be matched to.")
    counts = grow(loaded, reading.read(events, run.quiet), user_features, item_features, known)
    loaded.save(output)
    if run.json_output:
        show({"output": output, **counts})
    else:
        print(
            f"New users: {counts['new_users']:,}, new items: {counts['new_items']:,}, known users folded in: "
            f"{counts['folded_in']:,}; {name} written to {output}."
        )


def grow(model: Any, events: Any, user_features: Path | None, item_features: Path | None, known: str) -> dict[str, int]:
    """Bring events into a fitted model with ids; return how many users and items were added and folded in."""
    import numpy as np

    from everypair.data.ids import Ids
    from everypair.data.matching import IdPair, alike, match_events
    from everypair.models.recommend.fitted import Refreshes
    from everypair.parallel import resolve_threads

    have = IdPair(model.user_ids_, model.item_ids_)
    users, items = alike(have.users, events.user_ids), alike(have.items, events.item_ids)
    new_users = Ids(users.values[have.users.find(users.values) < 0])
    new_items = Ids(items.values[have.items.find(items.values) < 0])
    if len(new_items):
        columns = match_events(events, IdPair(have.users, new_items)).matrix
        model.add_items(ids=new_items, interactions=columns, **_described(model, 1, item_features, new_items))
    folded = 0
    if known == "fold-in":
        more = match_events(events, have).matrix
        more.resize(model.interactions_.shape)
        changed = np.flatnonzero(np.diff(match_events(events, IdPair(have.users, model.item_ids_)).matrix.indptr))
        if isinstance(model.state_, Refreshes):
            if more.nnz or len(changed):
                model.state_ = model.state_.refreshed(more, changed, resolve_threads(model.n_threads))
                folded = len(changed)
        elif more.nnz:
            raise ValueError(
                f"events of known users cannot be folded into this {type(model).__name__}: --known ignore leaves them "
                "out, or fit it again."
            )
    if len(new_users):
        rows = match_events(events, IdPair(new_users, model.item_ids_)).matrix
        model.add_users(ids=new_users, interactions=rows, **_described(model, 0, user_features, new_users))
    return {"new_users": len(new_users), "new_items": len(new_items), "folded_in": folded}


def _described(model: Any, side: int, path: Path | None, ids: Any) -> dict[str, Any]:
    """Features of new users or items, read as those of training were."""
    from everypair.models.recommend.fitted import ReadsFeatures

    reader = model.state_.feature_map(side) if isinstance(model.state_, ReadsFeatures) else None
    kind = ("user", "item")[side]
    if path is None:
        return {}
    encoder = None if reader is None else reader.encoders.get("")
    if encoder is None:
        raise ValueError(f"this model was fitted without a table of {kind} features: leave out --{kind}-features.")
    return {"features": encoder.transform(path, ids, extra="drop")}
