"""``everypair inspect``: what is in a model file, or in a file of events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from everypair.cli.options import Run, command
from everypair.cli.reading import Reading
from everypair.cli.say import show, table
from everypair.words import moment

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
TIMES = "first and last time"
SPAN = ("first", "last")  # times of what was read


@command
def inspect(
    path: Annotated[Path, typer.Argument(help="A model file or a file of events.")],
    reading: Reading,
    run: Run,
) -> None:
    """Show what a model file or a file of events holds.

    everypair inspect model.ep

    everypair inspect events.csv --min-rating 4
    """
    from everypair.cli.model_files import is_model_file

    if not is_model_file(path):
        lenient = replace(reading, missing="drop") if reading.missing == "error" else reading  # which are counted
        found = _events(lenient.read(path, run.quiet), path)
    elif reading != Reading():
        raise ValueError(f"{path} is a model: leave out the options of files of events.")
    else:
        found = _model(path)
    if run.json_output:
        show(found)
    else:
        if TIMES in found:
            found[TIMES] = list(map(moment, found[TIMES]))
        table(["", str(path)], [[name, _said(value)] for name, value in found.items() if value is not None])


def _model(path: Path) -> dict[str, Any]:
    from everypair import load
    from everypair.models.recommend.fitted import ReadsFeatures
    from everypair.models.recommend.recommender import Recommender
    from everypair.models.serve_only import is_serve_only

    model = load(path)
    found: dict[str, Any] = {"model": type(model).__name__, "bytes": path.stat().st_size}
    if isinstance(model, Recommender):
        matrix = model.interactions_
        found |= {"users": matrix.shape[0], "items": matrix.shape[1], "pairs": matrix.nnz}
        for kind, ids in (("user", model.user_ids_), ("item", model.item_ids_)):
            found[f"{kind} ids"] = "positions" if ids is None else [*ids.values[:3].tolist(), *["…"] * (len(ids) > 3)]
    if isinstance(model.state_, ReadsFeatures):
        for side, kind in enumerate(("user", "item")):
            features = model.state_.feature_map(side)
            found[f"{kind} features"] = None if features is None else int(features.width)
    if isinstance(model, Recommender):
        record, log = model.state_.record, model.state_.log
        if record is not None:
            found |= {"created": record.created, "version": record.version, "commit": record.commit}
            found["held-out metrics"] = dict(record.metrics) or None
        if log is not None:
            found["read"] = [dict(one) for one in log.sources]
            found["reading"] = dict(log.reading) or None
    history = getattr(model.state_, "history", None)
    if is_serve_only(model.state_):
        history, found["form"] = None, "serve-only"
    if history:
        last = history[-1]
        found |= {"sweeps": len(history), "seconds": last["seconds"], "objective": last["objective"]}
        found["status"] = str(model.status_)
    found["parameters"] = {name: value for name, value in model.get_params(deep=False).items() if value is not None}
    return found


def _events(events: Any, path: Path) -> dict[str, Any]:
    import numpy as np

    matrix = events.matrix
    users, items = matrix.shape
    found: dict[str, Any] = {
        "bytes": path.stat().st_size,
        "columns": {role: name for role, name in events.columns.items() if name is not None},
        "users": users,
        "items": items,
        "pairs": matrix.nnz,
        "density": matrix.nnz / (users * items),
        "dislikes": int((matrix.data < 0).sum()) or None,
        "joined duplicates": events.duplicates,
        "left out": dict(events.dropped) or None,
        "items per user, quartiles": np.quantile(np.diff(matrix.indptr), SHARES).tolist(),
        "users per item, quartiles": np.quantile(np.bincount(matrix.indices, minlength=items), SHARES).tolist(),
        "weights, quartiles": np.quantile(matrix.data, SHARES).tolist(),
    }
    if events.times is not None:
        found[TIMES] = [events.times.data.min().item(), events.times.data.max().item()]
    return found


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={moment(one) if name in SPAN else _said(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_said, value))
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
