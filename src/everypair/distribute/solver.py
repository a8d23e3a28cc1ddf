"""Alternating minimisation whose factors never leave the workers.

A sweep is one graph of tasks: the right side's Gram matrix is summed up and decomposed, its rows are rotated where they
live, the rows that the left shards need travel to them, these improve; then the same the other way round. Only F comes
back to the client. Bytes that travel in a sweep: (rows of the other side that the shards of a worker need and that live
elsewhere) × rank × 4, both ways, and a k × k matrix per shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.distribute import work
from everypair.distribute.tasks import Tasks
from everypair.parallel import BLOCK_ROWS, Chunk, single_threaded_blas
from everypair.problem.gram_square import GramSquare
from everypair.problem.layout import LEFT, RIGHT, Layout
from everypair.solvers.balance import LEAST, balancing, on_columns
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

    def step(self, state: Factors) -> Factors:
        """One sweep over both sides."""
        sums = self._sums(RIGHT, state.right)
        left = self._improve(LEFT, state.left, state.right, sums)
        left_sums = self._sums(LEFT, left)
        right = self._improve(RIGHT, state.right, left, left_sums)
        tasks = [left, right, left_sums, self._sums(RIGHT, right)]
        futures = iter(self.tasks.start([task for part in tasks for task in part]))
        left, right, *both = ([next(futures) for _ in part] for part in tasks)
        told = self._told(*both)
        self.tasks.notice()
        value, rounding = self._objective(*told)
        state = Factors(left, right, value, rounding=rounding)
        return self._balanced(state, value, *told) if self.balance and np.isfinite(value) else state

    def beyond(self, now: Factors, before: Factors, beta: float) -> Factors:
        """Both sides moved on along their last way."""
        moved = [
            [
                self.tasks.task(f"move-{SIDES[number]}", work.move, shard, new, old, beta, place=place)
                for shard, new, old, place in zip(side.shards, here, there, side.places)
            ]
            for number, (side, here, there) in enumerate(
                zip(self.sides, (now.left, now.right), (before.left, before.right))
            )
        ]
        left, right = (self.tasks.start(part) for part in moved)
        return Factors(left, right)

    def turned_back(self, now: Factors, begun: Factors, after: Factors) -> bool:
        """Whether a sweep went against the way it began on."""
        tasks = [
            self.tasks.task(f"turned-back-{SIDES[number]}", work.against, *parts, place=place)
            for number, side in enumerate(self.sides)
            for *parts, place in zip(
                side.shards, *(getattr(state, SIDES[number]) for state in (now, begun, after)), side.places
            )
        ]
        nodes = self.tasks.get(tasks)
        count = len(self.sides[LEFT].shards)
        left, right = (work.total(part, side.blocks) for part, side in zip((nodes[:count], nodes[count:]), self.sides))
        return bool(left + right > 0)

    def _balanced(self, state: Factors, value: float, left: list[work.Sums], right: list[work.Sums]) -> Factors:
        """Balance both sides where it pays, as :class:`~everypair.solvers.balance.Balanced` does."""
        columns = self._free[LEFT] & self._free[RIGHT]
        grams = [
            work.total([one.ridge_gram for one in sums], side.blocks)[np.ix_(columns, columns)]
            for side, sums in zip(self.sides, (left, right))
        ]
        with single_threaded_blas():
            found = balancing(grams[LEFT], grams[RIGHT], LEAST * abs(value))
        if found is None:
            return state
        changed = [
            self.tasks.start(
                [
                    self.tasks.task(f"balance-{SIDES[number]}", work.change, shard, rows, matrix, place=place)
                    for shard, rows, place in zip(side.shards, getattr(state, SIDES[number]), side.places)
                ]
            )
            for number, (side, matrix) in enumerate(zip(self.sides, (on_columns(part, columns) for part in found)))
        ]
        after = self._told(*(self._sums(number, rows) for number, rows in enumerate(changed)))
        before_ridge, ridge = (
            sum(work.penalty_of(sums, side.blocks) for side, sums in zip(self.sides, both))
            for both in ((left, right), after)
        )
        if not ridge < before_ridge:
            return state
        return Factors(changed[LEFT], changed[RIGHT], value - (before_ridge - ridge), rounding=state.rounding)

    def _told(self, left: list[Any], right: list[Any]) -> tuple[list[work.Sums], list[work.Sums]]:
        """Wait for the sums of both sides."""
        told = self.tasks.get([*left, *right])
        return told[: len(left)], told[len(left) :]

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

    def _objective(self, left: list[work.Sums], right: list[work.Sums]) -> tuple[float, float]:
        """F and how far rounding may take it, after a half-step of the right side."""
        grams = [work.gram_of(sums, side.blocks) for side, sums in zip(self.sides, (left, right))]
        pairs = float(work.total([one.pairs for one in right], self.sides[RIGHT].blocks))
        ridge = sum(work.penalty_of(sums, side.blocks) for side, sums in zip(self.sides, (left, right)))
        return pairs + self.square(*grams) + ridge, self.square.rounding(*grams)


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
