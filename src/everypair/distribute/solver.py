"""Alternating minimisation whose factors never leave the workers.

A sweep is one graph of tasks: the right side's Gram matrix is summed up and decomposed, its rows are rotated where they
live, the rows that the left shards need travel to them, these improve; then the same the other way round. Only a
verdict comes back to the client. Bytes that travel in a sweep: (rows of the other side that the shards of a worker need
and that live elsewhere) × rank × 4, both ways, and a few k × k matrices per shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.distribute import work
from everypair.distribute.tasks import Tasks
from everypair.distribute.verdict import Verdict, judge, ridge_of, way_of
from everypair.parallel import BLOCK_ROWS, Chunk
from everypair.problem.gram_square import GramSquare
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.solvers.half_step import RowSteps
from everypair.solvers.state import Factors

SIDES = ("left", "right")


@dataclass(frozen=True)
class ShardedSide:
    """One side on the cluster: where its shards begin and end, where they live, and their problems there."""

    borders: list[Chunk]
    places: list[str]
    shards: list[Any]
    wanted: list[list[int | None]]  # how many rows are picked from every shard of the other side, None for all of them
    picked: list[list[Any]]  # futures of their numbers

    @property
    def blocks(self) -> int:
        """Number of blocks of rows."""
        return -(-self.borders[-1][1] // BLOCK_ROWS)


@dataclass(frozen=True)
class Begun(Factors):
    """Where a sweep begins, further along than ``now``: tasks that were not started yet."""

    now: Factors | None = None


@dataclass(frozen=True)
class Swept(Factors):
    """Where a sweep ended, and ⟨begun − after, after − now⟩ of the way it took."""

    against: float = 0.0


class ShardedAlternating:
    """Sweeps over both sides on a cluster, to the bit those of :class:`~everypair.solvers.alternating.Alternating`."""

    descends = True
    quadratic_only, structured = False, False

    def __init__(
        self,
        tasks: Tasks,
        sides: tuple[ShardedSide, ShardedSide],
        square: GramSquare,
        layout: Layout,
        steps: RowSteps,
        balance: bool,
    ) -> None:
        self.tasks, self.sides, self.square, self.steps, self.balance = tasks, sides, square, steps, balance
        self._free = tuple(_free_columns(layout, side) for side in (LEFT, RIGHT))
        self._balanced_columns = self._free[LEFT] & self._free[RIGHT] if balance else None
        self._blocks = sides[LEFT].blocks, sides[RIGHT].blocks

    def step(self, state: Factors) -> Swept:
        """One sweep over both sides, and balance where it pays."""
        left = self._improve(LEFT, state.left, state.right, self._sums(RIGHT, state.right))
        left_sums = self._sums(LEFT, left)
        right = self._improve(RIGHT, state.right, left, left_sums)
        both = left_sums, self._sums(RIGHT, right)
        verdict = self.tasks.task(
            "judge", judge, both, self._ways(state, left, right), self._blocks, self.square, self._balanced_columns
        )
        *futures, verdict = self.tasks.start([*left, *right, verdict])
        left, right = futures[: len(left)], futures[len(left) :]
        told: Verdict = self.tasks.wait([verdict])[0]
        self.tasks.notice()
        swept = Swept(left, right, told.value, rounding=told.rounding, against=told.against)
        return swept if told.balance is None else self._balanced(state, swept, told)

    def beyond(self, now: Factors, before: Factors, beta: float) -> Begun:
        """Both sides moved on along their last way; the sweep that begins there does it."""
        left, right = (
            [
                self.tasks.task(f"move-{SIDES[number]}", work.move, shard, new, old, beta, place=place)
                for shard, new, old, place in zip(side.shards, here, there, side.places)
            ]
            for number, (side, here, there) in enumerate(
                zip(self.sides, (now.left, now.right), (before.left, before.right))
            )
        )
        return Begun(left, right, now=now)

    def turned_back(self, now: Factors, begun: Factors, after: Factors) -> bool:
        """Whether a sweep went against the way it began on: it knows."""
        assert isinstance(begun, Begun)
        assert isinstance(after, Swept)
        return after.against > 0

    def _ways(self, begun: Factors, *after: list[Any]) -> tuple[list[Any], list[Any]]:
        """Tasks that compare every shard's rows with where they began, if that was further along."""
        if not isinstance(begun, Begun):
            return [], []
        assert begun.now is not None
        left, right = (
            [
                self.tasks.task(f"turned-back-{name}", work.against, *parts, place=place)
                for *parts, place in zip(side.shards, getattr(begun.now, name), getattr(begun, name), rows, side.places)
            ]
            for name, side, rows in zip(SIDES, self.sides, after)
        )
        return left, right

    def _balanced(self, begun: Factors, swept: Swept, told: Verdict) -> Swept:
        """Balance both sides, as :class:`~everypair.solvers.balance.Balanced` does."""
        assert told.balance is not None
        left, right = (
            [
                self.tasks.task(f"balance-{name}", work.change, shard, rows, matrix, place=place)
                for shard, rows, place in zip(side.shards, getattr(swept, name), side.places)
            ]
            for name, side, matrix in zip(SIDES, self.sides, told.balance)
        )
        both = self._sums(LEFT, left), self._sums(RIGHT, right)
        tasks = [
            self.tasks.task("ridge", ridge_of, both, self._blocks),
            self.tasks.task("turned-back", way_of, self._ways(begun, left, right), self._blocks),
        ]
        *futures, ridge, way = self.tasks.start([*left, *right, *tasks])
        new_ridge, against = self.tasks.wait([ridge, way])
        if not new_ridge < told.ridge:
            return swept
        value = told.value - (told.ridge - new_ridge)
        return Swept(futures[: len(left)], futures[len(left) :], value, rounding=told.rounding, against=against)

    def _sums(self, number: int, rows: Any) -> list[Any]:
        """What all machines have to know of a side."""
        places = self.sides[number].places
        return [
            self.tasks.task(f"sums-{SIDES[number]}", work.sums_of, one, place=place) for one, place in zip(rows, places)
        ]

    def _improve(self, number: int, this: Any, other: Any, sums: list[Any]) -> list[Any]:
        """The half-step of all shards of a side; ``sums`` are those of the other one."""
        side, opposite = self.sides[number], self.sides[1 - number]
        task, free = self.tasks.task, self._free[number]
        turned = [
            task(f"turn-{SIDES[1 - number]}", work.turn, rows, shard, sums, opposite.blocks, free, place=place)
            for rows, shard, place in zip(other, opposite.shards, opposite.places)
        ]
        improved = []
        for shard, here, place, picked in zip(side.shards, this, side.places, side.picked):
            gathered = [
                whole if rows is None else task(f"pick-{SIDES[1 - number]}", work.pick, whole, rows, place=home)
                for whole, rows, home in zip(turned, picked, opposite.places)
            ]
            name = f"half-step-{SIDES[number]}"
            last = (gathered, opposite.blocks, self.steps, self.balance)
            improved.append(task(name, work.improve, shard, here, *last, place=place))
        return improved


def bytes_per_sweep(sides: tuple[ShardedSide, ShardedSide], columns: int, itemsize: int) -> int:
    """How many bytes of factors travel between workers in a sweep.

    A shard that travels whole goes once to every other worker that needs it; picked rows go to the shard they are for.
    """
    rows = 0
    for side, opposite in (sides, sides[::-1]):
        for source, ((start, stop), home) in enumerate(zip(opposite.borders, opposite.places)):
            needs = [(place, row[source]) for place, row in zip(side.places, side.wanted) if place != home]
            rows += (stop - start) * len({place for place, count in needs if count is None})
            rows += sum(count for _, count in needs if count is not None)
    return rows * columns * itemsize


def _free_columns(layout: Layout, side: int) -> NDArray[np.bool_]:
    free = np.ones(layout.columns, bool)
    constant = layout.constant(side)
    if constant is not None:
        free[constant] = False
    return free
