"""What side information adds or costs: held-out quality with all of it, without each part, and without any."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from everypair.evaluate.by_events import LENGTH, ItemGroup, recall_by_events
from everypair.evaluate.ranking_metrics import rank_users
from everypair.metrics.means import Metrics
from everypair.metrics.per_row import metric_lengths, rows_error, user_metric
from everypair.metrics.stream import KS, summarise
from everypair.models.recommend.factorization_parameters import SideParameters
from everypair.models.recommend.positions import KINDS
from everypair.solvers.loop import StopRules
from everypair.training.clock import Clock
from everypair.training.interruption import inner_fits, warn_interrupted, was_interrupted
from everypair.words import in_columns

SOURCES = ("user_features", "item_features", "user_graph", "item_graph")


@dataclass(frozen=True)
class FeatureReport:
    """One row per variant: ``"all"``, ``"without …"`` for every part, ``"none"``; each with its metrics.

    ``gain(name)`` is what a part adds to the metric: the score with everything less the score without it, and
    ``gain_error(name)`` the standard error of that, user by user. ``missing`` names the variants that time or Ctrl-C
    left no room for. ``by_events`` has recall@20 of every variant by the number of training events of the item
    (:func:`~everypair.evaluate.recall_by_events`): side information pays most where items have few.

    >>> from everypair.metrics import Metrics
    >>> rows = {"all": Metrics({"ndcg@10": 0.5}, {}), "without words": Metrics({"ndcg@10": 0.4}, {})}
    >>> round(FeatureReport("ndcg@10", rows).gain("words"), 3)
    0.1
    """

    metric: str
    rows: dict[str, Metrics]
    missing: tuple[str, ...] = ()
    users: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False, compare=False)
    by_events: dict[str, list[ItemGroup]] = field(default_factory=dict, repr=False, compare=False)

    def gain(self, part: str) -> float:
        """Score with everything less the score without ``part``; below zero where it hurts."""
        self._check(part)
        return self.rows["all"][self.metric] - self.rows[f"without {part}"][self.metric]

    def gain_error(self, part: str) -> float:
        """Standard error of the gain over users; NaN for a metric that is no mean over users."""
        self._check(part)
        if not self.users:
            return math.nan
        return rows_error(self.users["all"] - self.users[f"without {part}"])

    def _check(self, part: str) -> None:
        if f"without {part}" in self.missing:
            raise ValueError(f"there was no time to measure the model without {part}.")
        if f"without {part}" not in self.rows:
            parts = ", ".join(name.removeprefix("without ") for name in self.rows if name.startswith("without "))
            raise ValueError(f"part must be one of {parts}, got {part!r}.")

    def __str__(self) -> str:
        rows = [["", self.metric, "±", "adds", "±"]]
        for name, metrics in self.rows.items():
            row = [name, f"{metrics[self.metric]:.4f}", _error(metrics.standard_errors.get(self.metric)), "", ""]
            if name.startswith("without "):
                part = name.removeprefix("without ")
                row[3:] = [f"{self.gain(part):+.4f}", _error(self.gain_error(part))]
            rows.append(row)
        lines = [in_columns(rows, right=[False, True, True, True, True])]
        if self.by_events:
            groups = self.by_events["all"]
            table = [[f"recall@{LENGTH} by events of the item", *(group.name for group in groups)]]
            table += [[name, *(f"{group.recall:.4f}" for group in own)] for name, own in self.by_events.items()]
            lines += ["", in_columns(table, right=[False, *(True for _ in groups)])]
        if self.missing:
            lines.append(f"not measured: {', '.join(self.missing)}")
        return "\n".join(lines)


def feature_report(
    model: Any,
    train: Any,
    test: Any,
    *,
    user_features: Any = None,
    item_features: Any = None,
    user_graph: Any = None,
    item_graph: Any = None,
    metric: str = "ndcg@10",
    time_limit: float | None = None,
    **fit_arguments: Any,
) -> FeatureReport:
    """Fit clones of ``model`` on ``train`` with and without each group of features and each graph; measure on ``test``.

    Features given as a dict of named groups are left out group by group. The model is fitted once with everything, once
    without each part, and once without any side information: parts + 2 fits. A side that needs features
    (``Side(own_vectors=False)``) gets own vectors in the variants that take its last features away. ``time_limit``, in
    seconds, and Ctrl-C end the whole report: variants that were not trained by then are named in ``missing``.

    >>> import numpy as np
    >>> from everypair import OneClassMF
    >>> groups = np.kron(np.eye(3), np.ones((8, 6)))
    >>> test = groups * (np.random.default_rng(0).random(groups.shape) < 0.7)
    >>> train, of_items = groups - test, np.repeat(np.eye(3), 6, axis=0)
    >>> model = OneClassMF(rank=3, random_state=0)
    >>> report = feature_report(model, train, test, item_features={"group": of_items}, metric="ndcg@10")
    >>> list(report.rows), report.gain("item_features[group]") >= 0
    (['all', 'without item_features[group]', 'none'], True)
    """
    sources = dict(zip(SOURCES, (user_features, item_features, user_graph, item_graph)))
    sources = {name: part for name, part in sources.items() if part is not None}
    if not sources:
        raise ValueError("there is no side information to report on: give features or a graph.")
    lengths = sorted({*KS, *metric_lengths(metric)})
    StopRules.checked(1, 0.0, None, time_limit)
    variants: dict[str, dict[str, Any]] = {"all": sources}
    for name, part in sources.items():
        rest = {other: value for other, value in sources.items() if other != name}
        if isinstance(part, Mapping):
            for group in part:
                kept = {other: value for other, value in part.items() if other != group}
                variants[f"without {name}[{group}]"] = {**rest, name: kept} if kept else rest
        else:
            variants[f"without {name}"] = rest
    variants["none"] = {}
    takes_sides = isinstance(model, SideParameters)
    if not takes_sides:
        raise TypeError(f"{type(model).__name__} takes no side information: report on OneClassMF or SubsampledMF.")
    if model.random_state is None:  # one start for all variants, or their differences are partly luck
        model = clone(model).set_params(random_state=int(np.random.default_rng().integers(2**31)))
    rows: dict[str, Metrics] = {}
    users: dict[str, NDArray[np.float64]] = {}
    by_events: dict[str, list[ItemGroup]] = {}
    clock = Clock.start(time_limit)
    try:
        for name, side_information in variants.items():
            if rows and clock.left() <= 0:
                break
            fitted = _with_own_vectors(clone(model), side_information)
            left = clock.limit()
            if left is not None:
                fitted.set_params(time_limit=min(left, model.time_limit or left))
            with inner_fits():
                fitted.fit(train, **side_information, **fit_arguments)
            if was_interrupted(fitted):
                raise KeyboardInterrupt
            if rows and clock.left() <= 0:  # cut short, and not to be compared
                break
            ranking, _ = rank_users(fitted, train, test, lengths)
            rows[name] = summarise(ranking, lengths, "test")
            of_users = user_metric(metric)
            if of_users is not None:
                users[name] = of_users(ranking)
            by_events[name] = recall_by_events(fitted.set_output(transform="default"), train, test)
    except KeyboardInterrupt:
        if not rows:
            raise
        warn_interrupted(f"{len(rows)} of {len(variants)} variants are measured.")
    missing = tuple(name for name in variants if name not in rows)
    return FeatureReport(metric, rows, missing, users, by_events if len(by_events) == len(rows) else {})


def _error(error: float | None) -> str:
    return "" if error is None or math.isnan(error) else f"{error:.4f}"


def _with_own_vectors(model: Any, side_information: dict[str, Any]) -> Any:
    """A side that has no features in a variant has own vectors there."""
    bare = [f"{kind}s" for kind in KINDS if f"{kind}_features" not in side_information]
    return model.set_params(**{name: replace(getattr(model, name), own_vectors=True) for name in bare})
