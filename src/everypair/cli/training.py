"""Training and measuring, as ``fit`` and ``evaluate`` do it."""

from __future__ import annotations

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
    from everypair.models.parameters import Iterating
    from everypair.training.train import shown_sweeps

    for kind, reads in zip(("user", "item"), model.reads_features):
        if f"{kind}_features" in features and not reads:
            raise ValueError(f"{type(model).__name__} reads no features of {kind}s: choose another --model.")
    iterates = isinstance(model, Iterating)
    if not iterates:
        if callbacks:
            raise ValueError(f"{type(model).__name__} has no checkpoints: leave out --checkpoint.")
        return model.fit(events, **features)
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


class HeldOutMetrics(NamedTuple):
    """Metrics of models beside each other, on so many pairs held out, of lists of the lengths ``ks``."""

    metrics: dict[str, Any]
    pairs: int
    ks: list[int]

    def values(self) -> dict[str, Any]:
        """What programs are told."""
        return {
            name: {"metrics": dict(one), "standard_errors": one.standard_errors} for name, one in self.metrics.items()
        }

    def show(self) -> None:
        """Print a table, with standard errors over users."""
        names = [f"{metric}@{k}" for k in self.ks for metric in SHOWN] + ["auc"]
        rows = [[name, *(_cell(one, name) for one in self.metrics.values())] for name in names]
        table(["", *self.metrics], rows, f"On {self.pairs:,} pairs held out:")


def measured(model: Any, parts: HeldOutEvents, ks: list[int]) -> HeldOutMetrics:
    """Metrics of a fitted model, and of Popularity beside it, on what was held out."""
    from everypair import Popularity, ranking_metrics

    beside = {"Popularity": Popularity().fit(parts.train), type(model).__name__: model}
    metrics = {
        name: ranking_metrics(one, parts.train, parts.test, ks=ks, fold_in=parts.fold_in)
        for name, one in beside.items()
    }
    return HeldOutMetrics(metrics, parts.test.matrix.nnz, ks)


def _cell(metrics: Any, name: str) -> str:
    error = metrics.standard_errors.get(name)
    return f"{metrics[name]:.4f}" + ("" if error is None else f" ± {error:.4f}")
