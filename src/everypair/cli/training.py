"""Training and measuring, as ``fit`` and ``evaluate`` do it."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from everypair.cli.say import table
from everypair.progress import Progress

SHOWN = ("ndcg", "recall", "precision", "hit_rate", "map", "coverage")


class HeldOutEvents(NamedTuple):
    """What a model is fitted on, what is hidden from it and, of users who are new, what is shown of them."""

    train: Any
    test: Any
    fold_in: Any = None


def fitted(model: Any, events: Any, features: dict[str, Any], quiet: bool, callbacks: tuple[Any, ...] = ()) -> Any:
    """Fit a model, with a bar over its sweeps if it has some."""
    takes = inspect.signature(model.fit).parameters
    for name in features:
        if name not in takes:
            side = "users" if name.startswith("left") else "items"
            raise ValueError(f"{type(model).__name__} reads no features of {side}: choose another --model.")
    if "callbacks" not in takes:
        if callbacks:
            raise ValueError(f"{type(model).__name__} has no checkpoints: leave out --checkpoint.")
        return model.fit(events, **features)
    from everypair.training.train import shown_sweeps

    with Progress(model.max_iter, "sweeps", quiet, at_most=True) as progress:
        return model.fit(events, **features, callbacks=[shown_sweeps(progress), *callbacks])


def split(events: Any, how: str, share: float, count: int, seed: int) -> HeldOutEvents:
    """Hold out a part of events."""
    from everypair import data

    if how == "new-users":
        parts = data.split_rows(events, test_share=share, random_state=seed)
        return HeldOutEvents(parts.train, parts.test, parts.fold_in)
    if how == "last":
        train, test = data.split_leave_last(events, count=count)
    elif how == "time":
        train, test = data.split_time(events, test_share=share)
    elif how == "per-user":
        train, test = data.split_per_row(events, test_share=share, random_state=seed)
    else:
        train, test = data.split_entries(events, test_share=share, random_state=seed)
    if not test.matrix.nnz:
        raise ValueError(
            "nothing was held out: there are too few events for this split; choose another --share or --count."
        )
    return HeldOutEvents(train, test)


def measured(model: Any, parts: HeldOutEvents, ks: list[int]) -> dict[str, Any]:
    """Metrics of a fitted model, and of Popularity beside it, on what was held out."""
    from everypair import Popularity
    from everypair.evaluate import ranking_metrics

    floor = Popularity().fit(parts.train)
    found = {}
    for name, one in (("Popularity", floor), (type(model).__name__, model)):
        found[name] = ranking_metrics(one, parts.train, parts.test, ks=ks, fold_in=parts.fold_in)
    return found


def as_values(found: dict[str, Any]) -> dict[str, Any]:
    """Metrics for programs."""
    return {
        name: {"metrics": dict(metrics), "standard_errors": metrics.standard_errors} for name, metrics in found.items()
    }


def show_metrics(found: dict[str, Any], ks: list[int], title: str) -> None:
    """Print metrics beside each other, with standard errors over users."""
    names = [f"{metric}@{k}" for k in ks for metric in SHOWN] + ["auc"]
    rows = [[name, *(_cell(metrics, name) for metrics in found.values())] for name in names]
    table(["", *found], rows, title)


def _cell(metrics: Any, name: str) -> str:
    error = metrics.standard_errors.get(name)
    return f"{metrics[name]:.4f}" + ("" if error is None else f" ± {error:.4f}")
