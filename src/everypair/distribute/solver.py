"""Alternating minimisation whose factors never leave the workers.

A sweep is one graph of tasks: the right side's Gram matrix is summed up and decomposed, its rows are rotated where they
live, the rows that the left shards need travel to them, these improve; then the same the other way round. Only F comes
back to the client. Bytes that travel in a sweep: (rows of the other side that the shards of a worker need and that live
elsewhere) × rank × 4, both ways, and a k × k matrix per shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
        right_frame = self._frame(RIGHT, state.right)
        left = self._improve(LEFT, state.left, state.right, right_frame)
        left_frame = self._frame(LEFT, left)
        right = self._improve(RIGHT, state.right, left, left_frame)
        after = self._frame(RIGHT, right)
        told = self.tasks.submit("objective", work.objective_of, left_frame, after, self.square)
        value, rounding = self.tasks.get(told)
        return Factors(left, right, value, rounding=rounding)

    def beyond(self, now: Factors, before: Factors, beta: float) -> Factors:
        """Both sides moved on along their last way."""
        moved = [
            [
                self.tasks.submit(f"move-{SIDES[number]}", work.move, shard, new, old, beta, place=place)
                for shard, new, old, place in zip(side.shards, here, there, side.places)
            ]
            for number, (side, here, there) in enumerate(
                zip(self.sides, (now.left, now.right), (before.left, before.right))
            )
        ]
        return Factors(moved[LEFT], moved[RIGHT])

    def _frame(self, number: int, rows: Any) -> Any:
        """A side's Gram matrix and axes, for the half-step of the other one."""
        side = self.sides[number]
        sums = [
            self.tasks.submit(f"sums-{SIDES[number]}", work.sums_of, one, place=place)
            for one, place in zip(rows, side.places)
        ]
        frame = partial(work.make_frame, blocks=side.blocks, free=self._free[1 - number])
        return self.tasks.submit(f"gram-{SIDES[number]}", frame, sums)

    def _improve(self, number: int, this: Any, other: Any, frame: Any) -> list[Any]:
        """The half-step of all shards of a side."""
        side, opposite = self.sides[number], self.sides[1 - number]
        submit = self.tasks.submit
        turned = [
            submit(f"turn-{SIDES[1 - number]}", work.turn, rows, shard, frame, place=place)
            for rows, shard, place in zip(other, opposite.shards, opposite.places)
        ]
        improved = []
        for shard, here, place, picked in zip(side.shards, this, side.places, side.picked):
            gathered = [
                whole if rows is None else submit(f"pick-{SIDES[1 - number]}", work.pick, whole, rows, place=home)
                for whole, rows, home in zip(turned, picked, opposite.places)
            ]
            half_step = partial(work.improve, blocks=opposite.blocks, steps=self.steps)
            improved.append(submit(f"half-step-{SIDES[number]}", half_step, shard, here, gathered, frame, place=place))
        return improved


def _free_columns(layout: Layout, side: int) -> NDArray[np.bool_]:
    free = np.ones(layout.columns, bool)
    constant = layout.constant(side)
    if constant is not None:
        free[constant] = False
    return free
