"""The half-step of a side with features: Newton steps on W, whose gradients and products are sums over shards.

The trust region of one machine (:mod:`everypair.solvers.tron`) goes from point to point; points, steps and searches
are futures here. A product of conjugate gradients sends d × k numbers to every shard and as many back, added up two by
two on the way. Where there are own vectors too, U = T + XW, one machine moves T and W at once. Here rows improve first,
drawn to XW; then W follows with U fixed, a regression of U on X, and then with T fixed, by a Newton step. The first is
slow where a row's own pairs say much, the second where they say little, and both together are not (interweaving, after
Yu and Meng, *To center or not to center: that is not the question*, 2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from everypair.distribute.solving import through_features as worker
from everypair.distribute.tasks import Tasks
from everypair.solvers.side import SideSteps, is_rounding
from everypair.solvers.tron import TrustRegion


@dataclass(frozen=True)
class SideFeatures:
    """What a side's features need on the cluster: W's home, λ_f, and XᵀPX decomposed there."""

    home: str
    ridge: float
    total_weight: float
    prepared: Any
    own: bool
    columns: int  # d
    dtype: Any
    regression: Any = None  # XᵀΛX + λ_f I decomposed, where there are own vectors and not too many features


class FeatureStep:
    """Newton steps on W of one side."""

    def __init__(self, tasks: Tasks, name: str, side: SideFeatures, places: list[str], steps: SideSteps) -> None:
        self.tasks, self.name, self.side, self.places, self.steps = tasks, name, side, places, steps

    def __call__(self, opened: list[Any], weights: Any) -> tuple[list[Any], Any]:
        """Futures of the shards and of W after the steps; ``opened`` and ``weights`` are where they begin."""
        point, advance = ShardedPoint(self, self.tasks.start(opened), self.tasks.start([weights])[0]), TrustRegion()
        for _ in range(self.steps.steps):
            after = advance(point, ShardedNewton(point))
            if after is None:
                break
            point = after
        return point.opened, point.weights

    def shard_tasks(self, name: str, function: Callable[..., Any], opened: list[Any], *arguments: Any) -> list[Any]:
        """A task for every shard."""
        return [
            self.tasks.task(f"{name}-{self.name}", function, one, *arguments, place=place)
            for one, place in zip(opened, self.places)
        ]

    def at_home(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """A task beside W."""
        return self.tasks.task(f"{name}-{self.name}", function, *arguments, place=self.side.home)


def added(tasks: Tasks, parts: list[Any], places: list[str]) -> Any:
    """The sum of parts, two by two, on workers that have one of them."""
    pairs = list(zip(parts, places))
    while len(pairs) > 1:
        summed = [
            (tasks.task("add", worker.add, one, other, place=place), place)
            for (one, place), (other, _) in zip(pairs[::2], pairs[1::2])
        ]
        pairs = summed + ([pairs[-1]] if len(pairs) % 2 else [])
    return pairs[0][0]


@dataclass(frozen=True)
class ShardedStep:
    """A step of W: a future of the search that ended there, and what the client knows of it."""

    search: Any
    report: worker.SearchReport

    @property
    def model(self) -> float:
        """The quadratic model's value there."""
        return self.report.model

    @property
    def length(self) -> float:
        """Its length in the preconditioner's norm."""
        return self.report.length

    @property
    def at_boundary(self) -> bool:
        """Whether the region ended it."""
        return self.report.at_boundary


class ShardedPoint:
    """g at some W, on the cluster."""

    def __init__(self, step: FeatureStep, opened: list[Any], weights: Any) -> None:
        self.step, self.opened, self.weights = step, opened, weights

    def change(self, step: ShardedStep) -> float:
        """By how much the step changes g."""
        tasks = self.step.shard_tasks("try", worker.changed, self.opened, self._way(step))
        return math.fsum([*self.step.tasks.get(tasks), step.report.ridge_change])

    def after(self, step: ShardedStep) -> ShardedPoint:
        """The point there."""
        shards = self.step.shard_tasks("go", worker.moved, self.opened, self._way(step))
        weights = self.step.at_home("weights", worker.stepped, self.weights, step.search)
        *opened, weights = self.step.tasks.start([*shards, weights])
        return ShardedPoint(self.step, opened, weights)

    def _way(self, step: ShardedStep) -> Any:
        return self.step.at_home("step", worker.step_of, step.search)


class ShardedNewton:
    """The Newton direction at a point: conjugate gradients at W's home, products on the shards."""

    def __init__(self, point: ShardedPoint) -> None:
        self.point = point
        step = point.step
        slopes = step.shard_tasks("slope", worker.slope, point.opened, step.side.total_weight)
        self.slope = step.tasks.start([added(step.tasks, slopes, step.places)])[0]

    def direction(self, radius: float = math.inf) -> ShardedStep | None:
        """The step inside the region, or ``None`` where its predicted decrease cannot be told from rounding."""
        point, step = self.point, self.point.step
        side, limit = step.side, step.steps.cg_steps
        search = step.at_home(
            "search", worker.search, point.weights, self.slope, side.prepared, side.ridge, radius, step.steps.cg_tol
        )
        while True:
            report_task = step.at_home("report", worker.report, search, point.weights, side.ridge, limit)
            search, future = step.tasks.start([search, report_task])
            report: worker.SearchReport = step.tasks.wait([future])[0]
            if not report.more:
                break
            way = step.at_home("direction", worker.direction, search)
            products = step.shard_tasks("product", worker.curved, point.opened, way)
            summed = added(step.tasks, products, step.places)
            search = step.at_home("advance", worker.advance, search, summed, point.weights, side.ridge)
        return None if is_rounding(report.model, report.pairs, side.dtype) else ShardedStep(search, report)
