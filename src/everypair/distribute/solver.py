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
    picked: list[list[Any]]  # which rows are picked from every shard of the other side, None for all of them

    @property
    def blocks(self) -> int:
        """Number of blocks of rows."""
        return -(-self.borders[-1][1] // BLOCK_ROWS)


class ShardedAlternating:
    """Sweeps over both sides on a cluster, to the bit those of :class:`~everypair.solvers.alternating.Alternating`."""

    descends = True
    quadratic_only, structured = False, False

    def __init__(
        self, tasks: Tasks, sides: tuple[ShardedSide, ShardedSide], square: GramSquare, layout: Layout, steps: RowSteps
    ) -> None:
        self.tasks, self.sides, self.square, self.steps = tasks, sides, square, steps
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
        told = self.tasks.wait([*both[LEFT], *both[RIGHT]])
        self.tasks.notice()
        value, rounding = self._objective(told[: len(both[LEFT])], told[len(both[LEFT]) :])
        return Factors(left, right, value, rounding=rounding)

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
        return Factors(moved[LEFT], moved[RIGHT])

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
            improved.append(task(name, work.improve, shard, here, gathered, opposite.blocks, self.steps, place=place))
        return improved

    def _objective(self, left: list[work.Sums], right: list[work.Sums]) -> tuple[float, float]:
        """F and how far rounding may take it, after a half-step of the right side."""
        grams, penalties = [], []
        for side, sums in zip(self.sides, (left, right)):
            grams.append(work.gram_of(sums, side.blocks))
            penalties.append(0.5 * float(work.total([one.penalty for one in sums], side.blocks)))
        pairs = float(work.total([one.pairs or {} for one in right], self.sides[RIGHT].blocks))
        value = pairs + self.square(*grams) + (penalties[LEFT] + penalties[RIGHT])
        return value, self.square.rounding(*grams)


def _free_columns(layout: Layout, side: int) -> NDArray[np.bool_]:
    free = np.ones(layout.columns, bool)
    constant = layout.constant(side)
    if constant is not None:
        free[constant] = False
    return free
