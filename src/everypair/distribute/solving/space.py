"""Momentum on shards: a sweep begins further along where its rows live, and its way is summed up there."""

from __future__ import annotations

from dataclasses import dataclass, field

from everypair.distribute.solving import work
from everypair.distribute.solving.sides import SIDES, Sides
from everypair.distribute.tasks import Tasks
from everypair.problem.layout import LEFT
from everypair.solvers.state import Factors


@dataclass(frozen=True)
class SweepOrigin(Factors):
    """Where a sweep begins, ``beta`` times the way from ``before`` further along than ``now``."""

    now: Factors = field(kw_only=True)
    before: Factors = field(kw_only=True)
    beta: float = field(kw_only=True)


@dataclass(frozen=True)
class Swept(Factors):
    """Where a sweep ended, and ⟨origin − after, after − now⟩ of the way it took."""

    against: float = 0.0


class ShardSpace:
    """Parameters that are futures of shards: what :class:`~everypair.solvers.momentum.Momentum` does with them."""

    def __init__(self, tasks: Tasks, sides: Sides) -> None:
        self.tasks, self.sides = tasks, sides

    def beyond(self, now: Factors, before: Factors, beta: float) -> SweepOrigin:
        """Both sides moved on along their last way; without features the sweep that begins there does it."""
        rows = [
            self.tasks.task(f"move-{name}", work.move, shard, new, old, beta, place=place)
            for name, side in zip(SIDES, self.sides)
            for shard, new, old, place in zip(side.shards, getattr(now, name), getattr(before, name), side.places)
        ]
        size = len(self.sides[LEFT].shards)
        if not any(side.features for side in self.sides):
            return SweepOrigin(rows[:size], rows[size:], now=now, before=before, beta=beta)
        parameters = (now.left_parameters, before.left_parameters), (now.right_parameters, before.right_parameters)
        weights = [
            side.at_home(self.tasks, "move-weights", work.beyond, *both, beta)
            for side, both in zip(self.sides, parameters)
        ]
        # several graphs will read them, so all are started
        futures = iter(self.tasks.start([*rows, *(W for W in weights if W is not None)]))
        left, right = ([next(futures) for _ in side.shards] for side in self.sides)
        left_weights, right_weights = (None if W is None else next(futures) for W in weights)
        return SweepOrigin(
            left, right, left_parameters=left_weights, right_parameters=right_weights, now=now, before=before,
            beta=beta,
        )  # fmt: skip

    def turned_back(self, now: Factors, origin: Factors, after: Factors) -> bool:
        """Whether a sweep went against the way it began on: it knows."""
        assert isinstance(after, Swept)
        return after.against > 0
