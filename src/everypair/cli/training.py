"""Training and measuring, as ``fit`` and ``evaluate`` do it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from everypair.cli.say import note, table
from everypair.progress import Progress, part_of, shown_stages

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
    name = type(model).__name__
    iterates = isinstance(model, Iterating)
    if not iterates:
        if callbacks:
            raise ValueError(f"{name} has no checkpoints: say --model OneClassMF, or leave out --checkpoint.")
        with shown_stages(quiet), part_of(name):
            return model.fit(events, **features)
    with Progress(model.most_sweeps, "sweeps", quiet, at_most=True) as progress:
        return model.fit(events, **features, callbacks=[shown_sweeps(progress), *callbacks])


@dataclass(frozen=True)
class Split:
    """What is held out of a file of events: in evaluate, tune and report alike."""

    split: Annotated[
        Literal["random", "last", "time", "new-users"],
        typer.Option(help="What to hold out: random events, the last of every user, the latest, or whole users."),
    ] = "random"
    test_share: Annotated[float, typer.Option(help="Share of the events (or users) that is held out.")] = 0.1
    since: Annotated[str | None, typer.Option(help="With --split time: hold out all from this date or time on.")] = None

    @property
    def how(self) -> str:
        """The way to hold out; ``--since`` alone says it too."""
        return "time" if self.since is not None and self.split == "random" else self.split

    @property
    def entries(self) -> dict[str, Any]:
        """The arguments of ``tune`` and ``report``."""
        if self.how == "new-users":
            raise ValueError("--split new-users holds out whole users, which evaluate alone can: choose another.")
        return {"held_out": self.how, "test_share": self.test_share, "since": self.since}

    def check(self) -> None:
        """Refuse before a file is read what cannot be."""
        from everypair.data.splits import check_held_out, check_share

        check_share(self.test_share, "test_share")
        if self.how != "new-users" or self.since is not None:
            check_held_out(self.how, self.since)

    def parts(self, events: Any, seed: int) -> HeldOutEvents:
        """Hold out a part of events."""
        from everypair.data.splits import hold_out, split_rows

        if self.how == "new-users":
            parts = split_rows(events, test_share=self.test_share, random_state=seed)
            return HeldOutEvents(parts.train, parts.test, parts.fold_in)
        train, test = hold_out(events, self.how, None, seed, self.test_share, self.since)
        if not test.matrix.nnz:
            raise ValueError(
                "nothing was held out: there are too few events for this split; choose another --split or --test-share."
            )
        return HeldOutEvents(train, test)

    def words(self, seed: int) -> str:
        """Say what was held out."""
        from everypair.data.splits import held_out_words

        return held_out_words(self.how, self.test_share, self.since, seed)


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
        repeats = max(one.repeats for one in self.metrics.values())
        again = f" ({repeats:,} more are of users who have the item already: --repeats count)" if repeats else ""
        table(["", *self.metrics], rows, f"On {self.pairs - repeats:,} pairs held out{again}:")


def check_whole(interrupted: bool, output: Path, keep_partial: bool) -> None:
    """After Ctrl-C leave a model file that is there as it was, unless a half-trained one may replace it."""
    if interrupted and not keep_partial and output.exists():
        note(f"{output} is left as it was: --keep-partial replaces it by what was learnt until Ctrl-C.")
        raise KeyboardInterrupt


def measured(
    model: Any, parts: HeldOutEvents, ks: list[int], repeats: Literal["drop", "count"] = "drop"
) -> HeldOutMetrics:
    """Metrics of a fitted model, and of Popularity beside it, on what was held out."""
    from everypair import Popularity, ranking_metrics

    beside = {"Popularity": Popularity().fit(parts.train), type(model).__name__: model}
    metrics = {
        name: ranking_metrics(one, parts.train, parts.test, ks=ks, fold_in=parts.fold_in, repeats=repeats)
        for name, one in beside.items()
    }
    return HeldOutMetrics(metrics, parts.test.matrix.nnz, ks)


def _cell(metrics: Any, name: str) -> str:
    error = metrics.standard_errors.get(name)
    return f"{metrics[name]:.4f}" + ("" if error is None else f" ± {error:.4f}")
